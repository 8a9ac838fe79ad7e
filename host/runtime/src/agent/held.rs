//! What an agent holds of one kind: a module of its own, or its part in one that others hold too.
//!
//! A module that nobody else holds is simply the agent's. It becomes one that several may hold when another agent is
//! to have it as well ([`Held::shareable`]), and stays so. On record there is no difference: a module has an id and
//! holders, so moving, linking or dropping what is held here is a [`Step::hold`] and a [`Step::let_go`].

use super::shared_module::{Link, Lock, SharedModule, Write};
use crate::profile::HeldKind;
use gg_core::{AgentId, ModuleId, ProfileId};
use gg_modules::{Access, CallError, CallReply, Component, Context, Module, ModuleError, Note, Section};
use gg_store::{ModuleRecord, Step};
use serde_json::{Map, Value};
use std::sync::Arc;

/// One kind that an agent holds.
pub(crate) struct Held {
    /// What this holder may do, by its own profile.
    access: Access,
    holding: Holding,
}

enum Holding {
    Own(Box<Own>),
    Linked(Link),
}

/// A module that one agent holds alone.
struct Own {
    place: Place,
    module: Module,
}

/// Where a module that one agent holds alone is on record.
pub(crate) struct Place {
    pub(crate) id: ModuleId,
    /// The state on record; `None` before this holder's first.
    recorded: Option<Arc<[u8]>>,
}

impl Place {
    /// The place of a module that its holder has not put on record yet, though another may have.
    pub(crate) fn new(id: ModuleId) -> Self {
        Self { id, recorded: None }
    }

    /// Adds to `step` what of the module is not on record.
    pub(crate) fn record(&mut self, module: &Module, agent: &AgentId, step: &mut Step) {
        let state = module.state();
        // A module shares the bytes of a state that did not change.
        if self.recorded.as_ref().is_some_and(|recorded| Arc::ptr_eq(recorded, state)) {
            return;
        }
        step.module(record_of(self.id, None, module));
        if self.recorded.is_none() {
            step.hold(agent.clone(), self.id);
        }
        self.recorded = Some(state.clone());
    }
}

/// Why a call on something held did nothing.
#[derive(Debug)]
pub(crate) enum HeldError {
    /// The module refused, or failed.
    Call(CallError),
    /// What is kept for the workspace could not be read or written.
    Project(String),
    /// Others hold it too, in another component than its next holder's.
    Component,
}

impl From<CallError> for HeldError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl Held {
    /// A module of the agent's own, which is not on record yet.
    pub(crate) fn own(id: ModuleId, module: Module, access: Access) -> Self {
        Self { access, holding: Holding::Own(Box::new(Own { place: Place::new(id), module })) }
    }

    /// A part in a module that others hold too. That this agent holds it goes on record elsewhere.
    pub(crate) fn linked(link: Link, access: Access) -> Self {
        Self { access, holding: Holding::Linked(link) }
    }

    /// How large its state is, in bytes; nothing if others hold it too, for it stays where it is.
    pub(crate) fn bytes(&self) -> usize {
        match &self.holding {
            Holding::Own(own) => own.module.state().len(),
            Holding::Linked(_) => 0,
        }
    }

    /// What its holder may do.
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// What it runs in.
    pub(crate) fn component(&self) -> &Arc<Component> {
        match &self.holding {
            Holding::Own(own) => own.module.component(),
            Holding::Linked(link) => link.module().component(),
        }
    }

    /// Whether its changes are durable before the step that they belong to, and so act on the world.
    pub(crate) fn acts_outside(&self) -> bool {
        self.shared().is_some_and(|module| module.is_of_the_project())
    }

    /// The module, if others may hold it too.
    pub(crate) fn shared(&self) -> Option<&Arc<SharedModule>> {
        match &self.holding {
            Holding::Own(_) => None,
            Holding::Linked(link) => Some(link.module()),
        }
    }

    fn context(&self, context: &Context) -> Context {
        Context { access: self.access, ..context.clone() }
    }

    /// Runs a call. What it changed in a module that others hold stays locked until [`Held::record`] has it put on
    /// record.
    pub(crate) async fn call(
        &mut self,
        context: &Context,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallReply, HeldError> {
        let context = self.context(context);
        match &mut self.holding {
            Holding::Own(own) => Ok(own.module.call(&context, name, arguments).await?),
            Holding::Linked(link) => link.call(&context, name, arguments).await,
        }
    }

    /// Its part of the system prompt.
    pub(crate) async fn prompt(&mut self, context: &Context) -> Result<Vec<Section>, ModuleError> {
        let context = self.context(context);
        match &mut self.holding {
            Holding::Own(own) => own.module.prompt(&context).await,
            Holding::Linked(link) => link.prompt(&context).await,
        }
    }

    /// What its new holder should know of what others put into it.
    pub(crate) async fn opening(&mut self, context: &Context) -> Result<Vec<Note>, ModuleError> {
        let context = self.context(context);
        match &mut self.holding {
            Holding::Own(own) => own.module.opening(&context).await,
            Holding::Linked(link) => link.opening(&context).await,
        }
    }

    /// Lets the instance go, if nobody else uses it; the state stays.
    pub(crate) fn hibernate(&mut self) {
        match &mut self.holding {
            Holding::Own(own) => own.module.hibernate(),
            Holding::Linked(link) => link.sleep(),
        }
    }

    /// Adds to `step` what is not on record yet. What comes back is to be kept until the step is committed, and then
    /// told so ([`Write::committed`]); dropped before that, it takes the change back.
    pub(crate) fn record(&mut self, agent: &AgentId, step: &mut Step) -> Option<Write> {
        match &mut self.holding {
            Holding::Own(own) => {
                own.place.record(&own.module, agent, step);
                None
            }
            Holding::Linked(link) => link.record(step),
        }
    }

    /// What other holders are to be told since this was last asked, and who they are.
    pub(crate) fn take_notices(&mut self) -> Option<(Vec<AgentId>, String)> {
        match &mut self.holding {
            Holding::Own(_) => None,
            Holding::Linked(link) => link.take_notices(),
        }
    }

    /// The same, as one that other agents can hold as well. `agent` holds it now, and its state is on record with
    /// `step` at the latest.
    pub(crate) fn shareable(self, agent: &AgentId, step: &mut Step) -> Self {
        let Self { access, holding } = self;
        let holding = match holding {
            Holding::Own(mut own) => {
                own.place.record(&own.module, agent, step);
                let module = SharedModule::held_by(agent, own.place.id, own.module);
                Holding::Linked(Link::new(module, agent.clone()))
            }
            linked => linked,
        };
        Self { access, holding }
    }

    /// The same for `next`, an agent that this one becomes: what is in it, in that one's component and under its
    /// settings. Nothing of this one changes.
    ///
    /// A module that others hold as well stays as it is, and only the hold moves: its caps are everybody's.
    pub(crate) async fn hand_over(
        &self,
        agent: &AgentId,
        next: &AgentId,
        to: &HeldKind,
    ) -> Result<Self, HeldError> {
        let access = to.scope.access();
        let (id, state) = match &self.holding {
            Holding::Own(own) => (own.place.id, own.module.state().clone()),
            Holding::Linked(link) => match link.module().alone(agent).await {
                Some(state) => (link.module().id(), state),
                None if link.module().component().sha256() != to.component.sha256() => {
                    return Err(HeldError::Component);
                }
                None => return Ok(Self::linked(Link::new(link.module().clone(), next.clone()), access)),
            },
        };
        let mut module = Module::restore(&to.component, state).await.map_err(CallError::Failed)?;
        module.transfer(&to.settings).await.map_err(CallError::Failed)?;
        Ok(Self::own(id, module, access))
    }

    /// One like it, under the new `id`, for a copy of its holder. This one is not asked anything.
    pub(crate) async fn copy(&self, id: ModuleId) -> Result<Self, ModuleError> {
        let state = match &self.holding {
            Holding::Own(own) => own.module.state().clone(),
            Holding::Linked(link) => link.module().state().await,
        };
        let mut module = Module::restore(self.component(), state).await?;
        module.hibernate();
        Ok(Self::own(id, module, self.access))
    }

    /// Its holder no longer holds it, from `step` on.
    pub(crate) fn let_go(&self, agent: &AgentId, step: &mut Step) {
        match &self.holding {
            Holding::Own(own) => {
                step.let_go(agent.clone(), own.place.id);
            }
            Holding::Linked(link) => link.module().let_go(agent, step),
        }
    }

    /// Tells the module that nobody holds it any more, if that is so.
    pub(crate) async fn reset(self) -> Result<(), ModuleError> {
        match self.holding {
            Holding::Own(mut own) => own.module.reset().await,
            Holding::Linked(link) => link.module().reset().await,
        }
    }

    /// The digest of its state in the run's record, with the lock under which it is true. `None` for one whose state
    /// is not there.
    pub(crate) async fn digest(&self) -> Option<(String, Option<Lock>)> {
        match &self.holding {
            Holding::Own(own) => Some((own.module.digest(), None)),
            Holding::Linked(link) => {
                let (digest, lock) = link.module().digest().await?;
                Some((digest, Some(lock)))
            }
        }
    }
}

/// A module as it goes on record with its state.
pub(crate) fn record_of(id: ModuleId, profile: Option<ProfileId>, module: &Module) -> ModuleRecord {
    let component = module.component();
    ModuleRecord {
        id,
        kind: component.descriptor().kind.clone(),
        profile,
        component_sha256: component.sha256().to_owned(),
        state_format: component.descriptor().state_format.clone(),
        state: Some(module.state().clone()),
    }
}
