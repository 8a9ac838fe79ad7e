//! What is recorded of a run beside messages and events: what resuming after a crash needs.

use gg_core::{
    AgentId, Call, CallResult, Effect, Ending, ModuleId, ProfileId, RunId, Turn, digest::sha256_hex,
};
use serde_json::Value;
use std::sync::Arc;

/// What a run is, as it was started.
#[derive(Clone, Debug, PartialEq)]
pub struct RunMeta {
    /// The effective configuration. It becomes `config.json`.
    pub config: Value,
    /// What the run was asked for.
    pub prompt: String,
    /// The workspace's root.
    pub workspace: String,
    /// The profile of the root agent.
    pub root: ProfileId,
    /// The version of gg that started it.
    pub gg: String,
}

/// A run's facts as they were recorded when it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct StartedRun {
    /// Its id: the name of its directory when it was made.
    pub id: RunId,
    /// When it was made, in milliseconds since 1970.
    pub started_ms: u64,
    /// The profile of the root agent.
    pub root: ProfileId,
    /// The version of gg that started it.
    pub gg: String,
    /// What the run was asked for.
    pub prompt: String,
    /// The workspace's root.
    pub workspace: String,
    /// The SHA-256 of `config.json`, in hexadecimal.
    pub config_sha256: String,
}

/// Whether an agent still has something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentStatus {
    /// It has not ended.
    Live,
    /// It ended so.
    Ended(Ending),
    /// It became this other one, which goes on with its inbox and its children.
    Became(AgentId),
}

/// An agent as it stands. A later record of the same id replaces it.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRecord {
    /// Its id.
    pub id: AgentId,
    /// The first of those that it goes on from, which its inbox and its children belong to; itself, if it goes on from
    /// nobody.
    pub lineage: AgentId,
    /// Its profile.
    pub profile: ProfileId,
    /// Who put it to work, or whom it goes on from; absent for a root.
    pub parent: Option<AgentId>,
    /// How deep it stands in the delegation tree; a root stands at 0.
    pub depth: u32,
    /// Whether it still works.
    pub status: AgentStatus,
    /// How far it has come: whatever the runtime needs to go on from here.
    pub progress: Value,
}

/// A module as it stands. A later record of the same id replaces it. Who holds it is recorded apart.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleRecord {
    /// Its id, from [`crate::RunStore::next_module_id`].
    pub id: ModuleId,
    /// Its kind, which never changes.
    pub kind: String,
    /// The profile whose agents all have it: it stays to the run's end, whoever holds it. Absent: it is deleted
    /// with its last hold. This never changes either.
    pub profile: Option<ProfileId>,
    /// The digest of the component it was running in.
    pub component_sha256: String,
    /// The format of the bytes, as the component names it.
    pub state_format: String,
    /// The bytes; absent for a module whose state is kept with the project ([`crate::ProjectStore`]).
    pub state: Option<Arc<[u8]>>,
}

impl ModuleRecord {
    /// The SHA-256 of the state, in hexadecimal.
    pub fn digest(&self) -> Option<String> {
        self.state.as_deref().map(sha256_hex)
    }
}

/// What an item of an inbox is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboxKind {
    /// A message, which its receiver should not end without having read.
    Message,
    /// Word of a change in a module that its receiver holds together with others.
    Notice,
}

impl InboxKind {
    /// The word for it in the database.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Notice => "notice",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Message, Self::Notice].into_iter().find(|kind| kind.word() == word)
    }
}

/// Something that waits to enter an agent's window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboxItem {
    /// Its number, from [`crate::RunStore::next_inbox_number`]: an inbox is read in this order.
    pub n: u64,
    /// What it is.
    pub kind: InboxKind,
    /// Who sent it, or made the change; absent if whoever started the run did.
    pub from: Option<AgentId>,
    /// What it says.
    pub text: String,
}

/// What was recorded of a call before it ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Intent {
    /// The call.
    pub call: Call,
    /// How it touches the world.
    pub effect: Effect,
}

/// What is known of one call of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRecord {
    /// The turn.
    pub turn: Turn,
    /// The call's place in the turn, from 0.
    pub index: u32,
    /// What was recorded before it ran; absent for a call whose result alone was recorded.
    pub intent: Option<Intent>,
    /// Its result; absent for one that is running, or was when the run crashed.
    pub result: Option<CallResult>,
}
