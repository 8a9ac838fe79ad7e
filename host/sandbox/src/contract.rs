//! Whether a component fits the contract, decided from its type alone, before anything of it is compiled.
//!
//! The contract is the text of `wit/gg-module`, parsed here; a component carries its own type, which is
//! decoded and compared, interface by interface and function by function. The answer names everything that
//! does not fit, in the contract's own words.

mod diff;
mod shape;

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
};
use thiserror::Error;
use wit_component::{DecodedWasm, decode};
use wit_parser::{Resolve, WorldId};

/// The contract's text: the version that this gg speaks.
pub const MODULE_WIT: &str = include_str!("../../../wit/gg-module/0.1.0/module.wit");

/// The contract's package, without its version.
const PACKAGE: &str = "gg:module";

/// A world of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum World {
    /// A component of any kind but `history`.
    Module,
    /// A component of the kind `history`.
    History,
}

impl World {
    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::History => "history",
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why bytes are not a component that fits the contract.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContractError {
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    /// It is text.
    #[error("it is a text file, not a WebAssembly component; compile it first")]
    Text,
    /// It is WebAssembly, and not a component.
    #[error(
        "it is a core WebAssembly module, not a component; make it one with `wasm-tools component new`, or with \
         a toolchain that targets components"
    )]
    CoreModule,
    /// It is an interface's description.
    #[error("it is a WIT package encoded as WebAssembly: a description, without code")]
    WitPackage,
    /// It is something else.
    #[error("it is not a WebAssembly component: {0}")]
    Unknown(String),
    /// It is a component, and does not fit.
    #[error(transparent)]
    Mismatch(Box<Mismatch>),
    /// The contract built into gg cannot be read: gg itself is broken.
    #[error("gg's own contract cannot be read: {0}")]
    Own(String),
}

/// All that keeps a component from fitting a world of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The world it was compared with: the one that it comes closest to.
    pub world: World,
    /// The version of the contract that this gg speaks.
    pub wanted: String,
    /// The versions of the contract that the component names; none where it names none at all.
    pub built_for: Vec<String>,
    /// What does not fit, in the contract's order; imports last.
    pub problems: Vec<Difference>,
}

/// One thing that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Difference {
    /// A whole interface is not exported.
    #[error("it does not export `{0}`")]
    MissingInterface(String),
    /// An interface is exported under another version only.
    #[error("it exports `{found}`, and gg wants `{wanted}`")]
    Version {
        /// What gg wants.
        wanted: String,
        /// What it has.
        found: String,
    },
    /// A function is not exported.
    #[error("`{interface}` lacks `{function}`, wanted as `{wanted}`")]
    MissingFunction {
        /// The interface.
        interface: String,
        /// The function.
        function: String,
        /// Its signature.
        wanted: String,
    },
    /// A function has another signature.
    #[error("`{interface}` has another `{function}`:\n    wanted {wanted}\n    found  {found}")]
    Signature {
        /// The interface.
        interface: String,
        /// The function.
        function: String,
        /// The contract's signature.
        wanted: String,
        /// The component's.
        found: String,
    },
    /// It needs something that gg does not offer.
    #[error("it imports `{name}`, which gg does not offer{}", hint.as_deref().map(|h| format!(": {h}")).unwrap_or_default())]
    Import {
        /// The import.
        name: String,
        /// What to do about it, where that is known.
        hint: Option<String>,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it does not fit the world `{}` of {PACKAGE}@{}", self.world, self.wanted)?;
        match self.built_for.as_slice() {
            [] => write!(f, "; it was not built for {PACKAGE} at all")?,
            [version] if *version == self.wanted => {}
            versions => write!(f, "; it was built for {PACKAGE}@{}", versions.join(", "))?,
        }
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mismatch {}

/// Compares `bytes` with the contract, and says which of its worlds they fit. A component that exports a
/// window, or imports messages, is meant as a history; any other as a module.
///
/// # Errors
/// See [`ContractError`].
pub fn check(bytes: &[u8]) -> Result<World, ContractError> {
    check_kind(bytes)?;
    // The decoder is not ours, and what it reads is a stranger's: a panic in it is one more way of saying no.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(bytes)))
        .map_err(|_| ContractError::Unknown("its type cannot be decoded".into()))?
        .map_err(|error| ContractError::Unknown(format!("{error:#}")))?;
    let (found, found_world) = match &decoded {
        DecodedWasm::Component(resolve, world) => (resolve, *world),
        DecodedWasm::WitPackage(..) => return Err(ContractError::WitPackage),
    };
    let own = Own::parse()?;
    let world = diff::guess(found, found_world);
    let mismatch = diff::compare(&own, world, found, found_world);
    if mismatch.problems.is_empty() { Ok(world) } else { Err(ContractError::Mismatch(Box::new(mismatch))) }
}

/// The contract, parsed.
struct Own {
    resolve: Resolve,
    module: WorldId,
    history: WorldId,
    version: String,
}

impl Own {
    fn parse() -> Result<Self, ContractError> {
        let own = |error: &dyn fmt::Display| ContractError::Own(error.to_string());
        let mut resolve = Resolve::default();
        let package = resolve.push_str("module.wit", MODULE_WIT).map_err(|error| own(&error))?;
        let module = resolve.select_world(&[package], Some("module")).map_err(|error| own(&error))?;
        let history = resolve.select_world(&[package], Some("history")).map_err(|error| own(&error))?;
        let version = resolve.packages[package].name.version.as_ref().map(ToString::to_string);
        let version = version.ok_or_else(|| own(&"it has no version"))?;
        Ok(Self { resolve, module, history, version })
    }

    fn world(&self, world: World) -> WorldId {
        match world {
            World::Module => self.module,
            World::History => self.history,
        }
    }
}

/// The first bytes of every WebAssembly binary.
const MAGIC: &[u8] = b"\0asm";

/// What follows in a core module: version 1.
const CORE_VERSION: &[u8] = &[1, 0, 0, 0];

/// What follows in a component: its layer, 1, in the third byte.
const COMPONENT_LAYER: &[u8] = &[1, 0];

/// Tells the usual mistakes apart before any decoder sees them.
fn check_kind(bytes: &[u8]) -> Result<(), ContractError> {
    if bytes.is_empty() {
        return Err(ContractError::Empty);
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let start = &bytes[..bytes.len().min(512)];
        let is_text = match std::str::from_utf8(start) {
            Ok(text) => !text.contains('\0'),
            // A character may be cut by the end of the sample.
            Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
        };
        return Err(if is_text {
            ContractError::Text
        } else {
            ContractError::Unknown("it does not start as WebAssembly does".into())
        });
    };
    if rest.starts_with(CORE_VERSION) {
        return Err(ContractError::CoreModule);
    }
    match rest.get(2..4) {
        Some(layer) if layer == COMPONENT_LAYER => Ok(()),
        _ => Err(ContractError::Unknown("its version is not one that gg knows".into())),
    }
}
