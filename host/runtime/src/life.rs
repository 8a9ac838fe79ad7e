//! The life of an agent around its turns: born into the record, queued for a slot, run, ended, its result told.

use crate::{
    agent::{Agent, Inbox, Lived, Stop, fork::Copied, shared_module::SharedModule},
    identity::Identity,
    leash::Leash,
    lineages::Ended,
    machine::Target,
    run::Shared,
};
use futures_util::FutureExt;
use gg_core::{AgentState, Ending, Event, Message, Origin, ProfileId, Turn, Usage};
use gg_store::{AgentStatus, Step, StoreError};
use serde_json::Value;
use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// What an agent is at its birth.
pub(crate) struct Born {
    pub(crate) me: Identity,
    /// What it is asked for.
    pub(crate) prompt: Arc<Message>,
    pub(crate) begins: Begins,
}

/// What an agent begins with.
pub(crate) enum Begins {
    /// Nothing: its own modules are opened when it first runs.
    Fresh {
        /// By kind, the modules of its spawner that it holds as well.
        links: BTreeMap<String, Arc<SharedModule>>,
    },
    /// What the agent that it is a copy of had.
    Copy(Box<Copied>),
}

impl Born {
    /// A new agent, recorded in `step`; it comes to be with [`begin`], once that is committed. It holds nothing yet,
    /// but its part in what its spawner shares with it ([`Agent::lend_to`]). Whoever reads of it in the record can stop
    /// it at once. Nothing if there is nobody who could take its first turn.
    pub(crate) fn record(
        shared: &Shared,
        step: &mut Step,
        target: &Target,
        parent: Option<&Identity>,
        prompt: String,
    ) -> Option<Entered> {
        let (profile, standing) = target.entry()?;
        let message = Message::user(shared.store.next_message_id(), Origin::Prompt, prompt);
        let id = shared.store.next_agent_id();
        let me = Identity {
            id: id.clone(),
            lineage: id,
            profile,
            parent: parent.map(|parent| parent.id.clone()),
            depth: parent.map_or(0, |parent| parent.depth.saturating_add(1)),
            standing,
        };
        let prompt = Arc::new(message);
        let agent = || Some(me.id.clone());
        step.event(agent(), me.spawned());
        step.event(agent(), Event::Message { turn: Turn(0), message: prompt.clone() });
        if let Some(state) = me.fsm_state(None) {
            step.event(agent(), state);
        }
        let born = Self { me, prompt, begins: Begins::Fresh { links: BTreeMap::new() } };
        Some(born.enter(shared, step, target.id()))
    }

    /// Records the agent, and gives it its place in the run, where it was put to work as `named`.
    pub(crate) fn enter(self, shared: &Shared, step: &mut Step, named: &ProfileId) -> Entered {
        if self.me.parent.is_some() {
            let queued = Event::AgentState { state: AgentState::Queued, on: Vec::new() };
            step.event(Some(self.me.id.clone()), queued);
        }
        let progress = match &self.begins {
            // It says nothing of what can be written as JSON: those are numbers.
            Begins::Copy(copied) => copied.progress.as_json().unwrap_or(Value::Null),
            Begins::Fresh { .. } => Value::Null,
        };
        step.agent(self.me.record(AgentStatus::Live, progress));
        let (inbox, leash) = shared.lineages.enter(&self.me, named);
        Entered { born: self, inbox, leash }
    }
}

/// An agent that has a place in the run: it can be waited for, written to and stopped.
pub(crate) struct Entered {
    pub(crate) born: Born,
    pub(crate) inbox: Arc<Mutex<Inbox>>,
    pub(crate) leash: Leash,
}

/// What is to be done for an agent that ends before it has begun, or is lost.
struct Unborn {
    me: Identity,
    inbox: Arc<Mutex<Inbox>>,
    /// What it holds with others.
    links: Vec<Arc<SharedModule>>,
}

impl Unborn {
    fn of(entered: &Entered) -> Self {
        let links = match &entered.born.begins {
            Begins::Fresh { links } => links.values().cloned().collect(),
            Begins::Copy(copied) => copied.links(),
        };
        Self { me: entered.born.me.clone(), inbox: entered.inbox.clone(), links }
    }

    /// Records how it ended.
    async fn end(&self, shared: &Shared, ending: Ending) -> Result<Ended, StoreError> {
        let unread = self.inbox.lock().await.close();
        // Whoever is lost may have become another.
        let me = shared.lineages.now(&self.me.id).unwrap_or_else(|| self.me.clone());
        let ended = Ended { ending: ending.clone(), said: None, state: me.state(), unread };
        let mut step = Step::new();
        step.event(
            Some(me.id.clone()),
            Event::AgentEnded {
                ending: ending.clone(),
                state: me.state(),
                turns: 0,
                usage: Usage::default(),
                cost: None,
                said: None,
                unread,
            },
        );
        step.agent(me.record(AgentStatus::Ended(ending), Value::Null));
        for module in &self.links {
            module.let_go(&self.me.id, &mut step);
        }
        shared.store.commit(step).await?;
        Ok(ended)
    }
}

/// Lets an agent that is in the record come to be. It queues for its slot in a task of its own.
pub(crate) fn begin(shared: &Arc<Shared>, entered: Entered) {
    let me = &entered.born.me;
    if let Some(ending) = shared.stopped() {
        entered.leash.pull(ending);
    }
    let door = shared.slots.acquire(&me.id, me.profile.key.clone());
    shared.rollup.add(&me.profile.id, &me.profile.model.name, |sums| sums.agents += 1);
    let task = live(shared.clone(), entered, door);
    shared.tasks.spawn(task);
}

/// Runs an agent from the queue to its end, whatever it becomes on the way. Its result is told and its slot is free
/// when this returns, whatever went wrong.
async fn live(shared: Arc<Shared>, entered: Entered, door: crate::slots::Door) {
    let unborn = Unborn::of(&entered);
    let leash = entered.leash.clone();
    let opened = tokio::select! {
        biased;
        ending = leash.wait() => Err(ending),
        () = door.opened() => Ok(()),
    };
    let ended = match opened {
        Err(ending) => unborn.end(&shared, ending).await,
        Ok(()) => {
            // A panic is a flaw of gg: it costs this agent, and whoever waits for it is told so.
            let work = AssertUnwindSafe(Box::pin(work(shared.clone(), entered, &unborn)));
            match work.catch_unwind().await {
                Ok(ended) => ended,
                Err(_) => unborn.end(&shared, lost()).await,
            }
        }
    };
    let ended = ended.unwrap_or_else(|error| {
        let ending = Ending::Failed { error: error.to_string(), turn: Turn(0) };
        shared.fail(error);
        Ended { ending, said: None, state: None, unread: 0 }
    });
    unborn.inbox.lock().await.close();
    let lineage = &unborn.me.id;
    // Whoever waited for it stands in the queue before its slot is free, and so goes before those that are new.
    if let Some((parent, met)) = shared.lineages.end(lineage, ended) {
        let door = shared.slots.wake(&parent);
        // One that was stopped in the meantime leaves by itself.
        let _ = met.send(door);
    }
    shared.slots.leave(lineage);
}

async fn work(shared: Arc<Shared>, entered: Entered, unborn: &Unborn) -> Result<Ended, StoreError> {
    let leash = entered.leash.clone();
    let mut timer = timer(&entered.born.me, Duration::ZERO, &leash);
    let mut agent = match Agent::start(shared.clone(), entered).await {
        Ok(agent) => agent,
        Err(Stop::Store(error)) => return Err(error),
        Err(Stop::End(ending)) => return unborn.end(&shared, ending).await,
    };
    loop {
        match agent.live().await? {
            Lived::Ended(ended) => return Ok(ended),
            Lived::Became(next) => {
                // The time of the one before is not that of the next.
                drop(timer.take());
                agent = *next;
                agent.queue_for_key().await;
                timer = self::timer(&agent.me, agent.time_taken(), &leash);
            }
        }
    }
}

/// Ends an agent once the time that its profile gives it is up, of which some is `taken`, unless what comes back is
/// dropped before that.
fn timer(me: &Identity, taken: Duration, leash: &Leash) -> Option<tokio_util::task::AbortOnDropHandle<()>> {
    let (ms, ending) = crate::budget::wall_time(&me.profile.budget, gg_core::BudgetScope::Agent)?;
    let left = Duration::from_millis(ms).saturating_sub(taken);
    let leash = leash.clone();
    Some(tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move {
        tokio::time::sleep(left).await;
        leash.pull(ending);
    })))
}

fn lost() -> Ending {
    Ending::Failed {
        error: "gg lost this agent in mid-work; this is a fault of gg, please report it".into(),
        turn: Turn(0),
    }
}

/// The root's step: the run begins, and so does its first agent.
pub(crate) fn first_step(
    shared: &Shared,
    started: Event,
    target: &Target,
    prompt: String,
) -> Option<(Step, Entered)> {
    let mut step = Step::new();
    step.event(None, started);
    let entered = Born::record(shared, &mut step, target, None, prompt)?;
    Some((step, entered))
}
