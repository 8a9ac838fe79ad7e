//! How an agent comes by what it holds, what it lends to those it spawns, whom it tells of changes, and how it lets
//! go.

use super::{
    Agent, Stop,
    held::{Held, HeldError},
    lent::Lender,
    shared_module::{Link, SharedModule, Write},
};
use crate::{
    identity::Identity,
    life::{Begins, Born},
    profile::{HeldKind, ReadyProfile},
    run::Shared,
    scope::Scope,
};
use gg_core::{AgentId, Ending, Message, Origin, ProfileId, Turn, window::Keep};
use gg_modules::{Access, CallError, History, Module, Note, Phase};
use gg_store::{InboxItem, InboxKind, Step};
use std::{
    collections::{BTreeMap, BTreeSet},
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
pub(super) async fn open_all(
    shared: &Shared,
    me: &Identity,
    links: &BTreeMap<String, Arc<SharedModule>>,
    lender: &Arc<Lender>,
) -> Result<Opened, Stop> {
    let history = open_history(&me.profile.history, lender).await?;
    let mut opened = Opened { history, modules: BTreeMap::new(), notes: Vec::new(), step: Step::new() };
    for kind in &me.profile.held {
        let fresh = open(shared, me, kind, links.get(&kind.kind)).await?;
        opened.notes.extend(fresh.note);
        if let Some(module) = fresh.to_hold {
            module.hold(&me.id, &mut opened.step);
        }
        opened.modules.insert(kind.kind.clone(), fresh.held);
    }
    Ok(opened)
}

/// A history with an empty window.
pub(super) async fn open_history(kind: &HeldKind, lender: &Arc<Lender>) -> Result<History, Stop> {
    let opened = History::open(&kind.component, &kind.settings, lender.clone()).await;
    opened.map_err(|error| not_opened(&kind.kind, error))
}

/// A module as a new agent gets it.
pub(super) struct Fresh {
    pub(super) held: Held,
    /// What its holder should know of it at once, beside what it says itself.
    pub(super) note: Option<Note>,
    /// What it is a part in, if that its holder holds it is still to go on record.
    pub(super) to_hold: Option<Arc<SharedModule>>,
}

/// Opens a module of a new agent, or takes its part in one that others hold: `link`, if its spawner has one for it.
pub(super) async fn open(
    shared: &Shared,
    me: &Identity,
    kind: &HeldKind,
    link: Option<&Arc<SharedModule>>,
) -> Result<Fresh, Stop> {
    let access = kind.scope.access();
    let linked = |module: Arc<SharedModule>| Held::linked(Link::new(module, me.id.clone()), access);
    match kind.scope {
        Scope::Inherited(_) if let Some(module) = link => {
            return Ok(Fresh { held: linked(module.clone()), note: None, to_hold: None });
        }
        Scope::Shared { persist } => {
            let module = shared.profile_modules.get(shared, &me.profile.id, kind, persist).await?;
            return Ok(Fresh { held: linked(module.clone()), note: None, to_hold: Some(module) });
        }
        Scope::Isolated | Scope::Inherited(_) => {}
    }
    let note = (access == Access::ReadOnly).then(|| Note {
        title: kind.component.descriptor().title.clone(),
        body: "You may only read what the agent that spawned you lends you, and you were lent nothing: it is empty, and \
               stays so."
            .into(),
    });
    let module = Module::open(&kind.component, &kind.settings).await;
    let module = module.map_err(|error| not_opened(&kind.kind, error))?;
    Ok(Fresh { held: Held::own(shared.store.next_module_id(), module, access), note, to_hold: None })
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
    /// Puts into the window what its new agent should know at once: of what is in the modules of these kinds, as they
    /// say, and `notes`.
    pub(super) async fn open_window(
        &mut self,
        turn: Turn,
        mut notes: Vec<Note>,
        kinds: &[String],
        keep: Keep,
    ) -> Result<(), Stop> {
        let context = self.context(turn, Phase::Now);
        let mut failed = Vec::new();
        for (kind, held) in self.modules.iter_mut().filter(|(kind, _)| kinds.contains(kind)) {
            match held.opening(&context).await {
                Ok(more) => notes.extend(more),
                Err(error) => failed.push((kind.clone(), error)),
            }
        }
        for (kind, error) in failed {
            self.module_failed(turn, &kind, &error);
        }
        let messages = notes.into_iter().map(|note| {
            let text = format!("{}\n{}", note.title, note.body);
            (Message::user(self.shared.store.next_message_id(), Origin::Opening, text), keep)
        });
        let messages: Vec<_> = messages.collect();
        if messages.is_empty() {
            return Ok(());
        }
        self.append(turn, messages).await
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
        let Begins::Fresh { links, .. } = &mut born.begins else { return };
        let kinds: Vec<String> = self.lent_to(&born.me.profile).map(|(kind, _)| kind.kind.clone()).collect();
        for kind in kinds {
            let Some(held) = self.modules.remove(&kind) else { continue };
            let held = held.shareable(&self.me.id, &mut self.step);
            if let Some(module) = held.shared() {
                module.hold(&born.me.id, &mut self.step);
                links.insert(kind.clone(), module.clone());
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
        self.history_place.record(self.history.module(), &self.me.id, &mut self.step);
        self.modules.values_mut().filter_map(|held| held.record(&self.me.id, &mut self.step)).collect()
    }

    /// Tells the other holders of what this agent changed, with this step. Their inboxes stay locked until it is
    /// committed, and are locked in the order of their ids.
    pub(super) async fn pass_notices(&mut self) {
        let mut texts: BTreeMap<AgentId, Vec<String>> = BTreeMap::new();
        for (others, text) in self.modules.values_mut().filter_map(Held::take_notices) {
            // Each lineage is told once, also one that is about to become another agent.
            let others: BTreeSet<AgentId> =
                others.iter().filter_map(|other| Some(self.shared.lineages.inbox(other)?.0)).collect();
            for other in others.into_iter().filter(|other| *other != self.me.lineage) {
                texts.entry(other).or_default().push(text.clone());
            }
        }
        for (agent, texts) in texts {
            let Some((_, inbox)) = self.shared.lineages.inbox(&agent) else { continue };
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
            let item = InboxItem { n, kind: InboxKind::Notice, from: Some(self.me.id.clone()), text };
            self.step.inbox_push(agent, item.clone());
            self.on_commit.sent.push((inbox, item));
        }
    }

    /// Lets go of what it holds with others, with this step; what is its own alone stays on record as it was last.
    pub(super) fn let_go_of_links(&mut self) {
        for module in self.modules.values().filter_map(Held::shared) {
            module.let_go(&self.me.id, &mut self.step);
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
            Self::Component => {
                f.write_str("others hold it too, and the next agent has another component for it")
            }
        }
    }
}
