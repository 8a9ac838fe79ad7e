//! What goes wrong with modules, in the three layers that never mix: the model's refusals, the host's errors,
//! and what stopped the instance.

use gg_core::text;
use gg_sandbox::{CompileError, Fault, Limit};
use std::{fmt, path::PathBuf};
use thiserror::Error;

/// The most of a module's own words in an error, in bytes: a person reads it.
pub(crate) const ERROR_BYTES: usize = 4 * 1024;

/// The most of a refusal, in bytes: a model reads it, and it says how to mend a request.
const REFUSAL_BYTES: usize = 16 * 1024;

/// The exports of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hook {
    /// Says what the component is.
    Describe,
    /// Makes the state fresh and empty.
    Open,
    /// Writes the state out.
    Clone,
    /// Reads the state in.
    Restore,
    /// Hands the state to another holder.
    Transfer,
    /// Lets everything go.
    Reset,
    /// Runs a call that the model made.
    Call,
    /// Renders its part of the system prompt.
    Prompt,
    /// Renders what a new holder should know.
    Opening,
    /// Adds to a window.
    Append,
    /// Reads a window.
    Entries,
    /// Says what of a window to summarise.
    Fold,
    /// Replaces what was summarised.
    Folded,
}

impl Hook {
    /// Every export, in the contract's order.
    pub const ALL: [Self; 13] = [
        Self::Describe,
        Self::Open,
        Self::Clone,
        Self::Restore,
        Self::Transfer,
        Self::Reset,
        Self::Call,
        Self::Prompt,
        Self::Opening,
        Self::Append,
        Self::Entries,
        Self::Fold,
        Self::Folded,
    ];

    /// The export's name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::Open => "open",
            Self::Clone => "clone",
            Self::Restore => "restore",
            Self::Transfer => "transfer",
            Self::Reset => "reset",
            Self::Call => "call",
            Self::Prompt => "prompt",
            Self::Opening => "opening",
            Self::Append => "append",
            Self::Entries => "entries",
            Self::Fold => "fold",
            Self::Folded => "folded",
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A hook that failed. The module's state is what it was before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the module `{module}` failed in `{hook}`: {kind}")]
pub struct ModuleError {
    /// The module's kind.
    pub module: String,
    /// The export that failed.
    pub hook: Hook,
    /// How.
    pub kind: ModuleErrorKind,
}

/// How a hook failed. The first four are the module's own words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModuleErrorKind {
    /// It cannot honour the settings.
    #[error("it cannot honour its settings: {0}")]
    Settings(String),
    /// The state is not one of its format.
    #[error("it does not know this state: {0}")]
    State(String),
    /// What it was asked for makes no sense.
    #[error("it was asked for something that makes no sense: {0}")]
    Request(String),
    /// Anything else it says.
    #[error("{0}")]
    Other(String),
    /// It was stopped, and its instance thrown away. The next use starts from the last state.
    #[error("{}: {message}", limit.stopped())]
    Stopped {
        /// What stopped it.
        limit: Limit,
        /// More about it.
        message: String,
    },
    /// It answered something that the contract does not allow, and its instance was thrown away.
    #[error("its answer breaks the contract: {0}")]
    Answer(String),
}

impl ModuleErrorKind {
    /// The limit that stopped it, if one did.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::Stopped { limit, .. } => Some(*limit),
            _ => None,
        }
    }
}

impl From<Fault> for ModuleErrorKind {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Stopped { limit, message } => Self::Stopped { limit, message },
            Fault::Answer(message) => Self::Answer(message),
        }
    }
}

impl From<crate::bindings::types::Error> for ModuleErrorKind {
    fn from(error: crate::bindings::types::Error) -> Self {
        use crate::bindings::types::Error;
        let cut = |said: String| text::cut_saying_so(said, ERROR_BYTES);
        match error {
            Error::Settings(said) => Self::Settings(cut(said)),
            Error::State(said) => Self::State(cut(said)),
            Error::Request(said) => Self::Request(cut(said)),
            Error::Other(said) => Self::Other(cut(said)),
        }
    }
}

/// A call that was not done. The module's state is what it was before.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// The model reads this, and can mend its request.
    #[error("{0}")]
    Refused(String),
    /// The module failed.
    #[error(transparent)]
    Failed(#[from] ModuleError),
}

impl CallError {
    pub(crate) fn refused(said: impl Into<String>) -> Self {
        Self::Refused(text::cut_saying_so(said.into(), REFUSAL_BYTES))
    }
}

/// Why a component cannot be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Its file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is not the file that the configuration means.
    #[error(
        "its SHA-256 is {found}, and the configuration says {expected}; update the one that is out of date"
    )]
    Digest {
        /// What the configuration says.
        expected: String,
        /// What the file has.
        found: String,
    },
    /// It is not a component, does not fit the contract, or does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// It cannot say what it is.
    #[error(transparent)]
    Describe(#[from] ModuleError),
    /// What it says it is breaks the contract.
    #[error("its descriptor breaks the contract: {0}")]
    Descriptor(#[from] DescriptorError),
    /// It cannot be linked, although its type fits: gg itself is broken.
    #[error("it cannot be linked: {0}")]
    Link(String),
    /// Another component was expected under this name.
    #[error("it is of the kind `{found}`, and `{expected}` is built into gg")]
    BuiltIn {
        /// The kind that is built in.
        expected: String,
        /// What it says it is.
        found: String,
    },
}

/// What a component says of itself and must not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DescriptorError {
    /// A name that is not one.
    #[error("{what} `{name}` is not a name: {rule}")]
    Name {
        /// Of what.
        what: &'static str,
        /// The name, cut.
        name: String,
        /// What a name is.
        rule: &'static str,
    },
    /// Two things of one name.
    #[error("{what} `{name}` is there twice")]
    Twice {
        /// What.
        what: &'static str,
        /// Their name.
        name: String,
    },
    /// Too many of something.
    #[error("{found} {what}, and {most} are allowed")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many it has.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// A text that is too long.
    #[error("{what} has {found} bytes, and {most} are allowed")]
    TooLong {
        /// Which text.
        what: String,
        /// Its length.
        found: usize,
        /// The longest that is allowed.
        most: usize,
    },
    /// A schema that cannot be used.
    #[error("{what} is not a JSON Schema of an object: {error}")]
    Schema {
        /// Which schema.
        what: String,
        /// Why.
        error: String,
    },
    /// An effect that the contract does not know.
    #[error("the call `{call}` has the effect `{effect}`; it can be `read-only`, `acting` or `deferred`")]
    Effect {
        /// The call.
        call: String,
        /// Its effect, cut.
        effect: String,
    },
    /// A call that depends on a feature which is not there.
    #[error("the call `{call}` is offered by the feature `{feature}`, and there is no such feature")]
    NoFeature {
        /// The call.
        call: String,
        /// The feature, cut.
        feature: String,
    },
    /// A kind that does not go with its world.
    #[error("its kind is `{kind}`; a component is of the kind `history` exactly if it exports a window")]
    Kind {
        /// The kind.
        kind: String,
    },
}
