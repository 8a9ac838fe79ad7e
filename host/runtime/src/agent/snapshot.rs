//! What an agent holds in memory right after a step, for whoever wants to compare it with the record.

use gg_core::{AgentId, MessageId};
use gg_store::InboxItem;
use std::{collections::BTreeMap, path::PathBuf};

/// An agent right after one of its steps became durable.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSnapshot {
    /// The run's directory.
    pub dir: PathBuf,
    /// The agent.
    pub agent: AgentId,
    /// The first of those that it goes on from, which its inbox belongs to; itself, if it goes on from nobody.
    pub lineage: AgentId,
    /// The messages of its window, in order.
    pub window: Vec<MessageId>,
    /// The SHA-256 digest, in hexadecimal, of each module's state, by kind. Those whose state is kept for the
    /// workspace are not in the run's record, and not here.
    pub modules: BTreeMap<String, String>,
    /// Its unread messages, in order.
    pub inbox: Vec<InboxItem>,
}
