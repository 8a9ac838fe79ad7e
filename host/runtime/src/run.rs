//! A run: its record, its agents, and the handle by which it is watched and stopped.

use crate::{
    agent::{holding::ProfileModules, snapshot::AgentSnapshot},
    budget::RunBudget,
    capability::workspace::Site,
    launch::{ComponentTable, provider_specs},
    life,
    lineages::Lineages,
    machine::{Edge, Machine, State, Target},
    profile::{ProfileError, ReadyProfile},
    slots::Slots,
    telemetry::Rollup,
};
use gg_config::{Configuration, FsmParams, Profile};
use gg_core::{AgentId, Ending, Event, ProfileId, RunId, event::ProfileRollup};
use gg_providers::{BuildError, Providers};
use gg_store::{
    InboxItem, InboxKind, ProjectError, ProjectStore, RunMeta, RunStore, Step, StoreError, Subscription,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

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
    /// What the workspace keeps beside the run cannot be used.
    #[error("the memories that persist cannot be used: {0}")]
    Project(#[from] ProjectError),
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
    /// What the configuration's agents are, by their ids.
    pub(crate) profiles: BTreeMap<ProfileId, Target>,
    pub(crate) profile_modules: ProfileModules,
    /// What outlives the run, if any profile has something that does.
    pub(crate) project: Option<ProjectStore>,
    pub(crate) lineages: Lineages,
    pub(crate) slots: Slots,
    pub(crate) budget: RunBudget,
    /// The deepest that an agent may stand.
    pub(crate) max_depth: u32,
    pub(crate) rollup: Rollup,
    pub(crate) observer: Option<Observer>,
    /// The time in milliseconds since 1970, as modules are told it.
    pub(crate) now_ms: fn() -> u64,
    /// One for each agent that has not ended.
    pub(crate) tasks: TaskTracker,
    stopped: OnceLock<Ending>,
    failed: OnceLock<StoreError>,
}

impl Shared {
    /// How all agents are to end, if they are.
    pub(crate) fn stopped(&self) -> Option<Ending> {
        self.stopped.get().cloned()
    }

    /// Ends all agents so, also those that come to be later.
    fn stop(&self, ending: &Ending) {
        let _ = self.stopped.set(ending.clone());
        for leash in self.lineages.leashes() {
            leash.pull(ending.clone());
        }
    }

    /// The record cannot be written: nothing more may happen.
    pub(crate) fn fail(&self, error: StoreError) {
        let reason = error.to_string();
        let _ = self.failed.set(error);
        self.stop(&Ending::Cancelled { reason });
    }
}

/// A run at work. Dropping it does not stop the run; [`RunHandle::cancel`] does.
pub struct RunHandle {
    shared: Arc<Shared>,
    root: AgentId,
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
        self.shared.stop(&Ending::Cancelled { reason: reason.to_owned() });
    }

    /// Ends one agent with this reason; those it has spawned go on. False if there is none with this id at work.
    pub fn cancel_agent(&self, id: &AgentId, reason: &str) -> bool {
        self.canceller().cancel_agent(id, reason)
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
        let Some((_, inbox)) = self.shared.lineages.inbox(&self.root) else { return Ok(false) };
        let sent = tokio::spawn(async move {
            // Held over the commit, so that the agent cannot end between the check and the message.
            let mut inbox = inbox.lock().await;
            if inbox.closed {
                return Ok(false);
            }
            let n = shared.store.next_inbox_number();
            let item = InboxItem { n, kind: InboxKind::Message, from: None, text };
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
        self.0.stop(&Ending::Cancelled { reason: reason.to_owned() });
    }

    /// Ends one agent. See [`RunHandle::cancel_agent`].
    pub fn cancel_agent(&self, id: &AgentId, reason: &str) -> bool {
        let leash = self.0.lineages.leash(id);
        leash.map(|leash| leash.pull(Ending::Cancelled { reason: reason.to_owned() })).is_some()
    }
}

/// Starts a run. When this returns, its directory exists and its root agent is about to take its first turn.
pub async fn start(launch: Launch) -> Result<RunHandle, StartError> {
    let configuration = &launch.configuration;
    let root = configuration.agents.first().ok_or(StartError::NoAgent)?.id.clone();
    let profiles = ready_profiles(&launch)?;
    let config =
        serde_json::to_value(configuration).map_err(|error| StoreError::Conflict(error.to_string()))?;
    let meta = RunMeta {
        config,
        prompt: launch.prompt.clone(),
        workspace: launch.workspace.display().to_string(),
        root,
        gg: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let project = project(&launch, &profiles)?;
    let store = RunStore::create(&launch.runs_dir, meta.clone())?;
    let root = meta.root.clone();
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
        profiles,
        profile_modules: ProfileModules::default(),
        project,
        lineages: Lineages::default(),
        slots: Slots::new(configuration.max_parallel),
        budget: RunBudget::new(configuration.budget),
        max_depth: configuration.max_depth().unwrap_or_default(),
        rollup: Rollup::default(),
        observer: launch.observer,
        now_ms: gg_store::Options::default().now_ms,
        tasks: TaskTracker::new(),
        stopped: OnceLock::new(),
        failed: OnceLock::new(),
    });
    let first = shared.profiles.get(&root);
    let first = first.and_then(|target| life::first_step(&shared, started, target, launch.prompt));
    let (step, entered) = first.ok_or(StartError::NoAgent)?;
    let root = entered.born.me.id.clone();
    // The first agent of a budget of at least one.
    let _ = shared.budget.take_agent();
    shared.store.commit(step).await?;
    life::begin(&shared, entered);
    let task = tokio::spawn(run_to_the_end(shared.clone(), root.clone()));
    Ok(RunHandle { shared, root, task })
}

fn ready_profiles(launch: &Launch) -> Result<BTreeMap<ProfileId, Target>, StartError> {
    let configuration = &launch.configuration;
    let providers = Providers::build(&provider_specs(configuration, &launch.base), launch.record.as_deref())?;
    let site = Site::new(&launch.workspace);
    let find = |id: &str, name: Option<&str>| launch.components.find(id, name);
    let ready = |profile: &Profile, state: Option<&gg_config::State>| {
        let ready = ReadyProfile::new(profile, state, configuration, &providers, find, &site, &launch.base)?;
        Ok::<_, ProfileError>(Arc::new(ready))
    };
    let targets = configuration.agents.iter().map(|profile| {
        let target = match profile.fsm() {
            None => Target::Worker(ready(profile, None)?),
            Some(params) => Target::Machine(Arc::new(machine(configuration, &profile.id, &params, ready)?)),
        };
        Ok((profile.id.clone(), target))
    });
    targets.collect()
}

/// A machine with its states made ready. The launch check refuses one whose parts do not exist.
fn machine(
    configuration: &Configuration,
    id: &ProfileId,
    params: &FsmParams,
    ready: impl Fn(&Profile, Option<&gg_config::State>) -> Result<Arc<ReadyProfile>, ProfileError>,
) -> Result<Machine, ProfileError> {
    let gone = |what: String| ProfileError::Gone { profile: id.clone(), what };
    let states = params.states.iter().map(|state| {
        let profile = configuration.profile(&state.agent_id);
        let profile = profile.ok_or_else(|| gone(format!("the agent {:?}", state.agent_id.as_str())))?;
        let edges = state.transitions.iter().map(|edge| {
            let to = params.states.iter().position(|other| other.name == edge.to);
            let to = to.ok_or_else(|| gone(format!("the state {:?}", edge.to)))?;
            Ok::<_, ProfileError>(Edge { to, transfer: edge.transfer.iter().cloned().collect() })
        });
        Ok::<_, ProfileError>(State {
            name: state.name.clone(),
            profile: ready(profile, Some(state))?,
            edges: edges.collect::<Result<_, _>>()?,
        })
    });
    Ok(Machine { id: id.clone(), states: states.collect::<Result<_, _>>()? })
}

/// What outlives the run, looked at before anything starts.
fn project(
    launch: &Launch,
    profiles: &BTreeMap<ProfileId, Target>,
) -> Result<Option<ProjectStore>, ProjectError> {
    // A machine's states are run by workers, which are all listed.
    let workers = profiles.values().filter_map(|target| match target {
        Target::Worker(profile) => Some(profile),
        Target::Machine(_) => None,
    });
    if !workers.flat_map(|profile| &profile.held).any(|held| held.scope.persists()) {
        return Ok(None);
    }
    let project = ProjectStore::of(&launch.runs_dir, &launch.workspace)?;
    project.check()?;
    Ok(Some(project))
}

/// Waits until the last agent has ended, then closes the record.
async fn run_to_the_end(shared: Arc<Shared>, root: AgentId) -> Result<RunSummary, RunError> {
    let clock = Instant::now();
    let timer = shared.budget.wall_time().map(|(ms, ending)| {
        let shared = shared.clone();
        AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            shared.stop(&ending);
        }))
    });
    shared.tasks.close();
    shared.tasks.wait().await;
    drop(timer);
    if let Some(error) = shared.failed.get() {
        return Err(RunError::Store(error.clone()));
    }
    let ending = shared.lineages.ending(&root).ok_or_else(|| RunError::Task(root.to_string()))?;
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
