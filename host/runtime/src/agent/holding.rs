//! How an agent comes by what it holds, what it lends to those it spawns, whom it tells of changes, and how it lets
//! go.

use super::{
    Agent, Stop,
    held::{Held, HeldError},
    lent::Lender,
    shared_module::{Link, SharedModule, Write},
};
use crate::{
    life::Born,
    profile::{HeldKind, ReadyProfile},
    run::Shared,
    scope::Scope,
};
use gg_core::{AgentId, Ending, Message, Origin, ProfileId, Turn, window::Keep};
use gg_modules::{Access, CallError, History, Module, Note, Phase};
use gg_store::{InboxItem, InboxKind, Step};
use std::{
    collections::BTreeMap,
    fmt::Display,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::OnceCell;

/// The most notices that wait in an inbox. Whoever was away for longer had better look for itself.
const MAX_NOTICES: usize = 32;

/// The most of one change that others are told, in bytes: all that can wait together is then a short page of a window.
const NOTICE_BYTES: usize = 1024;

/// What stands in the place of those that find no room.
const MORE_NOTICES: &str = "There were more changes after this. Look at what there is now.";

/// What an agent starts with.
pub(super) struct Opened {
    pub(super) history: History,
    pub(super) modules: BTreeMap<String, Held>,
    /// What its window opens with, beside what the modules say.
    pub(super) notes: Vec<Note>,
    /// What its first step has to record.
    pub(super) step: Step,
}

/// Opens the modules of a new agent, and takes its part in those that it holds with others.
pub(super) async fn open_all(shared: &Shared, born: &Born, lender: &Arc<Lender>) -> Result<Opened, Stop> {
    let profile = &born.profile;
    let of_history = &profile.history;
    let history = History::open(&of_history.component, &of_history.settings, lender.clone())
        .await
        .map_err(|error| not_opened(&of_history.kind, error))?;
    let mut opened = Opened { history, modules: BTreeMap::new(), notes: Vec::new(), step: Step::new() };
    for kind in &profile.held {
        let held = opened.open(shared, born, kind).await?;
        opened.modules.insert(kind.kind.clone(), held);
    }
    Ok(opened)
}

impl Opened {
    async fn open(&mut self, shared: &Shared, born: &Born, kind: &HeldKind) -> Result<Held, Stop> {
        let access = kind.scope.access();
        let module = match kind.scope {
            Scope::Isolated => None,
            Scope::Inherited(_) => born.links.get(&kind.kind).cloned(),
            Scope::Shared { persist } => {
                let module = shared.profile_modules.get(shared, &born.profile.id, kind, persist).await?;
                module.hold(&born.id, &mut self.step);
                Some(module)
            }
        };
        if let Some(module) = module {
            return Ok(Held::linked(Link::new(module, born.id.clone()), access));
        }
        if access == Access::ReadOnly {
            self.notes.push(Note {
                title: kind.component.descriptor().title.clone(),
                body: "You may only read what the agent that spawned you keeps here, and there is no such agent: \
                       it is empty, and stays so."
                    .into(),
            });
        }
        let module = Module::open(&kind.component, &kind.settings).await;
        let module = module.map_err(|error| not_opened(&kind.kind, error))?;
        Ok(Held::own(shared.store.next_module_id(), module, access))
    }
}

fn not_opened(kind: &str, why: impl Display) -> Stop {
    let error = format!("the module {kind:?} could not be opened: {why}");
    Stop::End(Ending::Failed { error, turn: Turn(0) })
}

type Slot = Arc<OnceCell<Arc<SharedModule>>>;

/// The modules that belong to profiles: made when the first agent of a profile starts, and there to the run's end.
#[derive(Default)]
pub(crate) struct ProfileModules(Mutex<BTreeMap<(ProfileId, String), Slot>>);

impl ProfileModules {
    async fn get(
        &self,
        shared: &Shared,
        profile: &ProfileId,
        kind: &HeldKind,
        persist: bool,
    ) -> Result<Arc<SharedModule>, Stop> {
        let slot = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry((profile.clone(), kind.kind.clone())).or_default().clone()
        };
        let made = slot.get_or_try_init(|| make(shared, profile, kind, persist)).await?;
        Ok(made.clone())
    }
}

/// It is on record when this returns, so that whoever comes next can hold it.
async fn make(
    shared: &Shared,
    profile: &ProfileId,
    kind: &HeldKind,
    persist: bool,
) -> Result<Arc<SharedModule>, Stop> {
    let id = shared.store.next_module_id();
    let mut step = Step::new();
    let (component, settings) = (&kind.component, &kind.settings);
    let module = match shared.project.clone().filter(|_| persist) {
        None => SharedModule::of_profile(id, profile, component, settings, &mut step)
            .await
            .map_err(|error| not_opened(&kind.kind, error))?,
        Some(store) => SharedModule::of_project(id, profile, component, settings, store, &mut step)
            .await
            .map_err(|error| not_opened(&kind.kind, error))?,
    };
    shared.store.commit(step).await?;
    Ok(module)
}

impl Agent {
    /// Puts into the new window what its agent should know at once of what it was given.
    pub(super) async fn open_window(&mut self, mut notes: Vec<Note>) -> Result<(), Stop> {
        let context = self.context(Turn(0), Phase::Now);
        let mut failed = Vec::new();
        for (kind, held) in self.modules.iter_mut().filter(|(_, held)| held.shared().is_some()) {
            match held.opening(&context).await {
                Ok(more) => notes.extend(more),
                Err(error) => failed.push((kind.clone(), error)),
            }
        }
        for (kind, error) in failed {
            self.module_failed(Turn(0), &kind, &error);
        }
        let messages = notes.into_iter().map(|note| {
            let text = format!("{}\n{}", note.title, note.body);
            (Message::user(self.shared.store.next_message_id(), Origin::Opening, text), Keep::Pinned)
        });
        let messages: Vec<_> = messages.collect();
        if messages.is_empty() {
            return Ok(());
        }
        self.append(Turn(0), messages).await
    }

    /// Whether an agent of this profile can take its part in what this one holds.
    pub(super) fn can_lend_to(&self, profile: &ReadyProfile) -> Result<(), String> {
        for (kind, held) in self.lent_to(profile) {
            if held.component().sha256() != kind.component.sha256() {
                return Err(format!(
                    "its {:?} are to be yours, and the two of you use different components for them",
                    kind.kind
                ));
            }
        }
        Ok(())
    }

    /// Gives a new agent its part in what its profile wants of its spawner. It holds it from this step on, before it
    /// first runs: its spawner may have ended by then.
    pub(super) fn lend_to(&mut self, born: &mut Born) {
        let kinds: Vec<String> = self.lent_to(&born.profile).map(|(kind, _)| kind.kind.clone()).collect();
        for kind in kinds {
            let Some(held) = self.modules.remove(&kind) else { continue };
            let held = held.shareable(&self.id, &mut self.step);
            if let Some(module) = held.shared() {
                module.hold(&born.id, &mut self.step);
                born.links.insert(kind.clone(), module.clone());
            }
            self.modules.insert(kind, held);
        }
    }

    fn lent_to<'a>(&'a self, profile: &'a ReadyProfile) -> impl Iterator<Item = (&'a HeldKind, &'a Held)> {
        let inherited = profile.held.iter().filter(|kind| matches!(kind.scope, Scope::Inherited(_)));
        inherited.filter_map(|kind| Some((kind, self.modules.get(&kind.kind)?)))
    }

    /// Adds to the step what of the modules is not on record. See [`Held::record`] for what comes back.
    pub(super) fn record_modules(&mut self) -> Vec<Write> {
        let history = self.history.module();
        if !self.history_recorded.as_ref().is_some_and(|recorded| Arc::ptr_eq(recorded, history.state())) {
            self.step.module(super::held::record_of(self.history_id, None, history));
            if self.history_recorded.is_none() {
                self.step.hold(self.id.clone(), self.history_id);
            }
            self.history_recorded = Some(history.state().clone());
        }
        self.modules.values_mut().filter_map(|held| held.record(&self.id, &mut self.step)).collect()
    }

    /// Tells the other holders of what this agent changed, with this step. Their inboxes stay locked until it is
    /// committed, and are locked in the order of their ids.
    pub(super) async fn pass_notices(&mut self) {
        let mut texts: BTreeMap<AgentId, Vec<String>> = BTreeMap::new();
        for (others, text) in self.modules.values_mut().filter_map(Held::take_notices) {
            for other in others {
                texts.entry(other).or_default().push(text.clone());
            }
        }
        for (agent, texts) in texts {
            let Some(inbox) = self.shared.lineages.inbox(&agent) else { continue };
            let inbox = inbox.lock_owned().await;
            let waiting = inbox.items.iter().filter(|item| item.kind == InboxKind::Notice).count();
            if inbox.closed || waiting > MAX_NOTICES {
                continue;
            }
            let text = match waiting {
                MAX_NOTICES => MORE_NOTICES.to_owned(),
                _ => gg_core::text::cut_saying_so(texts.join("\n"), NOTICE_BYTES),
            };
            let n = self.shared.store.next_inbox_number();
            let item = InboxItem { n, kind: InboxKind::Notice, from: Some(self.id.clone()), text };
            self.step.inbox_push(agent, item.clone());
            self.on_commit.sent.push((inbox, item));
        }
    }

    /// Lets go of what it holds with others, with this step; what is its own alone stays on record as it was last.
    pub(super) fn let_go_of_links(&mut self) {
        for module in self.modules.values().filter_map(Held::shared) {
            module.let_go(&self.id, &mut self.step);
        }
        self.modules.retain(|_, held| held.shared().is_none());
    }
}

impl Display for HeldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Call(CallError::Failed(error)) => error.fmt(f),
            Self::Call(CallError::Refused(why)) => f.write_str(why),
            Self::Project(why) => write!(f, "its state is kept for the workspace, and {why}"),
        }
    }
}
