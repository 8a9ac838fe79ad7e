//! A component: code that can be instantiated, and what it says it is.

use crate::{
    code::Code,
    descriptor::{self, Descriptor},
    error::{Hook, LoadError, ModuleError},
    exchange::{Answer, Ask},
    live::{Live, Then, unexpected},
    schema::Schema,
};
use gg_core::{call::CallSpec, digest::sha256_hex};
use gg_sandbox::{Sandbox, Trust};
use std::{fmt, sync::Arc};

/// A component that fits the contract. It is shared by all modules made from it.
pub struct Component {
    code: Arc<Code>,
    sha256: String,
    is_history: bool,
    descriptor: Descriptor,
    schemas: Vec<Schema>,
}

impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component")
            .field("kind", &self.descriptor.kind)
            .field("sha256", &self.sha256)
            .field("trust", &self.trust())
            .finish_non_exhaustive()
    }
}

impl Component {
    /// Compares bytes with the contract, compiles them and asks the component what it is; `name` stands for
    /// it in errors until it has said so. Blocks, for seconds if the component is large and new.
    pub(crate) fn load(
        sandbox: &Arc<Sandbox>,
        name: &str,
        bytes: &[u8],
        trust: Trust,
    ) -> Result<Arc<Self>, LoadError> {
        let compiled = sandbox.compile(bytes, trust)?;
        let unnamed = Arc::new(Code::link(sandbox, &compiled, name)?);
        let described = describe(&unnamed)?;
        let checked = descriptor::check(described, compiled.world())?;
        let code = Code::link(sandbox, &compiled, &checked.descriptor.kind)?;
        Ok(Arc::new(Self {
            code: Arc::new(code),
            sha256: sha256_hex(bytes),
            is_history: compiled.world() == gg_sandbox::World::History,
            descriptor: checked.descriptor,
            schemas: checked.schemas,
        }))
    }

    /// What it is.
    pub fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The SHA-256 of its file, in lower-case hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Whether it makes histories.
    pub fn is_history(&self) -> bool {
        self.is_history
    }

    /// Whose code it is.
    pub fn trust(&self) -> Trust {
        self.code.trust()
    }

    pub(crate) fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// The call of this name, with its arguments' schema.
    pub(crate) fn call(&self, name: &str) -> Option<(&CallSpec, &Schema)> {
        let at = self.descriptor.calls.iter().position(|call| call.name == name)?;
        Some((self.descriptor.calls.get(at)?, self.schemas.get(at)?))
    }
}

/// Asks a fresh instance what it is, and throws it away.
fn describe(code: &Arc<Code>) -> Result<crate::bindings::types::Descriptor, ModuleError> {
    let outcome = match code.trust() {
        Trust::BuiltIn => Live::start(code, None)
            .map_err(|fault| code.error(Hook::Describe, fault))
            .and_then(|mut live| live.ask(code, &Ask::Describe, Then::Nothing))?,
        Trust::Stranger => {
            let shared = code.clone();
            let work = async move {
                let start = Live::start_pausing(&shared, None).await;
                let mut live = start.map_err(|fault| shared.error(Hook::Describe, fault))?;
                live.ask_pausing(&shared, &Ask::Describe, Then::Nothing).await
            };
            let done = code.sandbox.block_on_stranger_threads(work);
            done.map_err(|fault| code.error(Hook::Describe, fault))??
        }
    };
    match outcome.answer {
        Ok(Answer::Descriptor(descriptor)) => Ok(descriptor),
        Ok(_) => Err(code.error(Hook::Describe, unexpected())),
        Err(no) => Err(code.error(Hook::Describe, no)),
    }
}
