//! A copy of an agent: everything that it holds, for a child that goes on from here on a line of its own.

use super::{
    Agent, Stop,
    held::{Held, Place},
    lent::Lender,
    opening::Handoff,
    progress::Progress,
    shared_module::{Link, SharedModule},
};
use crate::{
    identity::Identity,
    life::{Begins, Born},
    lineages::Ended,
    machine::Target,
};
use gg_core::{
    Ending, Entry, Event, Message, Origin, SuccessionKind, Turn,
    succession::{Arrives, Carry, Fate, Holding, plan},
    tokens,
    turn::Fork,
    window::Keep,
};
use gg_modules::{History, Phase};
use gg_store::{AgentStatus, Step};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// How many bytes of states the copies of one turn may have that are recorded in one step.
const BATCH_BYTES: usize = 16 << 20;

/// What a copy begins with. None of it has an instance until the copy first runs.
pub(crate) struct Copied {
    pub(super) history: (History, Place),
    pub(super) modules: BTreeMap<String, Held>,
    pub(super) lender: Arc<Lender>,
    pub(crate) progress: Progress,
}

impl Copied {
    /// What it holds with others.
    pub(crate) fn links(&self) -> Vec<Arc<SharedModule>> {
        self.modules.values().filter_map(Held::shared).cloned().collect()
    }

    /// Adds to `step` what of it is the copy's own, and says how many bytes that has.
    fn record(&mut self, me: &Identity, step: &mut Step) -> usize {
        let (history, place) = &mut self.history;
        place.record(history.module(), &me.id, step);
        let mut bytes = history.module().state().len();
        for held in self.modules.values_mut() {
            held.record(&me.id, step);
            bytes += held.bytes();
        }
        bytes
    }
}

impl Agent {
    /// Makes the copies that a turn asked for, each from the agent as it stands. They are on record when this returns,
    /// and so are those that could not be made: whoever waits for one of them is told why. The answer is what the agent
    /// is to be told.
    pub(super) async fn fork_all(&mut self, turn: Turn, forks: Vec<Fork>) -> Result<Vec<String>, Stop> {
        let mut notices = Vec::new();
        let mut bytes = 0;
        for fork in forks {
            match self.fork(turn, &fork).await {
                Ok(more) => bytes += more,
                Err(why) => {
                    notices.push(format!("The copy {} could not be made: {why}", fork.id));
                    self.record_failed_copy(turn, &fork, why);
                }
            }
            if bytes > BATCH_BYTES {
                self.commit().await?;
                bytes = 0;
            }
        }
        self.commit().await?;
        Ok(notices)
    }

    /// Makes a copy. The answer is how many bytes of states it adds to the step.
    async fn fork(&mut self, turn: Turn, fork: &Fork) -> Result<usize, String> {
        self.can_be_recorded()?;
        let me = self.identity_of(fork);
        let fates = plan(&self.held(), &BTreeSet::new(), Carry::Copy);
        let mut copied = self.copy(&fates).await?;
        let handoff = Handoff {
            kind: SuccessionKind::Fork,
            from: &self.me,
            turn,
            fates: &fates,
            shared: BTreeSet::new(),
            notices: &[],
            said: Some(&fork.prompt),
        };
        let id = self.shared.store.next_message_id();
        let note = Arc::new(Message::user(id, Origin::Opening, handoff.note(&me)));
        let first = copied.progress.opening.unwrap_or(turn.next());
        let entry = Entry::of(&note, first, tokens::of_message(&note), Keep::Foldable);
        copied.lender.lend(&note);
        let context = self.context_of(&me.id, first, Phase::Now);
        let (history, _) = &mut copied.history;
        let appended = history.append(&context, vec![super::lent(&note, entry)]).await;
        appended.map_err(|error| format!("its conversation could not be opened: {error}"))?;
        history.hibernate();
        // Nothing can fail from here on.
        self.link(&me, &fates, &mut copied);
        self.event(Event::AgentTransition {
            turn,
            kind: SuccessionKind::Fork,
            to: me.id.clone(),
            profile: me.profile.id.clone(),
            modules: fates,
            spent: None,
        });
        self.step.event(Some(me.id.clone()), me.spawned());
        self.step.message(note);
        let bytes = copied.record(&me, &mut self.step);
        let prompt = Message::user(self.shared.store.next_message_id(), Origin::Prompt, fork.prompt.clone());
        let prompt = Arc::new(prompt);
        // What the copy's own machine, if it ever enters one, is for.
        self.step.message(prompt.clone());
        let named = me.profile.id.clone();
        let born = Born { me, prompt, begins: Begins::Copy(Box::new(copied)) };
        let entered = born.enter(&self.shared, &mut self.step, &named);
        self.on_commit.born.push(entered);
        Ok(bytes)
    }

    /// What this agent holds, by how a copy of it would hold it.
    pub(super) fn held(&self) -> BTreeMap<String, Holding> {
        let scope = |kind: &String| {
            let held = self.me.profile.held.iter().find(|held| held.kind == *kind)?;
            Some(held.scope.holding())
        };
        let modules = self.modules.keys().map(|kind| (kind.clone(), scope(kind).unwrap_or(Holding::Alone)));
        modules.chain([(self.me.profile.history.kind.clone(), Holding::Alone)]).collect()
    }

    /// Copies of what a copy of this agent is to have for itself, under ids of their own.
    async fn copy(&self, fates: &[Fate]) -> Result<Copied, String> {
        let store = &self.shared.store;
        let lender = Arc::new(Lender::new(store.clone()));
        let history = self.history.copy(lender.clone()).await;
        let history = history.map_err(|error| format!("its conversation could not be copied: {error}"))?;
        let mut modules = BTreeMap::new();
        for fate in fates.iter().filter(|fate| fate.arrives == Some(Arrives::Cloned)) {
            let Some(held) = self.modules.get(&fate.kind) else { continue };
            let copy = held.copy(store.next_module_id()).await;
            let copy =
                copy.map_err(|error| format!("the module {:?} could not be copied: {error}", fate.kind))?;
            modules.insert(fate.kind.clone(), copy);
        }
        let history = (history, Place::new(store.next_module_id()));
        Ok(Copied { history, modules, lender, progress: self.progress.of_copy() })
    }

    /// Gives a copy its part in what it holds together with this agent.
    fn link(&mut self, me: &Identity, fates: &[Fate], copied: &mut Copied) {
        for fate in fates.iter().filter(|fate| fate.arrives == Some(Arrives::Linked)) {
            let Some(held) = self.modules.remove(&fate.kind) else { continue };
            let held = held.shareable(&self.me.id, &mut self.step);
            if let Some(module) = held.shared() {
                module.hold(&me.id, &mut self.step);
                let link = Link::new(module.clone(), me.id.clone());
                copied.modules.insert(fate.kind.clone(), Held::linked(link, held.access()));
            }
            self.modules.insert(fate.kind.clone(), held);
        }
    }

    /// Who a copy is: a child under the very profile of this agent. In a machine it is a second worker, not a second
    /// driver.
    fn identity_of(&self, fork: &Fork) -> Identity {
        let target = self.shared.profiles.get(&self.me.profile.id);
        let profile = target.and_then(Target::entry).map(|(profile, _)| profile);
        Identity {
            id: fork.id.clone(),
            lineage: fork.id.clone(),
            profile: profile.unwrap_or_else(|| self.me.profile.clone()),
            parent: Some(self.me.id.clone()),
            depth: self.me.depth.saturating_add(1),
            standing: None,
        }
    }

    /// A copy that could not be made keeps its id, and its failure is its result.
    fn record_failed_copy(&mut self, turn: Turn, fork: &Fork, why: String) {
        self.event(Event::SuccessionFailed {
            turn,
            kind: SuccessionKind::Fork,
            profile: self.me.profile.id.clone(),
            copy: Some(fork.id.clone()),
            error: why.clone(),
        });
        let me = self.identity_of(fork);
        let ending = Ending::Failed { error: format!("the copy could not be made: {why}"), turn };
        self.step.agent(me.record(AgentStatus::Ended(ending.clone()), serde_json::Value::Null));
        self.shared.lineages.enter(&me, &me.profile.id);
        self.shared.lineages.end(&me.id, Ended { ending, said: None, state: None, unread: 0 });
    }
}
