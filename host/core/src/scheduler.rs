//! Who may run: one cap on running agents, first come first served, with keys that only one may hold.
//!
//! A state machine without a clock, a lock or a task. Each operation answers with the agents that may run now;
//! whoever drives it lets those go on, and nobody else. Every operation costs time in the logarithm of the number
//! of agents.

use crate::id::{AgentId, ProfileId};
use std::collections::{BTreeSet, HashMap};

/// What no two running agents may hold at once: the profile that allows one running instance.
pub type Key = ProfileId;

/// A place in the queue. Lower goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    priority: Priority,
    ticket: u64,
}

/// Which waiters go before which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// It ran before, and only waits for its slot back.
    Resumed,
    /// It has not started.
    New,
}

/// Where an agent stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It waits for a slot.
    Queued,
    /// It holds one.
    Running,
    /// It waits for something else, and holds neither slot nor key.
    Blocked,
}

#[derive(Clone, Debug)]
struct Member {
    key: Option<Key>,
    at: At,
}

#[derive(Clone, Copy, Debug)]
enum At {
    Queued(Place),
    Running,
    Blocked,
}

/// One key: who holds it, and who waits.
#[derive(Clone, Debug, Default)]
struct Keyed {
    is_held: bool,
    waiting: BTreeSet<(Place, AgentId)>,
}

/// The slots of a run.
#[derive(Clone, Debug)]
pub struct Scheduler {
    cap: usize,
    running: usize,
    tickets: u64,
    members: HashMap<AgentId, Member>,
    /// Those that a free slot is enough for: waiters without a key, and of each free key its first.
    ready: BTreeSet<(Place, AgentId)>,
    keys: HashMap<Key, Keyed>,
}

/// Why an operation makes no sense. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// An agent that is known already was to be added.
    #[error("the agent has a place already")]
    Known,
    /// The agent is not known, or has ended.
    #[error("the agent has no place")]
    Unknown,
    /// The agent stands elsewhere than the operation starts from.
    #[error("the agent is {0:?}")]
    Standing(Standing),
}

/// The agents that may run now, in the order in which they were let in.
pub type Granted = Vec<AgentId>;

impl Scheduler {
    /// Slots for `cap` agents at once; at least one.
    pub fn new(cap: usize) -> Self {
        Self {
            cap: cap.max(1),
            running: 0,
            tickets: 0,
            members: HashMap::new(),
            ready: BTreeSet::new(),
            keys: HashMap::new(),
        }
    }

    /// An agent that has not started asks for a slot, and for `key` if its profile has one.
    ///
    /// # Errors
    /// [`SchedulerError::Known`].
    pub fn acquire(&mut self, agent: &AgentId, key: Option<Key>) -> Result<Granted, SchedulerError> {
        if self.members.contains_key(agent) {
            return Err(SchedulerError::Known);
        }
        let place = self.place(Priority::New);
        self.members.insert(agent.clone(), Member { key, at: At::Queued(place) });
        self.enqueue(agent, place);
        Ok(self.grant())
    }

    /// A running agent waits for something else: its slot and its key are free.
    ///
    /// # Errors
    /// [`SchedulerError::Unknown`], or [`SchedulerError::Standing`] if it does not run.
    pub fn block(&mut self, agent: &AgentId) -> Result<Granted, SchedulerError> {
        let member = self.members.get_mut(agent).ok_or(SchedulerError::Unknown)?;
        if !matches!(member.at, At::Running) {
            return Err(SchedulerError::Standing(member.at.standing()));
        }
        member.at = At::Blocked;
        let key = member.key.clone();
        self.running -= 1;
        self.free(key.as_ref());
        Ok(self.grant())
    }

    /// What a blocked agent waited for has come: it asks for its slot back, before all that have not started.
    ///
    /// # Errors
    /// [`SchedulerError::Unknown`], or [`SchedulerError::Standing`] if it is not blocked.
    pub fn wake(&mut self, agent: &AgentId) -> Result<Granted, SchedulerError> {
        let place = self.place(Priority::Resumed);
        let member = self.members.get_mut(agent).ok_or(SchedulerError::Unknown)?;
        if !matches!(member.at, At::Blocked) {
            return Err(SchedulerError::Standing(member.at.standing()));
        }
        member.at = At::Queued(place);
        self.enqueue(agent, place);
        Ok(self.grant())
    }

    /// A running agent goes on under another key, or without one. Without a new key it keeps its slot; for a new one it
    /// gives up slot and old key, and queues before all that have not started: nothing is held while it waits.
    ///
    /// # Errors
    /// [`SchedulerError::Unknown`], or [`SchedulerError::Standing`] if it does not run.
    pub fn change_key(&mut self, agent: &AgentId, key: Option<Key>) -> Result<Granted, SchedulerError> {
        let place = self.place(Priority::Resumed);
        let member = self.members.get_mut(agent).ok_or(SchedulerError::Unknown)?;
        if !matches!(member.at, At::Running) {
            return Err(SchedulerError::Standing(member.at.standing()));
        }
        if member.key == key {
            return Ok(Granted::new());
        }
        let old = std::mem::replace(&mut member.key, key);
        let queues = member.key.is_some();
        if queues {
            member.at = At::Queued(place);
            self.running -= 1;
        }
        self.free(old.as_ref());
        if queues {
            self.enqueue(agent, place);
        }
        if let Some(old) = &old {
            self.forget_unused(old);
        }
        Ok(self.grant())
    }

    /// An agent leaves, wherever it stands.
    ///
    /// # Errors
    /// [`SchedulerError::Unknown`].
    pub fn end(&mut self, agent: &AgentId) -> Result<Granted, SchedulerError> {
        let member = self.members.remove(agent).ok_or(SchedulerError::Unknown)?;
        match member.at {
            At::Running => {
                self.running -= 1;
                self.free(member.key.as_ref());
            }
            At::Queued(place) => self.dequeue(agent, place, member.key.as_ref()),
            At::Blocked => {}
        }
        if let Some(key) = &member.key {
            self.forget_unused(key);
        }
        Ok(self.grant())
    }

    /// Where an agent stands; nothing if it is not known.
    pub fn standing(&self, agent: &AgentId) -> Option<Standing> {
        self.members.get(agent).map(|member| member.at.standing())
    }

    /// The key that an agent runs under, or asks for.
    pub fn key(&self, agent: &AgentId) -> Option<&Key> {
        self.members.get(agent)?.key.as_ref()
    }

    /// How many run.
    pub fn running(&self) -> usize {
        self.running
    }

    /// How many may run.
    pub fn cap(&self) -> usize {
        self.cap
    }

    /// How many have a place, running or not.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether nobody has a place.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    fn place(&mut self, priority: Priority) -> Place {
        self.tickets += 1;
        Place { priority, ticket: self.tickets }
    }

    fn enqueue(&mut self, agent: &AgentId, place: Place) {
        let Some(key) = self.key(agent).cloned() else {
            self.ready.insert((place, agent.clone()));
            return;
        };
        let keyed = self.keys.entry(key).or_default();
        // Of a free key only the first waiter is ready.
        let first = keyed.waiting.first().cloned();
        keyed.waiting.insert((place, agent.clone()));
        if keyed.is_held {
            return;
        }
        let now_first = keyed.waiting.first().cloned();
        if first != now_first {
            first.map(|waiter| self.ready.remove(&waiter));
            self.ready.extend(now_first);
        }
    }

    fn dequeue(&mut self, agent: &AgentId, place: Place, key: Option<&Key>) {
        let waiter = (place, agent.clone());
        let was_ready = self.ready.remove(&waiter);
        let Some(keyed) = key.and_then(|key| self.keys.get_mut(key)) else { return };
        keyed.waiting.remove(&waiter);
        if was_ready {
            self.ready.extend(keyed.waiting.first().cloned());
        }
    }

    /// Lets a key go: its first waiter is ready.
    fn free(&mut self, key: Option<&Key>) {
        if let Some(keyed) = key.and_then(|key| self.keys.get_mut(key)) {
            keyed.is_held = false;
            self.ready.extend(keyed.waiting.first().cloned());
        }
    }

    fn forget_unused(&mut self, key: &Key) {
        if self.keys.get(key).is_some_and(|keyed| !keyed.is_held && keyed.waiting.is_empty()) {
            self.keys.remove(key);
        }
    }

    fn grant(&mut self) -> Granted {
        let mut granted = Vec::new();
        while self.running < self.cap {
            let Some((place, agent)) = self.ready.pop_first() else { break };
            if let Some(key) = self.key(&agent).cloned()
                && let Some(keyed) = self.keys.get_mut(&key)
            {
                keyed.waiting.remove(&(place, agent.clone()));
                keyed.is_held = true;
            }
            if let Some(member) = self.members.get_mut(&agent) {
                member.at = At::Running;
            }
            self.running += 1;
            granted.push(agent);
        }
        granted
    }
}

impl At {
    fn standing(self) -> Standing {
        match self {
            Self::Queued(_) => Standing::Queued,
            Self::Running => Standing::Running,
            Self::Blocked => Standing::Blocked,
        }
    }
}

#[cfg(test)]
mod tests;
