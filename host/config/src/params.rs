//! The settings of what the host itself does.

use crate::{ModelRef, format, schema::schema_of};
use gg_core::ProfileId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Settings of `compaction`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactionParams {
    /// How full the window is when it is compacted, as a part of its room.
    #[serde(default = "default_threshold")]
    #[schemars(range(min = 0.1, max = 0.95))]
    pub threshold: f64,
    /// How many of the last turns stay as they are.
    #[serde(default = "default_keep_turns")]
    #[schemars(range(max = 1000))]
    pub keep_turns: u32,
    /// The model that writes the summaries. Absent: the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<ModelRef>,
}

/// Settings of `workspace`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkspaceParams {
    /// The most bytes that one `read_file` gives. More is read in ranges.
    #[serde(default = "default_max_read_bytes")]
    #[schemars(range(min = 1024, max = 65_536))]
    pub max_read_bytes: u64,
    /// The most bytes of a file that is written or edited.
    #[serde(default = "default_max_write_bytes")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub max_write_bytes: u64,
    /// The most entries that `list_files` and `search` give.
    #[serde(default = "default_max_results")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_results: u32,
}

/// Settings of `shell`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShellParams {
    /// After how many milliseconds a command is stopped. A call may ask for less, never for more.
    #[serde(default = "default_command_timeout_ms")]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub timeout_ms: u64,
    /// The most bytes of a command's output that one result gives. Of more, the beginning and the end are given.
    #[serde(default = "default_max_output_bytes")]
    #[schemars(range(min = 256, max = 65_536))]
    pub max_output_bytes: u64,
}

/// Settings of `subagents`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentsParams {
    /// The deepest that an agent may stand in the delegation tree, where the root stands at 0. A spawn or fork
    /// by an agent at this depth fails as a limit. It bounds the whole run: every profile that enables `subagents`
    /// says the same.
    #[schemars(range(max = 1000))]
    pub max_depth: u32,
}

/// Settings of `exec`: there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecParams {}

/// Settings of `fork`: there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkParams {}

/// Settings of `fsm`: the machine itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FsmParams {
    /// The machine's states. It is entered at the first one.
    #[schemars(length(min = 1, max = 1000))]
    pub states: Vec<State>,
}

/// A state of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct State {
    /// What transitions, and the agents that move along them, call the state. At most 64 characters.
    #[schemars(length(max = 64), extend("pattern" = format::ONE_LINE))]
    pub name: String,
    /// The `id` of the entry of `agents` that works in this state. It cannot be a machine.
    #[schemars(with = "String", extend("pattern" = format::ID))]
    pub agent_id: ProfileId,
    /// Where the agent may move from here. None: the machine ends where this agent ends.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    pub transitions: Vec<Transition>,
}

/// A way from one state of a machine to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transition {
    /// The name of the state that it leads to, which may be the one it starts from.
    #[schemars(length(max = 64), extend("pattern" = format::NOT_BLANK))]
    pub to: String,
    /// The kinds of modules that go along as they are, `history` say. Whatever is not named is let go: without
    /// `history`, the next agent begins a new conversation.
    #[serde(default)]
    #[schemars(length(max = 100), extend("uniqueItems" = true))]
    pub transfer: Vec<String>,
    /// When to take it, told to the agent. At most 2000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub description: Option<String>,
}

impl ExecParams {
    /// The JSON Schema of these settings.
    pub fn schema() -> Value {
        schema_of::<Self>()
    }
}

impl ForkParams {
    /// The JSON Schema of these settings.
    pub fn schema() -> Value {
        schema_of::<Self>()
    }
}

impl FsmParams {
    /// The JSON Schema of these settings.
    pub fn schema() -> Value {
        schema_of::<Self>()
    }
}

impl SubagentsParams {
    /// The JSON Schema of these settings.
    pub fn schema() -> Value {
        schema_of::<Self>()
    }
}

impl CompactionParams {
    /// The JSON Schema of these settings.
    pub fn schema() -> Value {
        schema_of::<Self>()
    }
}

impl Default for CompactionParams {
    fn default() -> Self {
        Self { threshold: default_threshold(), keep_turns: default_keep_turns(), summarizer: None }
    }
}

impl WorkspaceParams {
    /// The JSON Schema of these settings.
    pub fn schema() -> Value {
        schema_of::<Self>()
    }
}

impl Default for WorkspaceParams {
    fn default() -> Self {
        Self {
            max_read_bytes: default_max_read_bytes(),
            max_write_bytes: default_max_write_bytes(),
            max_results: default_max_results(),
        }
    }
}

impl ShellParams {
    /// The JSON Schema of these settings.
    pub fn schema() -> Value {
        schema_of::<Self>()
    }
}

impl Default for ShellParams {
    fn default() -> Self {
        Self { timeout_ms: default_command_timeout_ms(), max_output_bytes: default_max_output_bytes() }
    }
}

/// Leaves a fifth of the room for the turn in which the threshold is passed.
fn default_threshold() -> f64 {
    0.8
}

fn default_keep_turns() -> u32 {
    4
}

/// Half of what one result may hold (`gg_core::call::MAX_RESULT_BYTES`), so that line numbers fit as well.
fn default_max_read_bytes() -> u64 {
    32 * 1024
}

/// Source files are far smaller; larger ones are made by programs.
fn default_max_write_bytes() -> u64 {
    1024 * 1024
}

/// About as many lines as a model reads with profit.
fn default_max_results() -> u32 {
    200
}

/// Most builds and tests of a small project are done by then.
fn default_command_timeout_ms() -> u64 {
    60_000
}

/// Half of what one result may hold (`gg_core::call::MAX_RESULT_BYTES`): output is rarely worth a window.
fn default_max_output_bytes() -> u64 {
    32 * 1024
}
