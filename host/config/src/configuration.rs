//! The document as types. The comments on its keys are the documentation that `gg schema` gives to editors
//! and that refusals quote; the JSON Schema made from these types is what documents are checked against.

use crate::{CompactionParams, Hook, Provider, ShellParams, WorkspaceParams, format, provider::ProviderKeys};
use gg_core::{Prices, ProfileId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::PathBuf};

/// A configuration of gg: which agents a run may have, and what they run on.
///
/// As [`crate::check`] gives it, every default is filled in, each agent has its `history`, and only enabled
/// capabilities are left. Written out, it is a document that is checked to itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configuration {
    /// The JSON Schema of this file, for editors. gg does not read it.
    #[serde(rename = "$schema", default, skip_serializing)]
    #[schemars(with = "Option<String>")]
    pub(crate) schema: serde::de::IgnoredAny,
    /// How many agents may run at the same time. Required: there is no number that suits everybody.
    #[schemars(range(min = 1, max = 10000))]
    pub max_parallel: u32,
    /// Where models are asked, by names that agents use.
    #[schemars(with = "BTreeMap<String, ProviderKeys>", extend("propertyNames" = id_schema()))]
    pub providers: BTreeMap<String, Provider>,
    /// WebAssembly components of your own, by names that capabilities use. A custom kind, or another component
    /// for a built-in kind.
    #[serde(default)]
    #[schemars(extend("propertyNames" = id_schema()))]
    pub components: BTreeMap<String, ComponentRef>,
    /// What agents may be. The first one is the root of every run.
    #[schemars(length(min = 1))]
    pub agents: Vec<Profile>,
}

/// A component's file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ComponentRef {
    /// The file, relative to the folder of this configuration.
    #[schemars(extend("pattern" = format::NOT_BLANK))]
    pub path: PathBuf,
    /// The SHA-256 digest that the file must have, in hexadecimal. Absent: any file is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = format::SHA256))]
    pub sha256: Option<String>,
}

/// What an agent may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// Names the profile: letters, digits, `.`, `_` and `-`, at most 64.
    #[schemars(with = "String", extend("pattern" = format::ID))]
    pub id: ProfileId,
    /// What people read. Absent: the id.
    #[serde(default)]
    #[schemars(extend("pattern" = format::NOT_BLANK), extend("default" = "the id"))]
    pub name: String,
    /// What the profile is for, in a sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model that its agents ask.
    pub model: ModelRef,
    /// The system prompt: who the agent is and how it works.
    #[schemars(extend("pattern" = format::NOT_BLANK))]
    pub prompt: String,
    /// How the model acts.
    #[serde(default)]
    pub execution: Execution,
    /// The only calls that are offered. Absent: all that the capabilities offer, and `finish`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Vec<String>>,
    /// After how many turns an agent is stopped.
    #[serde(default = "default_max_turns")]
    #[schemars(range(min = 1, max = 100_000))]
    pub max_turns: u32,
    /// When an agent that repeats itself is told so, and then stopped.
    #[serde(rename = "loopDetection", default = "default_loop_repeats", with = "loop_detection")]
    #[schemars(with = "LoopDetection")]
    pub loop_repeats: u32,
    /// Programs of yours that are asked before and after calls, and before an ending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub hooks: Vec<Hook>,
    /// What the agent can do and hold. `history` is always there, listed or not.
    pub capabilities: Vec<Capability>,
}

/// How a model acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Execution {
    /// By calls.
    #[default]
    Calls,
    /// By programs that make the calls.
    Code,
}

/// When an agent repeats itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LoopDetection {
    /// How often in a row the same calls with the same arguments are too often.
    #[schemars(range(min = 2, max = 1000))]
    pub(crate) repeats: u32,
}

/// A model, and the facts about it that gg cannot ask for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelRef {
    /// The name of an entry of `providers`.
    #[schemars(extend("pattern" = format::NOT_BLANK))]
    pub provider: String,
    /// What the provider calls the model.
    #[schemars(extend("pattern" = format::NOT_BLANK))]
    pub name: String,
    /// How many tokens a request and its reply may have together.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub context_window: u32,
    /// How many tokens a reply may have. Less than the context window.
    #[schemars(range(min = 1, max = 100_000_000))]
    pub max_output: u32,
    /// Sent along with every request as they are, `temperature` say. `null` takes out a field that gg sends by
    /// itself, `max_tokens` say.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub parameters: Map<String, Value>,
    /// What the model costs. Absent: no cost is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<PriceKeys>")]
    pub prices: Option<Prices>,
}

/// Prices per million tokens, in a currency of your choice.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "describes the keys of gg_core::Prices, which knows nothing of schemas")]
struct PriceKeys {
    /// For tokens read.
    #[schemars(range(min = 0, max = 1_000_000))]
    input: f64,
    /// For tokens written.
    #[schemars(range(min = 0, max = 1_000_000))]
    output: f64,
    /// For tokens read from the provider's cache. Absent: as `input`.
    #[schemars(range(min = 0, max = 1_000_000))]
    cached_input: Option<f64>,
}

/// One switchable part of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Capability {
    /// What it is: `workspace`, `shell`, `compaction`, a module kind (`history`, `tasks`, `notebook`), or a kind of your
    /// own.
    #[schemars(extend("pattern" = format::NOT_BLANK))]
    pub id: String,
    /// Whether the agent has it. Required, so that turning a thing off never needs its settings removed.
    pub enabled: bool,
    /// The entry of `components` that carries it out. Absent: the built-in one, or for a kind of your own the
    /// entry with the kind's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// Its settings; each capability has its own.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// Its switches, by name; each capability has its own.
    #[serde(default)]
    pub features: BTreeMap<String, bool>,
}

impl Configuration {
    /// The profile with this id.
    pub fn profile(&self, id: &ProfileId) -> Option<&Profile> {
        self.agents.iter().find(|profile| profile.id == *id)
    }
}

impl Profile {
    /// The enabled capability with this id.
    pub fn capability(&self, id: &str) -> Option<&Capability> {
        self.capabilities.iter().find(|capability| capability.id == id && capability.enabled)
    }

    /// The settings of `compaction`, if it is enabled.
    pub fn compaction(&self) -> Option<CompactionParams> {
        self.params("compaction")
    }

    /// The settings of `workspace`, if it is enabled.
    pub fn workspace(&self) -> Option<WorkspaceParams> {
        self.params("workspace")
    }

    /// The settings of `shell`, if it is enabled.
    pub fn shell(&self) -> Option<ShellParams> {
        self.params("shell")
    }

    fn params<T: DeserializeOwned>(&self, id: &str) -> Option<T> {
        let params = self.capability(id)?.params.clone();
        serde_json::from_value(Value::Object(params)).ok()
    }
}

/// Turns enough for an afternoon's errand; real work states its own.
fn default_max_turns() -> u32 {
    50
}

/// Twice may be chance, three times is a habit.
fn default_loop_repeats() -> u32 {
    3
}

fn id_schema() -> Value {
    let description =
        "Names have letters, digits, `.`, `_` and `-`, at most 64, and begin with a letter or digit.";
    serde_json::json!({ "description": description, "pattern": format::ID })
}

mod loop_detection {
    use super::LoopDetection;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(repeats: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        LoopDetection { repeats: *repeats }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        LoopDetection::deserialize(deserializer).map(|detection| detection.repeats)
    }
}
