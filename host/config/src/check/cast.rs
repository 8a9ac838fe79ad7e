//! Who is who in a document: its agents by id, which of them are machines, and which of them machines run.

use super::{At, Check, capabilities::HISTORY};
use crate::{HOST_KINDS, Kind, catalogue::FSM, nearest};
use std::collections::{BTreeMap, BTreeSet};

/// The agents of a document. Of an id that stands twice it knows the first.
pub(super) struct Cast<'a> {
    agents: BTreeMap<&'a str, At<'a>>,
    places: BTreeMap<&'a str, Places<'a>>,
}

/// Where machines run an agent.
#[derive(Default)]
pub(super) struct Places<'a> {
    /// The ids of the machines.
    pub(super) machines: BTreeSet<&'a str>,
    /// Some state that runs it has transitions.
    pub(super) moves: bool,
}

/// The kinds of modules of a document.
pub(super) struct ModuleKinds<'a> {
    /// The built-in ones and those of usable components.
    pub(super) known: BTreeSet<&'a str>,
    /// Those that components which cannot be used may turn out to be.
    pub(super) unclear: BTreeSet<&'a str>,
}

/// What an agent holds of a kind of module.
pub(super) enum Held<'a> {
    /// Nothing.
    No,
    /// It cannot be told before another refusal is settled.
    Unclear,
    /// A module of this component.
    As(&'a Kind),
}

impl<'a> Cast<'a> {
    pub(super) fn of(root: &At<'a>) -> Self {
        let mut cast = Self { agents: BTreeMap::new(), places: BTreeMap::new() };
        for agent in root.items("agents") {
            let Some((id, _)) = agent.text("id") else { continue };
            for state in agent.states() {
                let Some((runs, _)) = state.text("agentId") else { continue };
                let places = cast.places.entry(runs).or_default();
                places.machines.insert(id);
                places.moves |= !state.items("transitions").is_empty();
            }
            cast.agents.entry(id).or_insert(agent);
        }
        cast
    }

    pub(super) fn agent(&self, id: &str) -> Option<&At<'a>> {
        self.agents.get(id)
    }

    pub(super) fn ids(&self) -> Vec<&'a str> {
        self.agents.keys().copied().collect()
    }

    /// The ids of the agents that take turns.
    pub(super) fn workers(&self) -> Vec<&'a str> {
        let workers = self.agents.iter().filter(|(_, agent)| !agent.is_machine());
        workers.map(|(id, _)| *id).collect()
    }

    /// Where machines run this agent, if any does.
    pub(super) fn places(&self, agent: &At<'a>) -> Option<&Places<'a>> {
        self.places.get(agent.text("id")?.0)
    }

    /// The agent that takes the first turns of whoever is put to work under this id.
    pub(super) fn entry(&self, id: &str) -> Option<&At<'a>> {
        let agent = self.agent(id)?;
        if !agent.is_machine() {
            return Some(agent);
        }
        let (first, _) = agent.states().first()?.text("agentId")?;
        self.agent(first).filter(|agent| !agent.is_machine())
    }
}

impl<'a> At<'a> {
    /// Of a capability: whether it is enabled. One that does not say so is meant to be.
    pub(super) fn is_on(&self) -> bool {
        self.get("enabled").is_none_or(|at| at.value != false)
    }

    /// Of an agent: the enabled capability of this id.
    pub(super) fn enabled(&self, id: &str) -> Option<At<'a>> {
        let is_it = |capability: &At<'_>| capability.text("id").is_some_and(|(name, _)| name == id);
        self.items("capabilities").into_iter().find(|capability| is_it(capability) && capability.is_on())
    }

    /// Of an agent: whether it is a machine.
    pub(super) fn is_machine(&self) -> bool {
        self.enabled(FSM).is_some()
    }

    /// Of an agent: the states of the machine that it is.
    pub(super) fn states(&self) -> Vec<At<'a>> {
        let params = self.enabled(FSM).and_then(|fsm| fsm.get("params"));
        params.map(|params| params.items("states")).unwrap_or_default()
    }
}

impl<'a> Check<'a> {
    /// Whether an agent names, in place of a capability it lacks, an unknown one that is nearly called so.
    pub(super) fn may_mean(&self, agent: &At<'a>, wanted: &str) -> bool {
        let root = self.root();
        agent.items("capabilities").iter().filter(|capability| capability.is_on()).any(|capability| {
            capability.text("id").is_some_and(|(id, _)| {
                let is_known = self.kinds.contains_key(id)
                    || root.map("components").is_some_and(|components| components.contains_key(id));
                !is_known && nearest(id, [wanted]).is_some()
            })
        })
    }

    /// What this agent holds of the module kind `kind`.
    pub(super) fn held(&self, agent: &At<'a>, kind: &str) -> Held<'a> {
        let Some(capability) = agent.enabled(kind) else {
            return match self.kinds.get(kind) {
                Some(known) if kind == HISTORY => Held::As(known.kind),
                _ if self.may_mean(agent, kind) => Held::Unclear,
                _ => Held::No,
            };
        };
        let component = match capability.text("component") {
            Some((name, _)) => self.components.get(name),
            None => self.kinds.get(kind).or_else(|| self.components.get(kind)),
        };
        match component {
            Some(known) if known.kind.kind == kind => Held::As(known.kind),
            _ => Held::Unclear,
        }
    }

    pub(super) fn module_kinds(&self) -> ModuleKinds<'a> {
        let root = self.root();
        let kinds = self.kinds.values().chain(self.components.values());
        let known = kinds.map(|known| known.kind.kind.as_str()).filter(|kind| !HOST_KINDS.contains(kind));
        let is_unusable = |name: &str| !self.components.contains_key(name);
        let named = root.entries("components").into_iter().map(|(name, _)| name);
        let mut unclear: BTreeSet<&str> = named.filter(|name| is_unusable(name)).collect();
        for capability in root.items("agents").iter().flat_map(|agent| agent.items("capabilities")) {
            if let (Some((id, _)), Some((component, _))) =
                (capability.text("id"), capability.text("component"))
                && is_unusable(component)
            {
                unclear.insert(id);
            }
        }
        ModuleKinds { known: known.collect(), unclear }
    }
}
