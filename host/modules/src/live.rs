//! A live instance: a store, what wasmtime calls through, and the calls.

use crate::{
    bindings::{direct, pausing},
    code::{Code, ExportIndices},
    error::{Hook, ModuleError, ModuleErrorKind},
    exchange::{Answer, Ask, Declined, put},
    messages::{Lending, Messages},
};
use gg_sandbox::{Fault, Guest, Limit, Limits, Stay};
use std::{sync::Arc, time::Duration};
use wasmtime::component::Instance;

/// One instance in its store. After an error of the kind `Stopped` or `Answer` it is not to be used again.
pub(crate) struct Live {
    guest: Guest<Lending>,
    exports: Exports,
}

/// What is called, by how it is called.
enum Exports {
    Direct {
        base: direct::module::Module,
        window: Option<direct::history::exports::gg::module::window::Guest>,
    },
    Pausing {
        base: pausing::module::Module,
        window: Option<pausing::history::exports::gg::module::window::Guest>,
    },
}

/// Whether the state is to be written out after a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It cannot have changed.
    Nothing,
    /// It may have changed.
    Save,
}

/// An answer, and the state after it where that was asked for.
pub(crate) struct Outcome {
    pub(crate) answer: Result<Answer, Declined>,
    pub(crate) state: Option<Vec<u8>>,
}

impl Live {
    /// Whether it has to be dropped after one use.
    pub(crate) fn stay(&self) -> Stay {
        self.guest.stay()
    }

    /// An instance of a built-in component, without a state.
    pub(crate) fn start(code: &Code, messages: Option<Arc<dyn Messages>>) -> Result<Self, Fault> {
        let mut guest = code.sandbox.built_in_guest(Lending(messages))?;
        guest.begin(code.sandbox.limits().hook_deadline);
        match Exports::start(&mut guest, code) {
            Ok(exports) => Ok(Self { guest, exports }),
            Err(error) => Err(guest.fault(&error)),
        }
    }

    /// The same for a stranger's; to be called on the strangers' threads.
    pub(crate) async fn start_pausing(
        code: &Code,
        messages: Option<Arc<dyn Messages>>,
    ) -> Result<Self, Fault> {
        let mut guest = code.sandbox.stranger_guest(Lending(messages)).await?;
        guest.begin(code.sandbox.limits().hook_deadline);
        match Exports::start_pausing(&mut guest, code).await {
            Ok(exports) => Ok(Self { guest, exports }),
            Err(error) => Err(guest.fault(&error)),
        }
    }

    /// Asks, and then has the state written out if that is wanted and the answer was not an error.
    pub(crate) fn ask(&mut self, code: &Code, ask: &Ask, then: Then) -> Result<Outcome, ModuleError> {
        let limits = code.sandbox.limits();
        let answer = self.put(limits, ask).map_err(|fault| code.error(ask.hook(), fault))?;
        if then == Then::Nothing || answer.is_err() {
            return Ok(Outcome { answer, state: None });
        }
        let saved = self.put(limits, &Ask::Clone).map_err(|fault| code.error(Hook::Clone, fault))?;
        let state = state_of(saved, limits).map_err(|kind| code.error(Hook::Clone, kind))?;
        Ok(Outcome { answer, state: Some(state) })
    }

    /// The same for a stranger's.
    pub(crate) async fn ask_pausing(
        &mut self,
        code: &Code,
        ask: &Ask,
        then: Then,
    ) -> Result<Outcome, ModuleError> {
        let limits = code.sandbox.limits();
        let answer = self.put_pausing(limits, ask).await.map_err(|fault| code.error(ask.hook(), fault))?;
        if then == Then::Nothing || answer.is_err() {
            return Ok(Outcome { answer, state: None });
        }
        let saved = self.put_pausing(limits, &Ask::Clone).await;
        let saved = saved.map_err(|fault| code.error(Hook::Clone, fault))?;
        let state = state_of(saved, limits).map_err(|kind| code.error(Hook::Clone, kind))?;
        Ok(Outcome { answer, state: Some(state) })
    }

    fn put(&mut self, limits: &Limits, ask: &Ask) -> Result<Result<Answer, Declined>, Fault> {
        self.guest.begin(allowance(limits, ask));
        let Exports::Direct { base, window } = &self.exports else {
            return Err(wrong_way());
        };
        let store = self.guest.store();
        let call = || -> wasmtime::Result<Result<Answer, Declined>> { Ok(put!(base, window, store, ask)) };
        call().map_err(|error| self.guest.fault(&error))
    }

    async fn put_pausing(&mut self, limits: &Limits, ask: &Ask) -> Result<Result<Answer, Declined>, Fault> {
        self.guest.begin(allowance(limits, ask));
        let Exports::Pausing { base, window } = &self.exports else {
            return Err(wrong_way());
        };
        let store = self.guest.store();
        let call = async { wasmtime::Result::Ok(put!(base, window, store, ask, await)) };
        call.await.map_err(|error| self.guest.fault(&error))
    }
}

impl Exports {
    fn start(guest: &mut Guest<Lending>, code: &Code) -> wasmtime::Result<Self> {
        let instance = code.pre.instantiate(guest.store())?;
        Self::load(guest, code, &instance)
    }

    async fn start_pausing(guest: &mut Guest<Lending>, code: &Code) -> wasmtime::Result<Self> {
        let instance = code.pre.instantiate_async(guest.store()).await?;
        Self::load(guest, code, &instance)
    }

    fn load(guest: &mut Guest<Lending>, code: &Code, instance: &Instance) -> wasmtime::Result<Self> {
        Ok(match &code.exports {
            ExportIndices::Direct { base, window } => Self::Direct {
                base: base.load(guest.store(), instance)?,
                window: window.as_ref().map(|window| window.load(guest.store(), instance)).transpose()?,
            },
            ExportIndices::Pausing { base, window } => Self::Pausing {
                base: base.load(guest.store(), instance)?,
                window: window.as_ref().map(|window| window.load(guest.store(), instance)).transpose()?,
            },
        })
    }
}

/// How long a question may take.
fn allowance(limits: &Limits, ask: &Ask) -> Duration {
    match ask {
        Ask::Call { .. } => limits.call_deadline,
        _ => limits.hook_deadline,
    }
}

/// The bytes that `clone` gave, if they are a state.
fn state_of(saved: Result<Answer, Declined>, limits: &Limits) -> Result<Vec<u8>, ModuleErrorKind> {
    match saved {
        Ok(Answer::State(state)) if state.len() <= limits.state_bytes => Ok(state),
        Ok(Answer::State(state)) => Err(ModuleErrorKind::Stopped {
            limit: Limit::StateSize,
            message: format!("its state has {} bytes, and {} are allowed", state.len(), limits.state_bytes),
        }),
        Ok(_) => Err(unexpected()),
        Err(no) => Err(no.into()),
    }
}

/// For an answer that is not the question's. The types rule it out; an error is better than a panic all the
/// same.
pub(crate) fn unexpected() -> ModuleErrorKind {
    ModuleErrorKind::Other("gg asked one thing and read the answer to another".into())
}

fn wrong_way() -> Fault {
    Fault::stopped(Limit::Trap, "gg called a component in the wrong way")
}
