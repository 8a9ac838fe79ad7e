//! Code that can be instantiated, with everything that its instances need and are bounded by.

use crate::{
    bindings::{direct, messages, pausing},
    error::{Hook, LoadError, ModuleError, ModuleErrorKind},
    messages::{HasLending, Lending},
};
use gg_sandbox::{Compiled, Sandbox, Tenant, Trust, World};
use std::sync::Arc;
use wasmtime::component::InstancePre;

/// What instances are made from.
pub(crate) struct Code {
    pub(crate) sandbox: Arc<Sandbox>,
    pub(crate) pre: InstancePre<Tenant<Lending>>,
    pub(crate) exports: ExportIndices,
    /// What it is called in errors: its kind, once that is known.
    pub(crate) name: String,
}

/// Where the exports are, looked up once.
pub(crate) enum ExportIndices {
    /// For calls on the caller's thread.
    Direct {
        base: direct::module::ModuleIndices,
        window: Option<direct::history::exports::gg::module::window::GuestIndices>,
    },
    /// For calls that may pause.
    Pausing {
        base: pausing::module::ModuleIndices,
        window: Option<pausing::history::exports::gg::module::window::GuestIndices>,
    },
}

impl Code {
    /// Links a component, named for errors until its kind is known.
    pub(crate) fn link(sandbox: &Arc<Sandbox>, compiled: &Compiled, name: &str) -> Result<Self, LoadError> {
        let link = |error: wasmtime::Error| LoadError::Link(format!("{error:#}"));
        let mut linker = sandbox.linker::<Lending>();
        messages::add_to_linker::<_, HasLending>(&mut linker, |tenant| tenant).map_err(link)?;
        let pre = linker.instantiate_pre(compiled.component()).map_err(link)?;
        let has_window = compiled.world() == World::History;
        let exports = match compiled.trust() {
            Trust::BuiltIn => {
                use direct::{history::exports::gg::module::window::GuestIndices, module::ModuleIndices};
                ExportIndices::Direct {
                    base: ModuleIndices::new(&pre).map_err(link)?,
                    window: has_window.then(|| GuestIndices::new(&pre)).transpose().map_err(link)?,
                }
            }
            Trust::Stranger => {
                use pausing::{history::exports::gg::module::window::GuestIndices, module::ModuleIndices};
                ExportIndices::Pausing {
                    base: ModuleIndices::new(&pre).map_err(link)?,
                    window: has_window.then(|| GuestIndices::new(&pre)).transpose().map_err(link)?,
                }
            }
        };
        Ok(Self { sandbox: sandbox.clone(), pre, exports, name: name.to_owned() })
    }

    /// Whose code it is.
    pub(crate) fn trust(&self) -> Trust {
        match self.exports {
            ExportIndices::Direct { .. } => Trust::BuiltIn,
            ExportIndices::Pausing { .. } => Trust::Stranger,
        }
    }

    /// An error of this code.
    pub(crate) fn error(&self, hook: Hook, kind: impl Into<ModuleErrorKind>) -> ModuleError {
        ModuleError { module: self.name.clone(), hook, kind: kind.into() }
    }
}
