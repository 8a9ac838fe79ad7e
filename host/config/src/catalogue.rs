//! What exists outside the document. Whoever does I/O gathers it beforehand, by [`crate::Source::needs`].

use gg_core::CallSpec;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// The capabilities that gg carries out itself: no component stands behind them.
pub const HOST_KINDS: [&str; 7] = ["workspace", "shell", "compaction", SUBAGENTS, EXEC, FORK, FSM];

/// The capability that spawns agents, waits for them and writes to them.
pub(crate) const SUBAGENTS: &str = "subagents";

/// The capability, and its call, that makes an agent into another of its roster.
pub(crate) const EXEC: &str = "exec";

/// The capability, and its call, that runs a copy of an agent beside it.
pub(crate) const FORK: &str = "fork";

/// The capability that makes a profile a machine.
pub(crate) const FSM: &str = "fsm";

/// The call of `subagents` that needs somebody to spawn; its other calls need only somebody to wait for.
const SPAWN: &str = "spawn_subagent";

/// A switch of a capability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feature {
    /// Its name in `features`.
    pub name: String,
    /// What it does, for a person.
    pub description: String,
    /// What it is when the configuration does not say.
    pub enabled: bool,
}

/// A capability that can be enabled: a module kind, or something the host does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// The id that capabilities use.
    pub kind: String,
    /// What a person reads.
    pub title: String,
    /// The JSON Schema of `params`: an object.
    pub params: Value,
    /// The switches in `features`.
    pub features: Vec<Feature>,
    /// The calls it offers to the model.
    pub calls: Vec<CallSpec>,
    /// The format of a module's state; absent for what holds none.
    pub state_format: Option<String>,
}

/// What decides, beside features, which calls an agent is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Its roster lists somebody whom it may spawn, or become.
    pub spawns: bool,
    /// It enables `fork`.
    pub forks: bool,
    /// It enables `subagents`, which collects what was spawned or forked.
    pub collects: bool,
}

impl Kind {
    /// The calls that it offers under these features to an agent with this reach. The check, its notes and the
    /// agents themselves all ask here.
    pub fn offered<'a, 'b>(
        &'a self,
        features: &'b BTreeMap<String, bool>,
        reach: Reach,
    ) -> impl Iterator<Item = &'a CallSpec> + use<'a, 'b> {
        let within_reach = move |call: &&CallSpec| match self.kind.as_str() {
            SUBAGENTS if call.name == SPAWN => reach.spawns,
            SUBAGENTS => reach.spawns || reach.forks,
            EXEC => reach.spawns,
            FORK => reach.collects,
            // Where an agent stands decides which moves it is offered, not what its profile enables.
            FSM => false,
            _ => true,
        };
        self.calls.iter().filter(move |call| call.is_offered(features)).filter(within_reach)
    }
}

/// Why a component named by the configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentFault {
    /// The file cannot be read, and why.
    Unreadable(String),
    /// The file has this other digest, in hexadecimal.
    Digest(String),
    /// It does not fit the contract; the text says which export or type, and what was wanted.
    Misfit(String),
}

/// What exists outside the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalogue {
    /// The capabilities built into gg, by id.
    pub kinds: BTreeMap<String, Kind>,
    /// What became of each component that the configuration names, by its name there.
    pub components: BTreeMap<String, Result<Kind, ComponentFault>>,
    /// The names of the environment variables that are set and not empty.
    pub env: BTreeSet<String>,
    /// Whether each file that the configuration names can be read, or why not. The paths are as written.
    pub files: BTreeMap<PathBuf, Result<(), String>>,
    /// Whether each program that a hook names can be run, or why not. They are named as written.
    pub programs: BTreeMap<String, Result<(), String>>,
}
