//! From bytes to a component that can be instantiated.

use crate::{
    child::compile_in_child,
    contract::{self, ContractError, World},
    guest::Trust,
    limits::Limit,
    sandbox::Sandbox,
};
use gg_core::text;
use thiserror::Error;
use wasmtime::{Engine, component::Component};

/// Why a component is not one that gg can run.
#[derive(Debug, Error)]
pub enum CompileError {
    /// It is not a component, or not one that fits the contract.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// It passes a limit.
    #[error("{}: {message}", limit.stopped())]
    Limit {
        /// Which.
        limit: Limit,
        /// More about it.
        message: String,
    },
    /// It is a component that fits, and its code is not valid, or needs more than a place has.
    #[error("it does not compile: {0}")]
    Invalid(String),
    /// The compiler's process failed, through no visible fault of the component.
    #[error("the compiler failed: {0}")]
    Compiler(String),
}

/// A component, ready to be instantiated.
#[derive(Clone)]
pub struct Compiled {
    component: Component,
    world: World,
    trust: Trust,
}

impl Compiled {
    /// What wasmtime instantiates.
    pub fn component(&self) -> &Component {
        &self.component
    }

    /// The world it fits.
    pub fn world(&self) -> World {
        self.world
    }

    /// Whose code it is.
    pub fn trust(&self) -> Trust {
        self.trust
    }
}

/// The most of a compiler's message that is passed on, in bytes.
const MESSAGE_BYTES: usize = 2 * 1024;

impl Sandbox {
    /// Compares a component with the contract and compiles it. A stranger's is compiled by a child process
    /// first, if [`SandboxOptions::compiler`](crate::SandboxOptions::compiler) names one. This takes seconds
    /// for a large component that is not in the cache, and blocks.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn compile(&self, bytes: &[u8], trust: Trust) -> Result<Compiled, CompileError> {
        let limits = self.limits();
        if bytes.len() > limits.component_bytes {
            return Err(CompileError::Limit {
                limit: Limit::ComponentSize,
                message: format!("it has {} bytes, and {} are allowed", bytes.len(), limits.component_bytes),
            });
        }
        let world = contract::check(bytes)?;
        if let (Trust::Stranger, Some(compiler)) = (trust, &self.options.compiler) {
            compile_in_child(compiler, self.options.cache_dir.as_deref(), limits, bytes)?;
        }
        let component = compile_with(&self.engine, bytes)?;
        Ok(Compiled { component, world, trust })
    }
}

pub(crate) fn compile_with(engine: &Engine, bytes: &[u8]) -> Result<Component, CompileError> {
    Component::from_binary(engine, bytes)
        .map_err(|error| CompileError::Invalid(text::cut(&format!("{error:#}"), MESSAGE_BYTES).to_owned()))
}
