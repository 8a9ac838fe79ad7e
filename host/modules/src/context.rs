//! What a module is told of the moment it is called in.

use crate::bindings::types;
use gg_core::id::{AgentId, Turn};

/// Whether the holder may change the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may.
    ReadWrite,
    /// It may only read; the module refuses its changes.
    ReadOnly,
}

/// Where a deferred call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not deferred: do it.
    Now,
    /// The model asks: check it, change nothing.
    Declare,
    /// The turn ends: do it.
    Apply,
}

/// The moment of a call. With the same context and the same state, a module answers the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The agent that holds the module.
    pub agent: AgentId,
    /// Its turn.
    pub turn: Turn,
    /// The host's clock, in milliseconds since 1970.
    pub now_ms: u64,
    /// Whether it may change the module.
    pub access: Access,
    /// Where a deferred call stands.
    pub phase: Phase,
    /// A number of no other agent.
    pub salt: u64,
}

impl From<&Context> for types::Context {
    fn from(context: &Context) -> Self {
        Self {
            agent: context.agent.as_str().to_owned(),
            turn: context.turn.0,
            now_ms: context.now_ms,
            access: match context.access {
                Access::ReadWrite => "read-write",
                Access::ReadOnly => "read-only",
            }
            .to_owned(),
            phase: match context.phase {
                Phase::Now => "now",
                Phase::Declare => "declare",
                Phase::Apply => "apply",
            }
            .to_owned(),
            salt: context.salt,
        }
    }
}
