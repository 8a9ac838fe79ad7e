//! Every agent of a run, by the id that addresses it: who put it to work, who waits for it, how it ended.
//!
//! An agent that becomes another is still the same one here: whatever is asked by the id of a later incarnation is
//! answered for the lineage. Its inbox, its children and its result are the lineage's.

use crate::{agent::Inbox, identity::Identity, leash::Leash, slots::Door};
use gg_core::{AgentId, Ending, ProfileId};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

/// Which of those that are waited for are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enough {
    All,
    Any,
}

impl Enough {
    /// Whether that is so while `open` of so many have not ended.
    pub(crate) fn is_met(self, open: usize, of: usize) -> bool {
        match self {
            Self::All => open == 0,
            Self::Any => open < of,
        }
    }
}

/// The agents of a run that ever came to be.
#[derive(Default)]
pub(crate) struct Lineages(Mutex<Table>);

#[derive(Default)]
struct Table {
    /// By the id of the first incarnation.
    lineages: HashMap<AgentId, Lineage>,
    /// Of each later incarnation, the first.
    later: HashMap<AgentId, AgentId>,
}

struct Lineage {
    /// What it was put to work as.
    profile: ProfileId,
    /// Who it is now.
    now: Identity,
    /// The lineage that put it to work.
    parent: Option<AgentId>,
    inbox: Arc<tokio::sync::Mutex<Inbox>>,
    leash: Leash,
    /// In the order in which they were spawned, which is that of their numbers.
    children: Vec<AgentId>,
    ended: Option<Arc<Ended>>,
    /// Its parent has been given its result.
    collected: bool,
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    on: HashSet<AgentId>,
    /// How many were waited for at first.
    of: usize,
    enough: Enough,
    met: Met,
}

/// Tells a blocked agent that enough has happened, with the door to its slot.
pub(crate) type Met = oneshot::Sender<Door>;

/// What a blocked agent learns when it begins to wait.
pub(crate) enum Wait {
    /// Enough have ended already.
    Over,
    /// It will be told.
    Told(oneshot::Receiver<Door>),
}

/// How an agent ended, and what else whoever waits for it is told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) ending: Ending,
    /// The last text that its model wrote, where the ending has none of its own.
    pub(crate) said: Option<String>,
    /// The state of its machine that it ended in.
    pub(crate) state: Option<String>,
    /// How many messages it did not come to read.
    pub(crate) unread: u32,
}

/// A child as its parent may see it.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(crate) id: AgentId,
    pub(crate) profile: ProfileId,
    pub(crate) ended: Option<Arc<Ended>>,
}

/// Why an agent is not one that the asker may wait for or write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stranger {
    Unknown,
    Itself,
    NotAChild,
}

impl Lineages {
    /// A new agent has its place, as the child of the one that put it to work as `profile`: it can be waited for and
    /// written to. The answer is its inbox, and what ends it from outside.
    pub(crate) fn enter(
        &self,
        now: &Identity,
        profile: &ProfileId,
    ) -> (Arc<tokio::sync::Mutex<Inbox>>, Leash) {
        let mut all = self.all();
        let parent = now.parent.as_ref().map(|parent| all.first(parent).clone());
        if let Some(parent) = parent.as_ref().and_then(|parent| all.get_mut(parent)) {
            parent.children.push(now.id.clone());
        }
        let lineage = Lineage {
            profile: profile.clone(),
            now: now.clone(),
            parent,
            inbox: Arc::default(),
            leash: Leash::default(),
            children: Vec::new(),
            ended: None,
            collected: false,
            waiting: None,
        };
        let handles = (lineage.inbox.clone(), lineage.leash.clone());
        all.lineages.insert(now.id.clone(), lineage);
        handles
    }

    /// An agent has become this one, and that is durable.
    pub(crate) fn became(&self, now: &Identity) {
        let mut all = self.all();
        all.later.insert(now.id.clone(), now.lineage.clone());
        if let Some(lineage) = all.get_mut(&now.lineage) {
            lineage.now = now.clone();
        }
    }

    /// Who an agent is now.
    pub(crate) fn now(&self, id: &AgentId) -> Option<Identity> {
        self.all().get(id).map(|lineage| lineage.now.clone())
    }

    /// An agent did not come to be after all.
    pub(crate) fn forget(&self, id: &AgentId) {
        let mut all = self.all();
        let parent = all.lineages.remove(id).and_then(|lineage| lineage.parent);
        if let Some(parent) = parent.and_then(|parent| all.get_mut(&parent)) {
            parent.children.retain(|child| child != id);
        }
    }

    /// An agent has ended, and that is durable. If its parent is blocked and that was what it waited for, the answer
    /// says whom to wake, and how to tell it.
    pub(crate) fn end(&self, id: &AgentId, ended: Ended) -> Option<(AgentId, Met)> {
        let mut all = self.all();
        let lineage = all.get_mut(id)?;
        lineage.ended = Some(Arc::new(ended));
        let parent_id = lineage.parent.clone()?;
        let parent = all.get_mut(&parent_id)?;
        let waiting = parent.waiting.as_mut()?;
        if waiting.on.remove(id) && waiting.enough.is_met(waiting.on.len(), waiting.of) {
            return parent.waiting.take().map(|waiting| (parent_id, waiting.met));
        }
        None
    }

    /// Begins to wait until enough of `on`, which are children of `parent`, have ended. The agent is blocked
    /// already, because whoever ends may wake it at once.
    pub(crate) fn wait(&self, parent: &AgentId, on: &[AgentId], enough: Enough) -> Wait {
        let mut all = self.all();
        let open: HashSet<AgentId> =
            on.iter().filter(|id| all.get(id).is_some_and(|child| child.ended.is_none())).cloned().collect();
        if enough.is_met(open.len(), on.len()) {
            return Wait::Over;
        }
        let (met, told) = oneshot::channel();
        if let Some(parent) = all.get_mut(parent) {
            parent.waiting = Some(Waiting { on: open, of: on.len(), enough, met });
        }
        Wait::Told(told)
    }

    /// The agent waits no longer. False if it is being told at this moment that it need not.
    pub(crate) fn wait_no_longer(&self, parent: &AgentId) -> bool {
        self.all().get_mut(parent).is_some_and(|parent| parent.waiting.take().is_some())
    }

    /// The child `id` of `parent`.
    pub(crate) fn child(&self, parent: &AgentId, id: &AgentId) -> Result<Child, Stranger> {
        let all = self.all();
        let id = all.first(id);
        if id == parent {
            return Err(Stranger::Itself);
        }
        let lineage = all.get(id).ok_or(Stranger::Unknown)?;
        if lineage.parent.as_ref() != Some(parent) {
            return Err(Stranger::NotAChild);
        }
        Ok(lineage.child(id))
    }

    /// The children of `parent` whose results it has not been given, in the order in which they were spawned.
    pub(crate) fn uncollected(&self, parent: &AgentId) -> Vec<Child> {
        let all = self.all();
        let Some(parent) = all.get(parent) else { return Vec::new() };
        let children = parent.children.iter().filter_map(|id| Some((id, all.get(id)?)));
        children.filter(|(_, child)| !child.collected).map(|(id, child)| child.child(id)).collect()
    }

    /// The results of these have been given to their parent.
    pub(crate) fn collected(&self, ids: &BTreeSet<AgentId>) {
        let mut all = self.all();
        for id in ids {
            if let Some(child) = all.get_mut(id) {
                child.collected = true;
            }
        }
    }

    /// How an agent ended, if it has.
    pub(crate) fn ending(&self, id: &AgentId) -> Option<Ending> {
        self.all().get(id)?.ended.as_ref().map(|ended| ended.ending.clone())
    }

    /// The inbox of an agent, and the id that it is recorded under.
    pub(crate) fn inbox(&self, id: &AgentId) -> Option<(AgentId, Arc<tokio::sync::Mutex<Inbox>>)> {
        self.all().get(id).map(|lineage| (lineage.now.lineage.clone(), lineage.inbox.clone()))
    }

    /// What ends an agent that has not ended.
    pub(crate) fn leash(&self, id: &AgentId) -> Option<Leash> {
        self.all().get(id).filter(|lineage| lineage.ended.is_none()).map(|lineage| lineage.leash.clone())
    }

    /// The leashes of all that have not ended.
    pub(crate) fn leashes(&self) -> Vec<Leash> {
        let all = self.all();
        all.lineages
            .values()
            .filter(|lineage| lineage.ended.is_none())
            .map(|lineage| lineage.leash.clone())
            .collect()
    }

    fn all(&self) -> MutexGuard<'_, Table> {
        // Each change is whole after every statement, so a poisoned lock still holds a sound table.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The first incarnation of the one that is called `id`.
    fn first<'a>(&'a self, id: &'a AgentId) -> &'a AgentId {
        self.later.get(id).unwrap_or(id)
    }

    fn get(&self, id: &AgentId) -> Option<&Lineage> {
        self.lineages.get(self.first(id))
    }

    fn get_mut(&mut self, id: &AgentId) -> Option<&mut Lineage> {
        let first = self.later.get(id).unwrap_or(id);
        self.lineages.get_mut(first)
    }
}

impl Lineage {
    fn child(&self, id: &AgentId) -> Child {
        Child { id: id.clone(), profile: self.profile.clone(), ended: self.ended.clone() }
    }
}
