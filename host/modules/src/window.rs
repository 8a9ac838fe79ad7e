//! Windows at the boundary: the host's types to the contract's, and back.

use crate::bindings::types;
use gg_core::{
    id::{MessageId, Turn},
    message::Role,
    window::{Changes, Entry},
};

/// A run of neighbouring entries that should be replaced by one summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The first entry.
    pub first: MessageId,
    /// The last entry.
    pub last: MessageId,
    /// The sum of their tokens.
    pub tokens: u64,
}

impl From<&Entry> for types::Entry {
    fn from(entry: &Entry) -> Self {
        Self {
            id: entry.id.0,
            turn: entry.turn.0,
            tokens: entry.tokens,
            calls: entry.calls,
            pinned: entry.pinned,
            role: match entry.role {
                Role::User => types::Role::User,
                Role::Assistant => types::Role::Assistant,
                Role::Results => types::Role::Results,
            },
        }
    }
}

impl From<&types::Entry> for Entry {
    fn from(entry: &types::Entry) -> Self {
        Self {
            id: MessageId(entry.id),
            turn: Turn(entry.turn),
            tokens: entry.tokens,
            calls: entry.calls,
            pinned: entry.pinned,
            role: match entry.role {
                types::Role::User => Role::User,
                types::Role::Assistant => Role::Assistant,
                types::Role::Results => Role::Results,
            },
        }
    }
}

impl From<types::Changes> for Changes {
    fn from(changes: types::Changes) -> Self {
        Self {
            revision: changes.revision,
            kept: changes.kept,
            entries: changes.entries.iter().map(Entry::from).collect(),
            turn: Turn(changes.turn),
            tokens: changes.tokens,
        }
    }
}

impl From<&types::Segment> for Segment {
    fn from(segment: &types::Segment) -> Self {
        Self { first: MessageId(segment.first), last: MessageId(segment.last), tokens: segment.tokens }
    }
}
