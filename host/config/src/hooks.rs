//! Hooks: programs of the operator's that are asked about what agents do.

use gg_core::HookPoint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program that is asked about what the agents of a profile do, and may refuse it.
///
/// It runs in the workspace's root, with a small environment: PATH, HOME, LANG, TMPDIR, USER and TERM=dumb. It
/// reads one JSON object from its standard input, and answers by its exit code: 0 is yes, and everything else,
/// being late included, is no. What it prints, on either stream, is what the agent reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hook {
    /// When it is asked.
    #[schemars(with = "Point")]
    pub on: HookPoint,
    /// The names of the calls that it is asked about. Absent: every call. `before_end` takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub calls: Option<Vec<String>>,
    /// The program and its arguments; no shell reads them. A path with a slash is relative to the folder of
    /// this configuration, any other name is looked up in PATH. Keep the program where no agent can write:
    /// one in the workspace can be changed by those whom it is to hold.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// After how many milliseconds it is late, and stopped.
    #[serde(default = "default_timeout_ms")]
    #[schemars(range(min = 1, max = 600_000))]
    pub timeout_ms: u64,
}

/// When a hook is asked.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes gg_core::HookPoint, which knows nothing of schemas")]
enum Point {
    /// Before a call runs or is noted. A call that is refused does not run.
    BeforeCall,
    /// Once a call has its result. What it prints is added to the result.
    AfterCall,
    /// When the agent ends its work, by `finish` or by a reply without calls. An agent whose ending is refused
    /// goes on.
    BeforeEnd,
}

/// Long enough for a linter; whoever runs a whole test suite says so.
fn default_timeout_ms() -> u64 {
    10_000
}
