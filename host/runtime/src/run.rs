//! A run: its record, its agents, and the handle by which it is watched and stopped.

use crate::{
    agent::{Agent, Inbox, Stop, snapshot::AgentSnapshot},
    launch::{ComponentTable, provider_specs},
    profile::{ProfileError, ReadyProfile},
    telemetry::Rollup,
};
use gg_config::Configuration;
use gg_core::{AgentId, Ending, Event, RunId, event::ProfileRollup};
use gg_providers::{BuildError, Providers};
use gg_store::{AgentRecord, AgentStatus, InboxItem, RunMeta, RunStore, Step, StoreError, Subscription};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};
use thiserror::Error;
use tokio::{sync::Mutex, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Called with each agent's state right after each of its steps became durable.
pub type Observer = Arc<dyn Fn(&AgentSnapshot) + Send + Sync>;

/// Everything a run needs.
pub struct Launch {
    /// What passed the launch check.
    pub configuration: Configuration,
    /// The components that [`crate::launch::gather`] loaded for that check.
    pub components: ComponentTable,
    /// The folder that the configuration's paths are relative to.
    pub base: PathBuf,
    /// The root of the workspace that the agents work in.
    pub workspace: PathBuf,
    /// The folder that holds the runs' directories.
    pub runs_dir: PathBuf,
    /// What the root agent is asked for.
    pub prompt: String,
    /// Where to record every exchange with a model server, to be played back by the api `replay`.
    pub record: Option<PathBuf>,
    /// Whoever wants to see each step.
    pub observer: Option<Observer>,
}

/// Why a run could not start. Nothing was done.
#[derive(Debug, Error)]
pub enum StartError {
    /// A provider cannot be used.
    #[error(transparent)]
    Provider(#[from] BuildError),
    /// A profile cannot be made ready.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The record cannot be made.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The configuration has no agent.
    #[error("the configuration has no agent; the first entry of `agents` is the run's root")]
    NoAgent,
}

/// Why a run stopped without an ending. What was recorded until then stands.
#[derive(Debug, Error)]
pub enum RunError {
    /// The record cannot be written.
    #[error("the run was stopped because its record could not be written: {0}")]
    Store(#[from] StoreError),
    /// gg itself failed.
    #[error("an agent's task was lost: {0}; this is a fault of gg, please report it")]
    Task(String),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSummary {
    /// The run.
    pub run: RunId,
    /// How its root ended.
    pub ending: Ending,
    /// What each profile used.
    pub profiles: Vec<ProfileRollup>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

/// What all agents of a run share.
pub(crate) struct Shared {
    pub(crate) store: RunStore,
    pub(crate) rollup: Rollup,
    pub(crate) observer: Option<Observer>,
    /// The time in milliseconds since 1970, as modules are told it.
    pub(crate) now_ms: fn() -> u64,
    token: CancellationToken,
    reason: OnceLock<String>,
    stop: AtomicBool,
}

impl Shared {
    /// Why the run was cancelled, if it was.
    pub(crate) fn cancelled(&self) -> Option<String> {
        self.token.is_cancelled().then(|| self.reason())
    }

    /// Returns when the run is cancelled, with the reason.
    pub(crate) async fn wait_cancelled(&self) -> String {
        self.token.cancelled().await;
        self.reason()
    }

    /// True once the run is cancelled: for work that cannot await.
    pub(crate) fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    fn reason(&self) -> String {
        self.reason.get().cloned().unwrap_or_default()
    }

    fn cancel(&self, reason: &str) {
        let _ = self.reason.set(reason.to_owned());
        self.stop.store(true, Ordering::Relaxed);
        self.token.cancel();
    }

    /// Records an agent that ended before its first turn.
    pub(crate) async fn end_unborn(
        &self,
        mut step: Step,
        id: &AgentId,
        profile: &ReadyProfile,
        ending: &Ending,
    ) -> Result<(), StoreError> {
        step.event(
            Some(id.clone()),
            Event::AgentEnded {
                ending: ending.clone(),
                turns: 0,
                usage: gg_core::Usage::default(),
                cost: None,
            },
        );
        step.agent(AgentRecord {
            id: id.clone(),
            profile: profile.id.clone(),
            parent: None,
            depth: 0,
            status: AgentStatus::Ended(ending.clone()),
            progress: serde_json::Value::Null,
        });
        self.store.commit(step).await.map(|_| ())
    }
}

/// A run at work. Dropping it does not stop the run; [`RunHandle::cancel`] does.
pub struct RunHandle {
    shared: Arc<Shared>,
    root: AgentId,
    inbox: Arc<Mutex<Inbox>>,
    task: JoinHandle<Result<RunSummary, RunError>>,
}

impl RunHandle {
    /// The run.
    pub fn run_id(&self) -> &RunId {
        self.shared.store.run_id()
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        self.shared.store.dir()
    }

    /// What happens from now on. A subscriber that lags more than `capacity` items behind misses some, and
    /// is told how many; the run never waits for it.
    pub fn subscribe(&self, capacity: usize) -> Subscription {
        self.shared.store.subscribe(capacity)
    }

    /// Ends all agents with this reason, as soon as what each is doing allows it.
    pub fn cancel(&self, reason: &str) {
        self.shared.cancel(reason);
    }

    /// A handle that can cancel the run while another owner waits for it.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.shared.clone())
    }

    /// Puts a message into the root agent's inbox. True once it is durable: it will be read at the agent's
    /// next turn. False if the agent has ended.
    pub async fn send(&self, text: &str) -> Result<bool, StoreError> {
        // A task of its own, so that whoever stops waiting for the answer cannot leave a message that is on
        // record and never read.
        let (shared, root, text) = (self.shared.clone(), self.root.clone(), text.to_owned());
        let inbox = self.inbox.clone();
        let sent = tokio::spawn(async move {
            // Held over the commit, so that the agent cannot end between the check and the message.
            let mut inbox = inbox.lock().await;
            if inbox.closed {
                return Ok(false);
            }
            let item = InboxItem { n: shared.store.next_inbox_number(), from: None, text };
            let mut step = Step::new();
            step.inbox_push(root, item.clone());
            shared.store.commit(step).await?;
            inbox.items.push_back(item);
            Ok(true)
        });
        sent.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Waits for the run's end.
    pub async fn join(self) -> Result<RunSummary, RunError> {
        match self.task.await {
            Ok(summary) => summary,
            Err(error) => Err(RunError::Task(error.to_string())),
        }
    }
}

/// Cancels a run. See [`RunHandle::canceller`].
#[derive(Clone)]
pub struct Canceller(Arc<Shared>);

impl Canceller {
    /// Ends all agents with this reason.
    pub fn cancel(&self, reason: &str) {
        self.0.cancel(reason);
    }
}

/// Starts a run. When this returns, its directory exists and its root agent is about to take its first turn.
pub async fn start(launch: Launch) -> Result<RunHandle, StartError> {
    let configuration = &launch.configuration;
    let root_profile = configuration.agents.first().ok_or(StartError::NoAgent)?;
    let providers = Providers::build(&provider_specs(configuration, &launch.base), launch.record.as_deref())?;
    let profile = Arc::new(ReadyProfile::new(
        root_profile,
        configuration,
        &providers,
        |id, name| launch.components.find(id, name),
        &launch.workspace,
        &launch.base,
    )?);
    let config =
        serde_json::to_value(configuration).map_err(|error| StoreError::Conflict(error.to_string()))?;
    let meta = RunMeta {
        config,
        prompt: launch.prompt.clone(),
        workspace: launch.workspace.display().to_string(),
        root: root_profile.id.clone(),
        gg: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let store = RunStore::create(&launch.runs_dir, meta.clone())?;
    let started = Event::RunStarted {
        run: store.run_id().clone(),
        root: meta.root,
        gg: meta.gg,
        config_sha256: store.config_sha256().to_owned(),
        workspace: meta.workspace,
        prompt: meta.prompt,
    };
    let shared = Arc::new(Shared {
        store,
        rollup: Rollup::default(),
        observer: launch.observer,
        now_ms: gg_store::Options::default().now_ms,
        token: CancellationToken::new(),
        reason: OnceLock::new(),
        stop: AtomicBool::new(false),
    });
    let root = shared.store.next_agent_id();
    let inbox = Arc::new(Mutex::new(Inbox::default()));
    let task =
        tokio::spawn(run_root(shared.clone(), root.clone(), profile, launch.prompt, started, inbox.clone()));
    Ok(RunHandle { shared, root, inbox, task })
}

/// Runs the root agent to its end, then closes the record.
async fn run_root(
    shared: Arc<Shared>,
    id: AgentId,
    profile: Arc<ReadyProfile>,
    prompt: String,
    started: Event,
    inbox: Arc<Mutex<Inbox>>,
) -> Result<RunSummary, RunError> {
    let clock = Instant::now();
    let ending = match Agent::spawn(shared.clone(), id, profile, prompt, started, inbox).await {
        Ok(agent) => agent.live().await?,
        Err(Stop::End(ending)) => ending,
        Err(Stop::Store(error)) => return Err(error.into()),
    };
    let summary = RunSummary {
        run: shared.store.run_id().clone(),
        ending,
        profiles: shared.rollup.profiles(),
        elapsed_ms: u64::try_from(clock.elapsed().as_millis()).unwrap_or(u64::MAX),
    };
    let mut last = Step::new();
    last.event(
        None,
        Event::RunEnded {
            ending: summary.ending.clone(),
            elapsed_ms: summary.elapsed_ms,
            profiles: summary.profiles.clone(),
        },
    );
    shared.store.commit(last).await?;
    shared.store.close().await?;
    Ok(summary)
}
