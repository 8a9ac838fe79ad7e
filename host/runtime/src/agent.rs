//! One agent: what it holds, and the one way by which anything it does becomes durable.

mod calls;
mod compaction;
mod delegation;
mod held;
pub(crate) mod holding;
mod hooks;
mod lent;
mod prompt;
mod request;
mod settle;
pub(crate) mod shared_module;
pub(crate) mod snapshot;
mod turn;

use crate::{
    leash::Leash,
    life::{self, Entered},
    profile::ReadyProfile,
    run::Shared,
    telemetry::Spend,
};
use gg_core::{
    AgentId, Ending, Entry, Event, Message, ModuleId, Turn, loop_detection::LoopDetector,
    tokens::Calibration, window::Keep,
};
use gg_modules::{Access, Context, History, ModuleError, Phase};
use gg_store::{AgentRecord, AgentStatus, InboxItem, InboxKind, Step, StoreError};
use held::Held;
use holding::Opened;
use lent::Lender;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shared_module::{Lock, Write};
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

impl Inbox {
    /// Takes nothing any more. The answer is how many messages nobody will read.
    pub(crate) fn close(&mut self) -> u32 {
        self.closed = true;
        let unread = self.items.iter().filter(|item| item.kind == InboxKind::Message).count();
        u32::try_from(unread).unwrap_or(u32::MAX)
    }
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
    /// How it ended, while it reads what came in that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) declared: Option<Ending>,
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
    history_id: ModuleId,
    /// The history's state on record.
    history_recorded: Option<Arc<[u8]>>,
    modules: BTreeMap<String, Held>,
    lender: Arc<Lender>,
    progress: Progress,
    /// The system prompt of the turn it was rendered for: once a turn, so that the room is measured on what is
    /// sent, and a module that fails in it is asked once.
    system: Option<(Turn, String)>,
    /// The last text that its model wrote.
    said: String,
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
        let Opened { history, modules, notes, step } = holding::open_all(&shared, &born, &lender).await?;
        let prompt = lent(&born.prompt, born.prompt_entry());
        lender.lend(&born.prompt);
        let history_id = shared.store.next_module_id();
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
            history_id,
            history_recorded: None,
            modules,
            lender,
            progress: Progress::default(),
            system: None,
            said: String::new(),
            step,
            on_commit: OnCommit::default(),
        };
        agent.event(Event::AgentState { state: gg_core::AgentState::Running, on: Vec::new() });
        agent.append_lent(Turn(0), vec![prompt]).await?;
        agent.open_window(notes).await?;
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

    /// The same where there may be nothing to record. What only `progress` tells is recorded with the next step.
    async fn commit_rest(&mut self) -> Result<(), Stop> {
        if self.step.is_empty() { Ok(()) } else { self.commit().await }
    }

    async fn commit_as(&mut self, status: AgentStatus) -> Result<(), Stop> {
        for (message, entry) in self.lender.take_notes() {
            self.event(Event::Message { turn: entry.turn, message });
        }
        let writes = self.record_modules();
        self.pass_notices().await;
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
        writes.into_iter().for_each(Write::committed);
        self.lender.committed();
        for (mut inbox, item) in sent {
            inbox.items.push_back(item);
        }
        for entered in born {
            life::begin(&self.shared, entered);
        }
        if let Some(observer) = self.shared.observer.clone() {
            let (modules, _locks) = self.digests().await;
            // Held while the observer looks, so that nothing arrives between the record and this.
            let inbox = self.inbox.lock().await;
            observer(&AgentSnapshot {
                dir: self.shared.store.dir().to_owned(),
                agent: self.id.clone(),
                window: self.history.window().entries.iter().map(|entry| entry.id).collect(),
                modules,
                inbox: inbox.items.iter().cloned().collect(),
            });
        }
        Ok(())
    }

    /// The digests of the states in the record, by kind, and the locks under which those of others' modules hold.
    async fn digests(&self) -> (BTreeMap<String, String>, Vec<Lock>) {
        let mut digests = BTreeMap::from([("history".to_owned(), self.history.module().digest())]);
        let mut locks = Vec::new();
        for (kind, held) in &self.modules {
            if let Some((digest, lock)) = held.digest().await {
                digests.insert(kind.clone(), digest);
                locks.extend(lock);
            }
        }
        (digests, locks)
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

/// A number that no other agent has: drawn from the run's id and the agent's, so that it needs no keeping.
fn salt(run: &str, agent: &str) -> u64 {
    let digest = Sha256::new().chain_update(run).chain_update([0]).chain_update(agent).finalize();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    u64::from_le_bytes(bytes)
}
