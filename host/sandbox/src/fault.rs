//! What goes wrong inside a guest, told apart by what stopped it.

use crate::limits::Limit;
use gg_core::text;
use rustix::io::Errno;
use thiserror::Error;
use wasmtime::{PoolConcurrencyLimitError, Trap};

/// The most of a guest's own words in an error, in bytes: a person reads it.
const MESSAGE_BYTES: usize = 4 * 1024;

/// How wasmtime's error begins when an answer's size passes `Store::set_hostcall_fuel`. The type itself is
/// private to wasmtime; a test here notices when the words change.
const FUEL_WORDS: &str = "fuel allocated for hostcalls has been exhausted";

/// Why a guest could not finish what it was asked. Its store is not to be used again.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It was stopped.
    #[error("{}: {message}", limit.stopped())]
    Stopped {
        /// What stopped it.
        limit: Limit,
        /// More about it.
        message: String,
    },
    /// It answered, and the answer is not one of the contract's: bytes that are no text, a case that does not
    /// exist, a list outside its memory.
    #[error("its answer cannot be read: {0}")]
    Answer(String),
}

impl Fault {
    /// A fault that names a limit, with at most a few kilobytes of `message`.
    pub fn stopped(limit: Limit, message: impl AsRef<str>) -> Self {
        Self::Stopped { limit, message: text::cut(message.as_ref(), MESSAGE_BYTES).to_owned() }
    }

    /// Reads what wasmtime says about a call or an instantiation that failed.
    pub(crate) fn of(error: &wasmtime::Error) -> Self {
        if let Some(exceeded) = error.downcast_ref::<Exceeded>() {
            return Self::stopped(exceeded.limit, &exceeded.message);
        }
        if let Some(trap) = error.downcast_ref::<Trap>() {
            return match trap {
                Trap::StackOverflow => Self::stopped(Limit::Stack, "it called too deep"),
                Trap::Interrupt => Self::stopped(Limit::Deadline, "it took too long"),
                other => Self::stopped(Limit::Trap, other.to_string()),
            };
        }
        if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
            return Self::stopped(Limit::Instances, "every place for a live instance is taken");
        }
        if is_no_memory(error) {
            return Self::stopped(
                Limit::Instances,
                "the system has no memory or no mappings left for an instance (vm.max_map_count bounds them)",
            );
        }
        let said = format!("{error:#}");
        if said.contains(FUEL_WORDS) {
            return Self::stopped(Limit::ResultSize, "its answer is larger than what may cross at once");
        }
        Self::Answer(text::cut(&said, MESSAGE_BYTES).to_owned())
    }

    /// The limit that stopped the guest, if one did.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::Stopped { limit, .. } => Some(*limit),
            Self::Answer(_) => None,
        }
    }
}

/// Whether the system refused memory or a mapping.
fn is_no_memory(error: &wasmtime::Error) -> bool {
    let by_std = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    let by_rustix = error.downcast_ref::<Errno>().map(|error| error.raw_os_error());
    by_std.or(by_rustix) == Some(Errno::NOMEM.raw_os_error())
}

/// Raised inside a guest's call by the host, where a limit is passed.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Exceeded {
    pub(crate) limit: Limit,
    pub(crate) message: String,
}

impl Exceeded {
    /// The error that ends the guest's call.
    pub(crate) fn raise(limit: Limit, message: impl Into<String>) -> wasmtime::Error {
        wasmtime::Error::new(Self { limit, message: message.into() })
    }
}
