//! A module that several agents hold.
//!
//! Its content has a lock. Who changes it keeps the lock from the call until the step with the change is committed,
//! so nobody works from a state that is not on record, and no change is lost; if the step is not committed, the
//! change is taken back. A state that is kept with the project is the exception: it is on disk when the call
//! answers, by comparing and trying again, because other processes hold it too.
//!
//! Whoever holds a module's lock may wait for inboxes, in the order of the agents' ids; nobody who holds an inbox
//! waits for a module.

use super::held::{HeldError, record_of};
use gg_core::{AgentId, ModuleId, ProfileId};
use gg_modules::{CallReply, Component, Context, Module, ModuleError, Note, Section};
use gg_store::{Kept, ModuleRecord, ProjectError, ProjectModule, ProjectStore, Saved, Step};
use serde_json::{Map, Value};
use std::{
    collections::BTreeSet,
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::OwnedMutexGuard;

/// How often a change of a project's module is worked out again because another run came first. Each time somebody
/// else got on, so even among ten runs that do nothing else, one in a thousand changes would need more.
const MAX_CONFLICTS: u32 = 64;

/// A module that any number of agents hold.
pub(crate) struct SharedModule {
    id: ModuleId,
    component: Arc<Component>,
    home: Home,
    holders: Mutex<Holders>,
    /// How many holders may use its instance soon. It is let go when there are none.
    awake: AtomicUsize,
    content: Arc<tokio::sync::Mutex<Content>>,
}

/// Where its state is durable.
enum Home {
    /// In the run's record, for this profile or for its holders.
    Run(Option<ProfileId>),
    /// With the project, for this profile.
    Project { store: ProjectStore, profile: ProfileId, settings: Value },
}

#[derive(Default)]
struct Holders {
    /// Those that hold it on record, also those that wait for their first turn.
    on_record: BTreeSet<AgentId>,
    /// Those that are told of changes.
    told: BTreeSet<AgentId>,
}

/// What is behind the lock.
pub(crate) struct Content {
    module: Module,
    /// The project's version of it; 0 before the first, and in a run.
    version: u64,
}

/// The content, locked.
pub(crate) type Lock = OwnedMutexGuard<Content>;

impl SharedModule {
    fn new(id: ModuleId, home: Home, module: Module, version: u64) -> Self {
        Self {
            id,
            component: module.component().clone(),
            home,
            holders: Mutex::default(),
            awake: AtomicUsize::new(0),
            content: Arc::new(tokio::sync::Mutex::new(Content { module, version })),
        }
    }

    /// One that an agent held alone until now, on record.
    pub(crate) fn held_by(agent: &AgentId, id: ModuleId, module: Module) -> Arc<Self> {
        let shared = Self::new(id, Home::Run(None), module, 0);
        shared.holders().on_record.insert(agent.clone());
        Arc::new(shared)
    }

    /// A fresh one of a profile, which lives in the run to its end. It is on record with `step`.
    pub(crate) async fn of_profile(
        id: ModuleId,
        profile: &ProfileId,
        component: &Arc<Component>,
        settings: &Value,
        step: &mut Step,
    ) -> Result<Arc<Self>, ModuleError> {
        let module = Module::open(component, settings).await?;
        step.module(record_of(id, Some(profile.clone()), &module));
        Ok(Arc::new(Self::new(id, Home::Run(Some(profile.clone())), module, 0)))
    }

    /// The one of a profile that is kept with the project. That there is one is on record with `step`, and its state
    /// never is.
    pub(crate) async fn of_project(
        id: ModuleId,
        profile: &ProfileId,
        component: &Arc<Component>,
        settings: &Value,
        store: ProjectStore,
        step: &mut Step,
    ) -> Result<Arc<Self>, HeldError> {
        let module = Module::open(component, settings).await.map_err(gg_modules::CallError::Failed)?;
        step.module(ModuleRecord { state: None, ..record_of(id, Some(profile.clone()), &module) });
        let home = Home::Project { store, profile: profile.clone(), settings: settings.clone() };
        let shared = Self::new(id, home, module, 0);
        shared.refresh(&mut *shared.content.lock().await).await?;
        Ok(Arc::new(shared))
    }

    /// What it runs in.
    pub(crate) fn component(&self) -> &Arc<Component> {
        &self.component
    }

    /// Whether it is the one that all agents of this profile have.
    pub(crate) fn is_of_profile(&self, profile: &ProfileId) -> bool {
        match &self.home {
            Home::Run(owner) => owner.as_ref() == Some(profile),
            Home::Project { profile: owner, .. } => owner == profile,
        }
    }

    /// Its id in the run.
    pub(crate) fn id(&self) -> ModuleId {
        self.id
    }

    /// What is in it, as it is on record.
    pub(crate) async fn state(&self) -> Arc<[u8]> {
        self.content.lock().await.module.state().clone()
    }

    /// What is in it, if `agent` alone holds it and it is no profile's.
    pub(crate) async fn alone(&self, agent: &AgentId) -> Option<Arc<[u8]>> {
        let is_alone = {
            let holders = self.holders();
            matches!(self.home, Home::Run(None)) && holders.on_record.iter().eq([agent])
        };
        if is_alone { Some(self.state().await) } else { None }
    }

    /// Tells the module that nobody holds it any more, if that is so.
    pub(crate) async fn reset(&self) -> Result<(), ModuleError> {
        if matches!(self.home, Home::Run(None)) && self.holders().on_record.is_empty() {
            return self.content.lock().await.module.reset().await;
        }
        Ok(())
    }

    /// Whether its state is kept with the project.
    pub(crate) fn is_of_the_project(&self) -> bool {
        matches!(self.home, Home::Project { .. })
    }

    /// An agent holds it from `step` on.
    pub(crate) fn hold(&self, agent: &AgentId, step: &mut Step) {
        step.hold(agent.clone(), self.id);
        self.holders().on_record.insert(agent.clone());
    }

    /// An agent that holds it, if it still does, no longer does from `step` on.
    pub(crate) fn let_go(&self, agent: &AgentId, step: &mut Step) {
        if self.holders().on_record.remove(agent) {
            step.let_go(agent.clone(), self.id);
        }
    }

    /// The digest of the state in the run's record, with the lock under which it is true.
    pub(crate) async fn digest(&self) -> Option<(String, Lock)> {
        if self.is_of_the_project() {
            return None;
        }
        let content = self.content.clone().lock_owned().await;
        Some((content.module.digest(), content))
    }

    /// Runs a call, and makes its change durable if that is to be done at once.
    async fn call(
        &self,
        content: &mut Content,
        context: &Context,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallReply, HeldError> {
        if !self.is_of_the_project() {
            return Ok(content.module.call(context, name, arguments).await?);
        }
        for _ in 0..MAX_CONFLICTS {
            self.refresh(content).await?;
            let before = content.module.state().clone();
            let reply = content.module.call(context, name, arguments).await?;
            if Arc::ptr_eq(&before, content.module.state()) {
                return Ok(reply);
            }
            match self.save(content).await {
                Ok(Saved::As(version)) => {
                    content.version = version;
                    return Ok(reply);
                }
                Ok(Saved::Conflict) => content.module.restore_to(before),
                Err(error) => {
                    content.module.restore_to(before);
                    return Err(error);
                }
            }
        }
        Err(HeldError::Project("other runs keep changing it; try again".into()))
    }

    /// Takes over what another run has saved since.
    async fn refresh(&self, content: &mut Content) -> Result<(), HeldError> {
        let Home::Project { store, profile, settings } = &self.home else { return Ok(()) };
        let kind = self.component.descriptor().kind.clone();
        let (store, profile, known) = (store.clone(), profile.clone(), content.version);
        let loaded = off_thread(move || store.load(&profile, &kind, known)).await?;
        let (version, kept) = match loaded {
            Kept::AsKnown => return Ok(()),
            // Somebody has moved the database away: what is known here goes into a new one.
            Kept::Nothing => {
                content.version = 0;
                return Ok(());
            }
            Kept::Changed { version, module } => (version, module),
        };
        let format = &self.component.descriptor().state_format;
        if kept.state_format != *format {
            return Err(HeldError::Project(format!(
                "what is kept has the format {:?}, and this component's is {format:?}",
                kept.state_format
            )));
        }
        // Its caps are those of whoever saved it last; here this run's count.
        let mut module = Module::restore(&self.component, kept.state).await.map_err(failed)?;
        module.transfer(settings).await.map_err(failed)?;
        *content = Content { module, version };
        Ok(())
    }

    async fn save(&self, content: &Content) -> Result<Saved, HeldError> {
        let Home::Project { store, profile, .. } = &self.home else { return Ok(Saved::As(0)) };
        let descriptor = self.component.descriptor();
        let module = ProjectModule {
            component_sha256: self.component.sha256().to_owned(),
            state_format: descriptor.state_format.clone(),
            state: content.module.state().clone(),
        };
        let (store, profile, kind) = (store.clone(), profile.clone(), descriptor.kind.clone());
        let expected = content.version;
        off_thread(move || store.save(&profile, &kind, expected, &module)).await
    }

    fn holders(&self) -> std::sync::MutexGuard<'_, Holders> {
        // Each change is whole after every statement, so a poisoned lock still holds a sound table.
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed(error: ModuleError) -> HeldError {
    HeldError::Call(gg_modules::CallError::Failed(error))
}

/// The project's database blocks while another process writes.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ProjectError> + Send + 'static,
) -> Result<T, HeldError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| HeldError::Project(error.to_string())),
        Err(lost) => Err(HeldError::Project(lost.to_string())),
    }
}

/// One agent's part in a module that others hold too.
pub(crate) struct Link {
    module: Arc<SharedModule>,
    agent: AgentId,
    awake: bool,
    /// What this agent changed, and is not on record yet.
    write: Option<Write>,
    /// What others are to be told of that.
    notices: Vec<String>,
}

/// A change that is not on record yet, with the lock that it was made under.
pub(crate) struct Write {
    content: Lock,
    /// The state to go back to, and the project's version of it.
    before: (Arc<[u8]>, u64),
}

impl Link {
    /// The part of an agent that is told of others' changes from now on.
    pub(crate) fn new(module: Arc<SharedModule>, agent: AgentId) -> Self {
        module.holders().told.insert(agent.clone());
        Self { module, agent, awake: false, write: None, notices: Vec::new() }
    }

    /// What it is a part in.
    pub(crate) fn module(&self) -> &Arc<SharedModule> {
        &self.module
    }

    /// See [`super::held::Held::call`].
    pub(crate) async fn call(
        &mut self,
        context: &Context,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallReply, HeldError> {
        let mut write = self.lock().await;
        let reply = self.module.call(&mut write.content, context, name, arguments).await;
        if self.module.is_of_the_project() {
            // What it holds now is on disk.
            write.committed();
        } else if write.is_a_change() {
            self.write = Some(write);
        }
        let mut reply = reply?;
        self.notices.append(&mut reply.notices);
        Ok(reply)
    }

    /// Its part of the system prompt.
    pub(crate) async fn prompt(&mut self, context: &Context) -> Result<Vec<Section>, ModuleError> {
        let mut write = self.lock().await;
        // What cannot be read now is told by the next call; the prompt says what was known last.
        let _ = self.module.refresh(&mut write.content).await;
        let sections = write.content.module.prompt(context).await;
        self.keep(write);
        sections
    }

    /// What a new holder should know at once.
    pub(crate) async fn opening(&mut self, context: &Context) -> Result<Vec<Note>, ModuleError> {
        let mut write = self.lock().await;
        let notes = write.content.module.opening(context).await;
        self.keep(write);
        notes
    }

    /// The content, with what this agent changed already.
    async fn lock(&mut self) -> Write {
        if !mem::replace(&mut self.awake, true) {
            self.module.awake.fetch_add(1, Ordering::Relaxed);
        }
        match self.write.take() {
            Some(write) => write,
            None => Write::new(self.module.content.clone().lock_owned().await),
        }
    }

    fn keep(&mut self, write: Write) {
        if self.module.is_of_the_project() {
            write.committed();
        } else if write.is_a_change() {
            self.write = Some(write);
        }
    }

    /// Will not use the instance for a while. The last to say so lets it go.
    pub(crate) fn sleep(&mut self) {
        if mem::replace(&mut self.awake, false)
            && self.module.awake.fetch_sub(1, Ordering::Relaxed) == 1
            && let Ok(mut content) = self.module.content.try_lock()
        {
            content.module.hibernate();
        }
    }

    /// See [`super::held::Held::record`].
    pub(crate) fn record(&mut self, step: &mut Step) -> Option<Write> {
        let write = self.write.take()?;
        if let Home::Run(profile) = &self.module.home {
            step.module(record_of(self.module.id, profile.clone(), &write.content.module));
        }
        Some(write)
    }

    /// See [`super::held::Held::take_notices`].
    pub(crate) fn take_notices(&mut self) -> Option<(Vec<AgentId>, String)> {
        let notices = mem::take(&mut self.notices);
        if notices.is_empty() {
            return None;
        }
        let others =
            self.module.holders().told.iter().filter(|agent| **agent != self.agent).cloned().collect();
        Some((others, notices.join("\n")))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // What was not put on record is taken back first, and unlocks the content.
        self.write = None;
        self.sleep();
        self.module.holders().told.remove(&self.agent);
    }
}

impl Write {
    fn new(content: Lock) -> Self {
        let before = content.as_it_stands();
        Self { content, before }
    }

    fn is_a_change(&self) -> bool {
        !Arc::ptr_eq(&self.before.0, self.content.module.state())
    }

    /// The change is on record. The lock is let go.
    pub(crate) fn committed(mut self) {
        self.before = self.content.as_it_stands();
    }
}

impl Content {
    fn as_it_stands(&self) -> (Arc<[u8]>, u64) {
        (self.module.state().clone(), self.version)
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if self.is_a_change() {
            let (state, version) = self.before.clone();
            self.content.module.restore_to(state);
            self.content.version = version;
        }
    }
}

#[cfg(test)]
mod tests;
