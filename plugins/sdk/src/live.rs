//! A module while it lives in an instance.

use crate::{
    Access, Call, CallError, Changes, Context, Cx, Descriptor, Entry, Error, History, Messages, Module, Note,
    Phase, Reply, Section, Segment, Settings, Summary, state,
};
use gg_world_module::gg::module::types::{CallSpec, Feature as FeatureSpec};
use std::cell::RefCell;

/// A state with the settings it was made under, and the hooks of the contract.
pub struct Live<M: Module> {
    header: Vec<u8>,
    settings: Settings<M::Params>,
    state: M,
    calls: Vec<Call<M>>,
}

impl<M: Module> Live<M> {
    /// What the component is.
    pub fn describe() -> Descriptor {
        Descriptor {
            kind: M::KIND.into(),
            title: M::TITLE.into(),
            calls: M::calls()
                .iter()
                .map(|call| CallSpec {
                    name: call.name.into(),
                    description: call.description.into(),
                    parameters: (call.parameters)().to_string(),
                    effect: call.effect().word().into(),
                    feature: call.feature.map(Into::into),
                })
                .collect(),
            params: M::params().to_string(),
            features: M::features()
                .into_iter()
                .map(|feature| FeatureSpec {
                    name: feature.name.into(),
                    description: feature.description.into(),
                    enabled: feature.enabled,
                })
                .collect(),
            state_format: M::STATE_FORMAT.into(),
        }
    }

    fn new(settings: Settings<M::Params>, state: M) -> Result<Self, Error> {
        Ok(Self { header: state::header::<M>(&settings)?, settings, state, calls: M::calls() })
    }

    /// A fresh and empty state under these settings.
    ///
    /// # Errors
    /// [`Error::Settings`] if they cannot be honoured.
    pub fn open(settings: &str) -> Result<Self, Error> {
        Self::new(checked::<M>(settings)?, M::default())
    }

    /// The state that [`save`](Self::save) gave as bytes.
    ///
    /// # Errors
    /// [`Error::State`] if they are not of this format.
    pub fn restore(bytes: &[u8]) -> Result<Self, Error> {
        let (settings, state) = state::read(bytes)?;
        Self::new(settings, state)
    }

    /// The state and its settings as canonical bytes.
    ///
    /// # Errors
    /// If the state cannot be written.
    pub fn save(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = self.state.save()?;
        // In place where there is room: a large state is not copied once more.
        bytes.splice(0..0, self.header.iter().copied());
        Ok(bytes)
    }

    /// This state now serves another holder.
    ///
    /// # Errors
    /// [`Error::Settings`], or what the module says. Nothing has changed then.
    pub fn transfer(&mut self, settings: &str) -> Result<(), Error> {
        let settings = checked::<M>(settings)?;
        let mut state = self.state.clone();
        state.transferred(&settings)?;
        *self = Self::new(settings, state)?;
        Ok(())
    }

    /// Lets everything go. The settings stay.
    pub fn reset(&mut self) {
        self.state = M::default();
    }

    /// Runs a call. After an error the state is what it was.
    ///
    /// # Errors
    /// What the call says, or that there is no such call.
    pub fn call(
        &mut self,
        context: &Context,
        messages: &dyn Messages,
        name: &str,
        arguments: &str,
    ) -> Result<Reply, CallError> {
        let Some(call) = self.calls.iter().find(|call| call.name == name) else {
            let known: Vec<&str> = self.calls.iter().map(|call| call.name).collect();
            return Err(CallError::refused(format!("There is no `{name}` here, but {}.", known.join(", "))));
        };
        call.run(&mut self.state, &moment(context, &self.settings, messages), arguments)
    }

    /// Its part of the system prompt.
    pub fn prompt(&self, context: &Context, messages: &dyn Messages) -> Vec<Section> {
        self.state.prompt(&moment(context, &self.settings, messages))
    }

    /// What a new holder should know at once.
    pub fn opening(&self, context: &Context, messages: &dyn Messages) -> Vec<Note> {
        self.state.opening(&moment(context, &self.settings, messages))
    }
}

impl<H: History> Live<H> {
    /// Adds to the end.
    ///
    /// # Errors
    /// What the history says. Nothing has changed then.
    pub fn append(
        &mut self,
        context: &Context,
        messages: &dyn Messages,
        entries: Vec<Entry>,
    ) -> Result<(), Error> {
        self.state.append(&moment(context, &self.settings, messages), entries)
    }

    /// What changed since a revision.
    pub fn entries(&self, context: &Context, messages: &dyn Messages, since: u64) -> Changes {
        self.state.entries(&moment(context, &self.settings, messages), since)
    }

    /// What to summarise.
    pub fn fold(
        &self,
        context: &Context,
        messages: &dyn Messages,
        budget: u64,
        keep_turns: u32,
    ) -> Vec<Segment> {
        self.state.fold(&moment(context, &self.settings, messages), budget, keep_turns)
    }

    /// Replaces segments by their summaries.
    ///
    /// # Errors
    /// What the history says. Nothing has changed then.
    pub fn folded(
        &mut self,
        context: &Context,
        messages: &dyn Messages,
        summaries: Vec<Summary>,
    ) -> Result<(), Error> {
        self.state.folded(&moment(context, &self.settings, messages), summaries)
    }
}

fn checked<M: Module>(settings: &str) -> Result<Settings<M::Params>, Error> {
    let settings = Settings::parse(settings, &M::features()).map_err(Error::Settings)?;
    M::check(&settings).map_err(Error::Settings)?;
    Ok(settings)
}

fn moment<'a, P>(context: &'a Context, settings: &'a Settings<P>, messages: &'a dyn Messages) -> Cx<'a, P> {
    Cx {
        agent: &context.agent,
        turn: context.turn,
        now_ms: context.now_ms,
        access: Access::parse(&context.access),
        phase: Phase::parse(&context.phase),
        salt: context.salt,
        settings,
        messages,
    }
}

/// Where an instance keeps its one module. For the export macros.
#[doc(hidden)]
pub struct Slot<M: Module>(RefCell<Option<Live<M>>>);

impl<M: Module> Slot<M> {
    pub const fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// Puts a module in, if it could be made.
    pub fn fill(&self, made: Result<Live<M>, Error>) -> Result<(), Error> {
        let live = made?;
        *self.0.try_borrow_mut().map_err(|_| busy())? = Some(live);
        Ok(())
    }

    pub fn look<T>(&self, look: impl FnOnce(&Live<M>) -> T) -> Result<T, Error> {
        let slot = self.0.try_borrow().map_err(|_| busy())?;
        slot.as_ref().map(look).ok_or_else(empty)
    }

    pub fn change<T>(&self, change: impl FnOnce(&mut Live<M>) -> T) -> Result<T, Error> {
        let mut slot = self.0.try_borrow_mut().map_err(|_| busy())?;
        slot.as_mut().map(change).ok_or_else(empty)
    }
}

impl<M: Module> Default for Slot<M> {
    fn default() -> Self {
        Self::new()
    }
}

fn empty() -> Error {
    Error::Request("nothing was opened or restored yet".into())
}

fn busy() -> Error {
    Error::Request("another hook is still running".into())
}

#[cfg(test)]
mod tests;
