//! One agent: what it holds, and the one way by which anything it does becomes durable.

mod calls;
mod compaction;
mod delegation;
mod lent;
mod prompt;
mod request;
mod settle;
pub(crate) mod snapshot;
mod turn;

use crate::{
    leash::Leash,
    life::{self, Entered},
    profile::{HeldKind, ReadyProfile},
    run::Shared,
    telemetry::Spend,
};
use gg_core::{
    AgentId, Ending, Entry, Event, Message, Turn, loop_detection::LoopDetector, tokens::Calibration,
    window::Keep,
};
use gg_modules::{Access, Context, History, Module, ModuleError, Phase};
use gg_store::{AgentRecord, AgentStatus, InboxItem, ModuleRecord, Step, StoreError};
use lent::Lender;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use snapshot::AgentSnapshot;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Why an agent's work stops where it stands.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The agent ends, in this way.
    End(Ending),
    /// The record cannot be written, so nothing more may happen.
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            // One message or step is at fault, and the record can still be written: the agent alone ends.
            StoreError::NoMessage(_)
            | StoreError::Conflict(_)
            | StoreError::TooLarge { .. }
            | StoreError::TooDeep { .. } => {
                Self::End(Ending::Failed { error: error.to_string(), turn: Turn(0) })
            }
            other => Self::Store(other),
        }
    }
}

/// Messages to an agent that it has not read.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pub(crate) items: VecDeque<InboxItem>,
    /// The agent has ended: nothing is taken any more.
    pub(crate) closed: bool,
}

/// What is known of an agent beside its modules; durable with each of its steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// Turns under this profile, which `maxTurns` counts.
    pub(crate) turns: u32,
    /// The last turn that began. A history counts turns too, and is not believed where it says less.
    pub(crate) last_turn: Turn,
    /// Replies in a row that were empty.
    pub(crate) empty_replies: u32,
    pub(crate) loop_detector: LoopDetector,
    pub(crate) calibration: Calibration,
    pub(crate) spend: Spend,
    /// The reply whose calls are not all answered yet.
    pub(crate) open_reply: Option<gg_core::MessageId>,
    /// The text of replies that the output limit cut off, which the next reply goes on from.
    pub(crate) unfinished_text: String,
}

/// An agent at work.
pub(crate) struct Agent {
    pub(crate) id: AgentId,
    pub(crate) profile: Arc<ReadyProfile>,
    parent: Option<AgentId>,
    depth: u32,
    inbox: Arc<Mutex<Inbox>>,
    leash: Leash,
    shared: Arc<Shared>,
    salt: u64,
    history: History,
    modules: BTreeMap<String, Module>,
    lender: Arc<Lender>,
    progress: Progress,
    /// The module states that are on disk.
    written: BTreeMap<String, Arc<[u8]>>,
    /// The system prompt of the turn it was rendered for: once a turn, so that the room is measured on what is
    /// sent, and a module that fails in it is asked once.
    system: Option<(Turn, String)>,
    /// What happened since the last commit.
    step: Step,
    on_commit: OnCommit,
}

/// What becomes true for others once the step is committed.
#[derive(Default)]
struct OnCommit {
    /// Agents that come to be.
    born: Vec<Entered>,
    /// Messages to others. Each inbox is held until then, so that its owner cannot end in between.
    sent: Vec<(OwnedMutexGuard<Inbox>, InboxItem)>,
}

impl Agent {
    /// Opens the modules of an agent that got its first slot, and its window with what it is asked for. Its
    /// first step is written.
    pub(crate) async fn start(shared: Arc<Shared>, entered: Entered) -> Result<Self, Stop> {
        let Entered { born, inbox, leash } = entered;
        let lender = Arc::new(Lender::new(shared.store.clone()));
        let (history, modules) = open_all(&born.profile, &lender).await.map_err(|(kind, error)| {
            let error = format!("the module {kind:?} could not be opened: {error}");
            Stop::End(Ending::Failed { error, turn: Turn(0) })
        })?;
        let prompt = lent(&born.prompt, born.prompt_entry());
        lender.lend(&born.prompt);
        let salt = salt(shared.store.run_id().as_str(), born.id.as_str());
        let mut agent = Self {
            id: born.id,
            profile: born.profile,
            parent: born.parent,
            depth: born.depth,
            inbox,
            leash,
            shared,
            salt,
            history,
            modules,
            lender,
            progress: Progress::default(),
            written: BTreeMap::new(),
            system: None,
            step: Step::new(),
            on_commit: OnCommit::default(),
        };
        agent.event(Event::AgentState { state: gg_core::AgentState::Running, on: Vec::new() });
        agent.append_lent(Turn(0), vec![prompt]).await?;
        agent.commit().await?;
        Ok(agent)
    }

    fn context(&self, turn: Turn, phase: Phase) -> Context {
        Context {
            agent: self.id.clone(),
            turn,
            now_ms: (self.shared.now_ms)(),
            access: Access::ReadWrite,
            phase,
            salt: self.salt,
        }
    }

    fn event(&mut self, event: Event) {
        self.step.event(Some(self.id.clone()), event);
    }

    /// Ends the agent because of what one of its modules did.
    fn fail(&self, turn: Turn, error: impl std::fmt::Display) -> Stop {
        Stop::End(Ending::Failed { error: error.to_string(), turn })
    }

    /// Records that a module broke a rule or a limit.
    fn module_failed(&mut self, turn: Turn, module: &str, error: &ModuleError) {
        self.event(Event::ModuleFailed {
            turn,
            module: module.to_owned(),
            hook: error.hook.to_string(),
            error: error.to_string(),
        });
    }

    /// Puts messages at the window's end, and into the record. The window holds them when this returns.
    async fn append(&mut self, turn: Turn, messages: Vec<(Message, Keep)>) -> Result<(), Stop> {
        let mut lent = Vec::with_capacity(messages.len());
        for (message, keep) in messages {
            let entry = Entry::of(&message, turn, gg_core::tokens::of_message(&message), keep);
            lent.push(self.record_message(message, entry));
        }
        self.append_lent(turn, lent).await
    }

    /// Puts messages that are in the record at the window's end. A history that fails is rebuilt from its last
    /// state and asked once more; without a window there is no agent, so a second failure ends it.
    async fn append_lent(&mut self, turn: Turn, lent: Vec<gg_modules::LentMessage>) -> Result<(), Stop> {
        let context = self.context(turn, Phase::Now);
        let Err(error) = self.history.append(&context, lent.clone()).await else {
            return Ok(());
        };
        self.module_failed(turn, "history", &error);
        let Err(error) = self.history.append(&context, lent).await else {
            return Ok(());
        };
        self.module_failed(turn, "history", &error);
        Err(self.fail(turn, format_args!("the history module failed twice: {error}")))
    }

    /// Puts a message into the record and the stream, and says what the history may know of it.
    fn record_message(&mut self, message: Message, entry: Entry) -> gg_modules::LentMessage {
        let message = Arc::new(message);
        let lent = lent(&message, entry);
        self.lender.lend(&message);
        self.event(Event::Message { turn: entry.turn, message });
        lent
    }

    /// Makes everything since the last commit durable, in one transaction.
    async fn commit(&mut self) -> Result<(), Stop> {
        self.commit_as(AgentStatus::Live).await
    }

    async fn commit_as(&mut self, status: AgentStatus) -> Result<(), Stop> {
        for (message, entry) in self.lender.take_notes() {
            self.event(Event::Message { turn: entry.turn, message });
        }
        let mut written = Vec::new();
        for (kind, module) in self.all_modules() {
            // A module shares the bytes of a state that did not change.
            let is_written = self.written.get(kind).is_some_and(|state| Arc::ptr_eq(state, module.state()));
            if !is_written {
                written.push(ModuleRecord {
                    agent: self.id.clone(),
                    kind: kind.to_owned(),
                    component_sha256: module.component().sha256().to_owned(),
                    state_format: module.component().descriptor().state_format.clone(),
                    state: module.state().clone(),
                });
            }
        }
        for record in written {
            self.written.insert(record.kind.clone(), record.state.clone());
            self.step.module(record);
        }
        let progress = serde_json::to_value(&self.progress)
            .map_err(|error| StoreError::Conflict(format!("an agent's progress: {error}")))?;
        self.step.agent(AgentRecord {
            id: self.id.clone(),
            profile: self.profile.id.clone(),
            parent: self.parent.clone(),
            depth: self.depth,
            status,
            progress,
        });
        let step = std::mem::replace(&mut self.step, Step::new());
        let OnCommit { born, sent } = std::mem::take(&mut self.on_commit);
        if let Err(error) = self.shared.store.commit(step).await {
            for entered in born {
                self.shared.lineages.forget(&entered.born.id);
            }
            return Err(error.into());
        }
        self.lender.committed();
        for (mut inbox, item) in sent {
            inbox.items.push_back(item);
        }
        for entered in born {
            life::begin(&self.shared, entered);
        }
        if let Some(observer) = &self.shared.observer {
            // Held while the observer looks, so that nothing arrives between the record and this.
            let inbox = self.inbox.lock().await;
            observer(&AgentSnapshot {
                dir: self.shared.store.dir().to_owned(),
                agent: self.id.clone(),
                window: self.history.window().entries.iter().map(|entry| entry.id).collect(),
                modules: self
                    .all_modules()
                    .map(|(kind, module)| (kind.to_owned(), module.digest()))
                    .collect(),
                inbox: inbox.items.iter().cloned().collect(),
            });
        }
        Ok(())
    }

    fn all_modules(&self) -> impl Iterator<Item = (&str, &Module)> {
        let rest = self.modules.iter().map(|(kind, module)| (kind.as_str(), module));
        std::iter::once(("history", self.history.module())).chain(rest)
    }
}

/// A message as the history is told of it.
fn lent(message: &Message, entry: Entry) -> gg_modules::LentMessage {
    gg_modules::LentMessage {
        entry,
        calls: message.calls().map(|call| call.id.clone()).collect(),
        answers: message.call_results().map(|result| result.call.clone()).collect(),
    }
}

type Opened = (History, BTreeMap<String, Module>);

async fn open_all(profile: &ReadyProfile, lender: &Arc<Lender>) -> Result<Opened, (String, ModuleError)> {
    let named = |held: &HeldKind| held.kind.clone();
    let history = &profile.history;
    let opened = History::open(&history.component, &history.settings, lender.clone())
        .await
        .map_err(|error| (named(history), error))?;
    let mut modules = BTreeMap::new();
    for held in &profile.held {
        let module =
            Module::open(&held.component, &held.settings).await.map_err(|error| (named(held), error))?;
        modules.insert(held.kind.clone(), module);
    }
    Ok((opened, modules))
}

/// A number that no other agent has: drawn from the run's id and the agent's, so that it needs no keeping.
fn salt(run: &str, agent: &str) -> u64 {
    let digest = Sha256::new().chain_update(run).chain_update([0]).chain_update(agent).finalize();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(bytes)
}
