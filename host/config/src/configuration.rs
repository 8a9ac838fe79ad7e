//! The document as types. The comments on its keys are the documentation that `gg schema` gives to editors
//! and that refusals quote; the JSON Schema made from these types is what documents are checked against.

use crate::{
    CompactionParams, FsmParams, Hook, Provider, Reach, ShellParams, SubagentsParams, WorkspaceParams,
    catalogue::{EXEC, FORK, FSM, SUBAGENTS},
    format,
    provider::ProviderKeys,
};
use gg_core::{Prices, ProfileId};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, path::PathBuf};

/// A configuration of gg: which agents a run may have, and what they run on.
///
/// As [`crate::check`] gives it, every default is filled in, each agent that takes turns has its `history`, and
/// only enabled capabilities are left. Written out, it is a document that is checked to itself.
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
    /// What a run may use up, all agents together. Each limit is optional; a run that reaches one ends with its
    /// name.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
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

/// What an agent may be: one that takes turns, or with the capability `fsm` a machine.
///
/// A machine takes no turn. Its states name the agents that do, so nothing here but `id`, `name`, `description` and
/// `capabilities` means anything of it, and nothing else of it is written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, remote = "Self")]
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
    /// The model that its agents ask. Only a machine has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// The system prompt: who the agent is and how it works. Only a machine has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(extend("pattern" = format::NOT_BLANK))]
    pub prompt: String,
    /// How the model acts.
    #[serde(default)]
    pub execution: Execution,
    /// The only calls that are offered, but for `transition_state`: whoever stands in a state with transitions has
    /// it. Absent: all that the capabilities offer, and `finish`.
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
    /// What one agent of this profile may use up. An agent that reaches a limit ends with its name.
    #[serde(default, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// The agents that this one may put to work, and for what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roster: Vec<RosterEntry>,
    /// Whether at most one agent of this profile runs at any moment; a second one waits for its slot.
    #[serde(default, skip_serializing_if = "is_false")]
    pub persistent: bool,
    /// What the agent can do and hold. `history` is always there, listed or not.
    pub capabilities: Vec<Capability>,
}

/// What may be used up. An absent limit is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// Turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub turns: Option<u64>,
    /// Tokens, read and written, as servers report them or gg estimates them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub tokens: Option<u64>,
    /// Money, in the currency of the models' `prices`, which it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.000_001, max = 1_000_000_000.0))]
    pub cost: Option<f64>,
    /// Time by the clock, in milliseconds: of a run from its start, of an agent from its first turn, waiting
    /// included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub wall_time_ms: Option<u64>,
    /// Agents: of a run, how many there may be, its root included; of an agent, how many it may spawn. A spawn
    /// past it fails as a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000_000_000_u64))]
    pub agents: Option<u64>,
}

impl Budget {
    /// Whether it limits nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An agent that another may put to work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RosterEntry {
    /// The `id` of an entry of `agents`. An agent may list itself.
    #[schemars(with = "String", extend("pattern" = format::ID))]
    pub agent_id: ProfileId,
    /// What it may be used for.
    #[schemars(length(min = 1))]
    pub scopes: Vec<Scope>,
    /// When to reach for it, told to the agent that holds this roster. Absent: the other agent's own
    /// description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What an entry of a roster may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// To be spawned by an agent, with a brief, or to be what it becomes by `exec`.
    Subagent,
    /// To carry out issues. It says nothing about spawning.
    Implementer,
    /// To review issues. It says nothing about spawning.
    Reviewer,
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
    /// What it is: `workspace`, `shell`, `compaction`, `subagents`, `exec`, `fork`, `fsm`, a module kind
    /// (`history`, `tasks`, `notebook`, `memories`, `programs`), or a kind of your own.
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
    /// The deepest that an agent may stand in the delegation tree: what the first profile says that enables
    /// `subagents`. Nothing if none does.
    pub fn max_depth(&self) -> Option<u32> {
        self.agents.iter().find_map(Profile::subagents).map(|params| params.max_depth)
    }

    /// The profile with this id.
    pub fn profile(&self, id: &ProfileId) -> Option<&Profile> {
        self.agents.iter().find(|profile| profile.id == *id)
    }

    /// The profile that takes the first turns of whoever is put to work as `id`: that one, or of a machine the one
    /// that its first state runs.
    pub fn entry(&self, id: &ProfileId) -> Option<&Profile> {
        let profile = self.profile(id)?;
        match profile.fsm() {
            Some(machine) => self.profile(&machine.states.first()?.agent_id),
            None => Some(profile),
        }
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

    /// The settings of `subagents`, if it is enabled.
    pub fn subagents(&self) -> Option<SubagentsParams> {
        self.params(SUBAGENTS)
    }

    /// The states of the machine that this is, if it is one.
    pub fn fsm(&self) -> Option<FsmParams> {
        self.params(FSM)
    }

    /// Whether this is a machine, which takes no turn itself.
    pub fn is_machine(&self) -> bool {
        self.capability(FSM).is_some()
    }

    /// Whether it enables `exec`.
    pub fn has_exec(&self) -> bool {
        self.capability(EXEC).is_some()
    }

    /// Whether it enables `fork`.
    pub fn has_fork(&self) -> bool {
        self.capability(FORK).is_some()
    }

    /// The roster's entries that may be spawned.
    pub fn spawnable(&self) -> impl Iterator<Item = &RosterEntry> {
        self.roster.iter().filter(|entry| entry.scopes.contains(&Scope::Subagent))
    }

    /// What decides which of their calls `subagents`, `exec` and `fork` offer.
    pub fn reach(&self) -> Reach {
        Reach {
            spawns: self.spawnable().next().is_some(),
            forks: self.has_fork(),
            collects: self.capability(SUBAGENTS).is_some(),
        }
    }

    fn params<T: DeserializeOwned>(&self, id: &str) -> Option<T> {
        let params = self.capability(id)?.params.clone();
        serde_json::from_value(Value::Object(params)).ok()
    }
}

/// What is written of a machine. Its other fields have the defaults of an agent that takes turns, which would be
/// refused if they were read again.
#[derive(Serialize)]
struct Machine<'a> {
    id: &'a ProfileId,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: &'a Option<String>,
    capabilities: &'a [Capability],
}

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_machine() {
            return Self::serialize(self, serializer);
        }
        let Self { id, name, description, capabilities, .. } = self;
        Machine { id, name, description, capabilities }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_false(value: &bool) -> bool {
    !value
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
