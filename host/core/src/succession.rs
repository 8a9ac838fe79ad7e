//! What becomes of each module when an agent becomes another, or is copied.
//!
//! There is one operation for all three ways: [`plan`] says for every kind what leaves the agent that was, and what
//! arrives at the one that is to be. Whoever carries it out decides nothing more.

use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// How an agent came from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuccessionKind {
    /// It became another by its own decision.
    Exec,
    /// It is a copy.
    Fork,
    /// It moved to another state of its machine.
    Fsm,
}

impl SuccessionKind {
    /// The name that records use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exec => "exec",
            Self::Fork => "fork",
            Self::Fsm => "fsm",
        }
    }
}

impl fmt::Display for SuccessionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an agent holds a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holding {
    /// It is nobody else's business: a copy of the agent gets a copy of the module.
    Alone,
    /// Its profile says that agents are linked by it: a copy of the agent holds the very same one.
    Linked,
}

/// What crosses from the agent that was to the one that is to be.
#[derive(Clone, Copy, Debug)]
pub enum Carry<'a> {
    /// Everything that the next one's profile enables too.
    All,
    /// Only these kinds, of those.
    Named(&'a BTreeSet<String>),
    /// Everything, and it stays where it is as well.
    Copy,
}

impl Carry<'_> {
    fn carries(&self, kind: &str) -> bool {
        match self {
            Self::All | Self::Copy => true,
            Self::Named(kinds) => kinds.contains(kind),
        }
    }
}

/// What becomes of a module that an agent holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Leaves {
    /// The next agent has it now.
    Moved,
    /// It stays, and the copy has one like it.
    Cloned,
    /// It stays, and the copy holds it too.
    Linked,
    /// It is let go of, and deleted if nobody else holds it.
    Dropped,
}

/// How the next agent comes by a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrives {
    /// From the agent before it, with what is in it, under its own settings.
    Transferred,
    /// As a copy of its own.
    Cloned,
    /// By holding the one that the agent it was copied from holds.
    Linked,
    /// Fresh, as any new agent would.
    Initialized,
}

/// What a succession does to the modules of one kind. Both can be true at once: what was held is dropped, and a fresh
/// one takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fate {
    /// The kind.
    pub kind: String,
    /// What becomes of the one that was held; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaves: Option<Leaves>,
    /// How the next agent comes by one; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrives: Option<Arrives>,
}

/// What a succession does to every module that the agent holds (`held`, by kind) or that the next one's profile
/// enables, in the order of the kinds.
///
/// A copy runs under the very profile of its original, so `enabled` says nothing for [`Carry::Copy`].
pub fn plan(held: &BTreeMap<String, Holding>, enabled: &BTreeSet<String>, carry: Carry<'_>) -> Vec<Fate> {
    if let Carry::Copy = carry {
        return held.iter().map(|(kind, holding)| copied(kind, *holding)).collect();
    }
    let kinds: BTreeSet<&String> = held.keys().chain(enabled).collect();
    let fate = |kind: &String| {
        let (is_held, is_enabled) = (held.contains_key(kind), enabled.contains(kind));
        let crosses = is_held && is_enabled && carry.carries(kind);
        let leaves = if crosses { Leaves::Moved } else { Leaves::Dropped };
        let arrives = if crosses { Arrives::Transferred } else { Arrives::Initialized };
        Fate { kind: kind.clone(), leaves: is_held.then_some(leaves), arrives: is_enabled.then_some(arrives) }
    };
    kinds.into_iter().map(fate).collect()
}

fn copied(kind: &str, holding: Holding) -> Fate {
    let (leaves, arrives) = match holding {
        Holding::Alone => (Leaves::Cloned, Arrives::Cloned),
        Holding::Linked => (Leaves::Linked, Arrives::Linked),
    };
    Fate { kind: kind.to_owned(), leaves: Some(leaves), arrives: Some(arrives) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(kinds: &[(&str, Holding)]) -> BTreeMap<String, Holding> {
        kinds.iter().map(|(kind, holding)| ((*kind).to_owned(), *holding)).collect()
    }

    fn kinds(kinds: &[&str]) -> BTreeSet<String> {
        kinds.iter().map(|kind| (*kind).to_owned()).collect()
    }

    fn said(fates: &[Fate]) -> Vec<String> {
        let line = |fate: &Fate| {
            let leaves = fate.leaves.map_or_else(|| "-".into(), |leaves| format!("{leaves:?}"));
            let arrives = fate.arrives.map_or_else(|| "-".into(), |arrives| format!("{arrives:?}"));
            format!("{}: {leaves} {arrives}", fate.kind)
        };
        fates.iter().map(line).collect()
    }

    #[test]
    fn what_both_have_crosses_what_one_has_ends_or_begins() {
        let held =
            held(&[("history", Holding::Alone), ("memories", Holding::Linked), ("notebook", Holding::Alone)]);
        let enabled = kinds(&["history", "memories", "tasks"]);
        assert_eq!(
            said(&plan(&held, &enabled, Carry::All)),
            [
                "history: Moved Transferred",
                "memories: Moved Transferred",
                "notebook: Dropped -",
                "tasks: - Initialized"
            ]
        );
    }

    #[test]
    fn only_what_is_named_crosses_and_the_rest_starts_afresh() {
        let held =
            held(&[("history", Holding::Alone), ("notebook", Holding::Alone), ("tasks", Holding::Alone)]);
        let enabled = kinds(&["history", "tasks"]);
        let named = kinds(&["notebook", "tasks"]);
        assert_eq!(
            said(&plan(&held, &enabled, Carry::Named(&named))),
            ["history: Dropped Initialized", "notebook: Dropped -", "tasks: Moved Transferred"]
        );
    }

    #[test]
    fn a_copy_has_its_own_of_all_but_what_links() {
        let held = held(&[("history", Holding::Alone), ("memories", Holding::Linked)]);
        assert_eq!(
            said(&plan(&held, &BTreeSet::new(), Carry::Copy)),
            ["history: Cloned Cloned", "memories: Linked Linked"]
        );
    }
}
