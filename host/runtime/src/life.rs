//! The life of an agent around its turns: born into the record, queued for a slot, run, ended, its result told.

use crate::{
    agent::{Agent, Inbox, Stop, shared_module::SharedModule},
    leash::Leash,
    lineages::Ended,
    profile::ReadyProfile,
    run::Shared,
};
use futures_util::FutureExt;
use gg_core::{
    AgentId, AgentState, Ending, Entry, Event, Message, Origin, Turn, Usage, tokens, window::Keep,
};
use gg_store::{AgentRecord, AgentStatus, Step, StoreError};
use serde_json::Value;
use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};
use tokio::sync::Mutex;

/// What an agent is from its birth to its end.
#[derive(Clone)]
pub(crate) struct Born {
    pub(crate) id: AgentId,
    pub(crate) profile: Arc<ReadyProfile>,
    pub(crate) parent: Option<AgentId>,
    pub(crate) depth: u32,
    /// What it is asked for, which opens its window.
    pub(crate) prompt: Arc<Message>,
    /// By kind, the modules of its spawner that it holds as well.
    pub(crate) links: BTreeMap<String, Arc<SharedModule>>,
}

impl Born {
    /// A new agent, recorded in `step`; it comes to be with [`begin`], once that is committed. It holds nothing yet:
    /// its own modules are opened when it first runs, and its spawner gives it its part in what they share
    /// ([`Agent::lend_to`]). Whoever reads of it in the record can stop it at once.
    pub(crate) fn record(
        shared: &Shared,
        step: &mut Step,
        profile: &Arc<ReadyProfile>,
        parent: Option<(&AgentId, u32)>,
        prompt: String,
    ) -> Entered {
        let message = Message::user(shared.store.next_message_id(), Origin::Prompt, prompt);
        let born = Self {
            id: shared.store.next_agent_id(),
            profile: profile.clone(),
            parent: parent.map(|(id, _)| id.clone()),
            depth: parent.map_or(0, |(_, depth)| depth.saturating_add(1)),
            prompt: Arc::new(message),
            links: BTreeMap::new(),
        };
        let spawned = Event::AgentSpawned {
            profile: profile.id.clone(),
            model: profile.model.name.clone(),
            parent: born.parent.clone(),
            depth: born.depth,
        };
        let agent = || Some(born.id.clone());
        step.event(agent(), spawned);
        step.event(agent(), Event::Message { turn: Turn(0), message: born.prompt.clone() });
        if born.parent.is_some() {
            step.event(agent(), Event::AgentState { state: AgentState::Queued, on: Vec::new() });
        }
        step.agent(born.as_it_stands(AgentStatus::Live));
        let (inbox, leash) = shared.lineages.enter(&born.id, &born.profile.id, born.parent.as_ref());
        Entered { born, inbox, leash }
    }

    /// The facts of the message that opens its window.
    pub(crate) fn prompt_entry(&self) -> Entry {
        Entry::of(&self.prompt, Turn(0), tokens::of_message(&self.prompt), Keep::Pinned)
    }

    fn as_it_stands(&self, status: AgentStatus) -> AgentRecord {
        AgentRecord {
            id: self.id.clone(),
            profile: self.profile.id.clone(),
            parent: self.parent.clone(),
            depth: self.depth,
            status,
            progress: Value::Null,
        }
    }

    /// The step of an agent that ends before its first turn.
    fn ended_before_its_first_turn(&self, ended: &Ended) -> Step {
        let Ended { ending, unread, .. } = ended;
        let mut step = Step::new();
        step.event(
            Some(self.id.clone()),
            Event::AgentEnded {
                ending: ending.clone(),
                turns: 0,
                usage: Usage::default(),
                cost: None,
                said: None,
                unread: *unread,
            },
        );
        step.agent(self.as_it_stands(AgentStatus::Ended(ending.clone())));
        for module in self.links.values() {
            module.let_go(&self.id, &mut step);
        }
        step
    }
}

/// An agent that has a place in the run: it can be waited for, written to and stopped.
pub(crate) struct Entered {
    pub(crate) born: Born,
    pub(crate) inbox: Arc<Mutex<Inbox>>,
    pub(crate) leash: Leash,
}

/// Lets an agent that is in the record come to be. It queues for its slot in a task of its own.
pub(crate) fn begin(shared: &Arc<Shared>, entered: Entered) {
    let born = &entered.born;
    if let Some(ending) = shared.stopped() {
        entered.leash.pull(ending);
    }
    let door = shared.slots.acquire(&born.id, born.profile.key.clone());
    shared.rollup.add(&born.profile.id, &born.profile.model.name, |sums| sums.agents += 1);
    let task = live(shared.clone(), entered, door);
    shared.tasks.spawn(task);
}

/// Runs an agent from the queue to its end. Its result is told and its slot is free when this returns, whatever
/// went wrong.
async fn live(shared: Arc<Shared>, entered: Entered, door: crate::slots::Door) {
    let Entered { born, leash, inbox } = &entered;
    let (born, inbox, leash) = (born.clone(), inbox.clone(), leash.clone());
    let opened = tokio::select! {
        biased;
        ending = leash.wait() => Err(ending),
        () = door.opened() => Ok(()),
    };
    let ended = match opened {
        Err(ending) => end_unborn(&shared, &born, &inbox, ending).await,
        Ok(()) => {
            // A panic is a flaw of gg: it costs this agent, and whoever waits for it is told so.
            let work = AssertUnwindSafe(Box::pin(work(shared.clone(), entered)));
            match work.catch_unwind().await {
                Ok(ended) => ended,
                Err(_) => end_unborn(&shared, &born, &inbox, lost()).await,
            }
        }
    };
    let ended = ended.unwrap_or_else(|error| {
        let ending = Ending::Failed { error: error.to_string(), turn: Turn(0) };
        shared.fail(error);
        Ended { ending, said: None, unread: 0 }
    });
    inbox.lock().await.close();
    // Whoever waited for it stands in the queue before its slot is free, and so goes before those that are new.
    if let Some((parent, met)) = shared.lineages.end(&born.id, ended) {
        let door = shared.slots.wake(&parent);
        // One that was stopped in the meantime leaves by itself.
        let _ = met.send(door);
    }
    shared.slots.leave(&born.id);
}

async fn work(shared: Arc<Shared>, entered: Entered) -> Result<Ended, StoreError> {
    let (born, inbox) = (entered.born.clone(), entered.inbox.clone());
    let deadline = crate::budget::wall_time(&born.profile.budget, gg_core::BudgetScope::Agent);
    let timer = deadline.map(|(ms, ending)| {
        let leash = entered.leash.clone();
        tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move {
            tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
            leash.pull(ending);
        }))
    });
    let ended = match Agent::start(shared.clone(), entered).await {
        Ok(agent) => agent.live().await,
        Err(Stop::End(ending)) => end_unborn(&shared, &born, &inbox, ending).await,
        Err(Stop::Store(error)) => Err(error),
    };
    drop(timer);
    ended
}

/// Records an agent that ends before its first turn.
async fn end_unborn(
    shared: &Shared,
    born: &Born,
    inbox: &Mutex<Inbox>,
    ending: Ending,
) -> Result<Ended, StoreError> {
    let ended = Ended { ending, said: None, unread: inbox.lock().await.close() };
    shared.store.commit(born.ended_before_its_first_turn(&ended)).await?;
    Ok(ended)
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
    profile: &Arc<ReadyProfile>,
    prompt: String,
) -> (Step, Entered) {
    let mut step = Step::new();
    step.event(None, started);
    let entered = Born::record(shared, &mut step, profile, None, prompt);
    (step, entered)
}
