//! The scheduler at work: agents wait at doors that it opens.

use gg_core::{
    AgentId,
    scheduler::{Granted, Key, Scheduler, SchedulerError},
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

/// The slots of a run.
#[derive(Debug)]
pub(crate) struct Slots(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    scheduler: Scheduler,
    /// Those that wait for a slot.
    doors: HashMap<AgentId, oneshot::Sender<()>>,
}

/// Opens when its agent may run.
#[derive(Debug)]
pub(crate) struct Door(oneshot::Receiver<()>);

impl Door {
    /// Returns when the agent may run.
    pub(crate) async fn opened(self) {
        // The sender goes only with the run itself.
        let _ = self.0.await;
    }
}

impl Slots {
    pub(crate) fn new(cap: u32) -> Self {
        let scheduler = Scheduler::new(usize::try_from(cap).unwrap_or(usize::MAX));
        Self(Mutex::new(Inner { scheduler, doors: HashMap::new() }))
    }

    /// A new agent asks for a slot, and for the key that its profile demands.
    pub(crate) fn acquire(&self, agent: &AgentId, key: Option<Key>) -> Door {
        self.inner().queue(agent, |scheduler| scheduler.acquire(agent, key))
    }

    /// A running agent waits for others: its slot is free.
    pub(crate) fn block(&self, agent: &AgentId) {
        let mut inner = self.inner();
        let granted = inner.scheduler.block(agent);
        inner.open(granted);
    }

    /// What a blocked agent waited for has come.
    pub(crate) fn wake(&self, agent: &AgentId) -> Door {
        self.inner().queue(agent, |scheduler| scheduler.wake(agent))
    }

    /// A running agent goes on under another key. If it gave its slot up for that, the answer is the door to another.
    pub(crate) fn change_key(&self, agent: &AgentId, key: Option<Key>) -> Option<Door> {
        let mut inner = self.inner();
        if inner.scheduler.key(agent) == key.as_ref() {
            return None;
        }
        if key.is_some() {
            return Some(inner.queue(agent, |scheduler| scheduler.change_key(agent, key)));
        }
        let granted = inner.scheduler.change_key(agent, None);
        inner.open(granted);
        None
    }

    /// An agent leaves, wherever it stands.
    pub(crate) fn leave(&self, agent: &AgentId) {
        let mut inner = self.inner();
        inner.doors.remove(agent);
        let granted = inner.scheduler.end(agent);
        inner.open(granted);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // The scheduler changes nothing that it could leave half done, so a poisoned lock holds a sound one.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn queue(
        &mut self,
        agent: &AgentId,
        ask: impl FnOnce(&mut Scheduler) -> Result<Granted, SchedulerError>,
    ) -> Door {
        let (open, door) = oneshot::channel();
        let granted = ask(&mut self.scheduler);
        if granted.is_ok() {
            self.doors.insert(agent.clone(), open);
        }
        self.open(granted);
        Door(door)
    }

    /// Lets in whom the scheduler has granted a slot. An agent's own course rules out what it refuses - each is
    /// acquired once, and blocks and wakes in turn - but for one that was stopped and has left while somebody was
    /// about to wake it: nobody stands at its door any more.
    fn open(&mut self, granted: Result<Granted, SchedulerError>) {
        debug_assert!(!matches!(granted, Err(SchedulerError::Standing(_))), "{granted:?}");
        for agent in granted.unwrap_or_default() {
            if let Some(door) = self.doors.remove(&agent) {
                // An agent that was cancelled at the door leaves by itself, and so frees what it was granted.
                let _ = door.send(());
            }
        }
    }
}
