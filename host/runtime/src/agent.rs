//! One agent: what it holds, and the one way by which anything it does becomes durable.

mod calls;
mod compaction;
mod delegation;
pub(crate) mod fork;
mod held;
pub(crate) mod holding;
mod hooks;
mod lent;
mod opening;
pub(crate) mod progress;
mod prompt;
mod request;
mod settle;
pub(crate) mod shared_module;
pub(crate) mod snapshot;
mod succession;
mod turn;

pub(crate) use turn::Lived;

use crate::{
    identity::Identity,
    leash::Leash,
    life::{self, Begins, Entered},
    run::Shared,
};
use fork::Copied;
use gg_core::{AgentId, Ending, Entry, Event, Message, Turn, window::Keep};
use gg_modules::{Access, Context, History, ModuleError, Phase};
use gg_store::{AgentStatus, InboxItem, InboxKind, Step, StoreError};
use held::{Held, Place};
use holding::Opened;
use lent::Lender;
use progress::Progress;
use sha2::{Digest, Sha256};
use shared_module::{Lock, Write};
use snapshot::AgentSnapshot;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Why an agent's work stops where it stands.
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

/// An agent at work.
pub(crate) struct Agent {
    pub(crate) me: Identity,
    inbox: Arc<Mutex<Inbox>>,
    leash: Leash,
    shared: Arc<Shared>,
    salt: u64,
    /// What its lineage was put to work for, which opens every window that is begun afresh.
    prompt: Arc<Message>,
    history: History,
    history_place: Place,
    modules: BTreeMap<String, Held>,
    lender: Arc<Lender>,
    progress: Progress,
    /// Its stream has still to state what its window came with.
    unstated: bool,

    /// When it began, or was let in again to begin.
    since: Instant,
    /// What one of its modules did wrong last.
    last_failure: Option<String>,
    /// Copies that this turn has asked for.
    forks: Vec<AgentId>,
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
    /// An agent that got its first slot. Its first step is written.
    pub(crate) async fn start(shared: Arc<Shared>, entered: Entered) -> Result<Self, Stop> {
        let Entered { born, inbox, leash } = entered;
        let (me, prompt) = (born.me, born.prompt);
        let mut agent = match born.begins {
            Begins::Copy(copied) => {
                let Copied { history, modules, lender, progress } = *copied;
                let mut agent = Self::new(shared, me, (inbox, leash), prompt, history, lender);
                (agent.modules, agent.progress, agent.unstated) = (modules, progress, true);
                agent.event(running());
                agent
            }
            Begins::Fresh { links } => {
                let lender = Arc::new(Lender::new(shared.store.clone()));
                let opened = holding::open_all(&shared, &me, &links, &lender).await?;
                let Opened { history, modules, notes, step } = opened;
                let history = (history, Place::new(shared.store.next_module_id()));
                let mut agent = Self::new(shared, me, (inbox, leash), prompt, history, lender);
                (agent.modules, agent.step) = (modules, step);
                agent.event(running());
                agent.append_prompt().await?;
                // In what others hold too there may be something; what is its own is empty.
                let shared = agent.modules.iter().filter(|(_, held)| held.shared().is_some());
                let kinds: Vec<String> = shared.map(|(kind, _)| kind.clone()).collect();
                agent.open_window(Turn(0), notes, &kinds, Keep::Pinned).await?;
                agent
            }
        };
        agent.commit().await?;
        Ok(agent)
    }

    /// An agent that holds nothing but a history.
    fn new(
        shared: Arc<Shared>,
        me: Identity,
        (inbox, leash): (Arc<Mutex<Inbox>>, Leash),
        prompt: Arc<Message>,
        (history, history_place): (History, Place),
        lender: Arc<Lender>,
    ) -> Self {
        let salt = salt(shared.store.run_id().as_str(), me.id.as_str());
        Self {
            me,
            inbox,
            leash,
            shared,
            salt,
            prompt,
            history,
            history_place,
            modules: BTreeMap::new(),
            lender,
            progress: Progress::default(),
            unstated: false,
            since: Instant::now(),
            last_failure: None,
            forks: Vec::new(),
            system: None,
            said: String::new(),
            step: Step::new(),
            on_commit: OnCommit::default(),
        }
    }

    /// Opens a window with what the agent's lineage was put to work for.
    async fn append_prompt(&mut self) -> Result<(), Stop> {
        let prompt = self.prompt.clone();
        let entry = Entry::of(&prompt, Turn(0), gg_core::tokens::of_message(&prompt), Keep::Pinned);
        self.lender.lend(&prompt);
        self.append_lent(Turn(0), vec![lent(&prompt, entry)]).await
    }

    /// The time that earlier incarnations of its profile took within its lineage.
    pub(crate) fn time_taken(&self) -> Duration {
        self.progress.wall_time_of(&self.me.profile.id)
    }

    fn context(&self, turn: Turn, phase: Phase) -> Context {
        Context {
            agent: self.me.id.clone(),
            turn,
            now_ms: (self.shared.now_ms)(),
            access: Access::ReadWrite,
            phase,
            salt: self.salt,
        }
    }

    /// The same for another agent, before there is one.
    fn context_of(&self, agent: &AgentId, turn: Turn, phase: Phase) -> Context {
        let salt = salt(self.shared.store.run_id().as_str(), agent.as_str());
        Context { agent: agent.clone(), salt, ..self.context(turn, phase) }
    }

    fn event(&mut self, event: Event) {
        self.step.event(Some(self.me.id.clone()), event);
    }

    /// Ends the agent because of what one of its modules did.
    fn fail(&self, turn: Turn, error: impl std::fmt::Display) -> Stop {
        Stop::End(Ending::Failed { error: error.to_string(), turn })
    }

    /// Records that a module broke a rule or a limit.
    fn module_failed(&mut self, turn: Turn, module: &str, error: &ModuleError) {
        self.last_failure = Some(format!("the module {module:?} failed: {error}"));
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
        self.state(message, entry.turn);
        lent
    }

    /// States a message in the stream, unless the whole window is still to be stated: it is on record then, and stated
    /// with the rest.
    fn state(&mut self, message: Arc<Message>, turn: Turn) {
        if self.unstated {
            self.step.message(message);
        } else {
            self.event(Event::Message { turn, message });
        }
    }

    /// States the window that the agent came with, so that its stream can be read without any other.
    async fn state_window(&mut self) -> Result<(), Stop> {
        if !std::mem::take(&mut self.unstated) {
            return Ok(());
        }
        let entries = self.history.window().entries.clone();
        let ids: Vec<_> = entries.iter().map(|entry| entry.id).collect();
        let messages = self.shared.store.messages(&ids).await?;
        for (entry, message) in entries.iter().zip(messages) {
            self.event(Event::Message { turn: entry.turn, message });
        }
        Ok(())
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
            self.state(message, entry.turn);
        }
        let writes = self.record_modules();
        self.pass_notices().await;
        let progress = self.progress.as_json()?;
        self.step.agent(self.me.record(status, progress));
        let step = std::mem::replace(&mut self.step, Step::new());
        let OnCommit { born, sent } = std::mem::take(&mut self.on_commit);
        if let Err(error) = self.shared.store.commit(step).await {
            for entered in born {
                self.shared.lineages.forget(&entered.born.me.id);
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
                agent: self.me.id.clone(),
                lineage: self.me.lineage.clone(),
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

fn running() -> Event {
    Event::AgentState { state: gg_core::AgentState::Running, on: Vec::new() }
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
