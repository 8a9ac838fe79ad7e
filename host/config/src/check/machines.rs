//! Rules about machines: profiles with the capability `fsm`, which agents are driven through.

use super::{
    At, Check,
    cast::{Held, ModuleKinds},
};
use crate::{Code, HOST_KINDS, Mark, catalogue::FSM, nearest};
use gg_core::text;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The call that moves along a transition. Whoever stands in a state with transitions is offered it, whatever the
/// allowlist says.
pub(super) const TRANSITION: &str = "transition_state";

/// To whom [`TRANSITION`] is offered, for those who name it elsewhere.
pub(super) const WHO_MOVES: &str = "only an agent that a machine runs in a state with transitions is offered it, whatever its allowlist says";

/// What only an agent that takes turns can heed, and why a machine cannot.
pub(crate) const WORKER_KEYS: [(&str, &str); 10] = [
    ("model", "a machine takes no turn, so it asks no model: each state's agent asks its own"),
    ("prompt", "a machine takes no turn, so nobody would read its prompt: each state's agent has its own"),
    ("execution", "a machine takes no turn, so it acts neither by calls nor by programs"),
    ("calls", "a machine takes no turn, so it is offered no calls that could be allowed"),
    ("maxTurns", "a machine takes no turn, so there are none to count: each state's agent counts its own"),
    ("loopDetection", "a machine takes no turn, so there is no reply that could repeat itself"),
    (
        "hooks",
        "a machine takes no turn, so its hooks would never be asked: a gate that always passes is worse than none",
    ),
    ("budget", "a machine takes no turn, so it uses nothing up: each state's agent counts as itself"),
    ("roster", "a machine takes no turn, so it puts nobody to work: each state's agent has its own roster"),
    (
        "persistent",
        "a machine takes no turn, so no slot is held under its name: its states' agents hold theirs",
    ),
];

/// The keys of [`WORKER_KEYS`] that say nothing while their value is one of [`NOTHING`].
pub(crate) const MAY_SAY_NOTHING: [&str; 4] = ["hooks", "budget", "roster", "persistent"];

/// The values that say nothing.
pub(crate) fn nothing() -> [Value; 3] {
    [json!(false), json!([]), json!({})]
}

/// A state of a machine, as far as it can be read.
struct State<'a> {
    at: At<'a>,
    name: Option<(&'a str, String)>,
    /// Who works in it: an agent that exists and takes turns.
    agent: Option<At<'a>>,
}

/// Where states are, by name. A name that stands twice means any of them.
type Names<'a> = BTreeMap<&'a str, Vec<usize>>;

impl<'a> Check<'a> {
    /// What a machine says that only an agent with turns could heed, each with the reason.
    fn worker_config(agent: &At<'a>) -> Vec<(At<'a>, &'static str)> {
        if !agent.is_machine() {
            return Vec::new();
        }
        let says_nothing = |key, at: &At<'_>| MAY_SAY_NOTHING.contains(&key) && nothing().contains(at.value);
        let keys = WORKER_KEYS.into_iter().filter_map(|(key, why)| Some((key, agent.get(key)?, why)));
        keys.filter(|(key, at, _)| !says_nothing(*key, at)).map(|(_, at, why)| (at, why)).collect()
    }

    /// Whether `pointer` leads into what a machine may not say at all: then it does not matter how it is said.
    pub(super) fn is_moot(&self, pointer: &str) -> bool {
        let mut parts = pointer.split('/').skip(1);
        let (Some("agents"), Some(index), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return false;
        };
        let pointer = format!("/agents/{index}");
        let Some(value) = self.source.value().pointer(&pointer) else { return false };
        let refused = Self::worker_config(&At { value, pointer });
        refused.iter().any(|(at, _)| at.pointer.ends_with(&format!("/{key}")))
    }

    pub(super) fn machine(&mut self, agent: &At<'a>) {
        const HELP: &str = "remove it here; what it is to say belongs to the agents that the states run";
        for (at, why) in Self::worker_config(agent) {
            self.refuse(Code::MachineWorkerConfig, &at.pointer, Mark::Key, why.into(), HELP.into());
        }
        self.capabilities(agent);
        let states: Vec<State<'a>> = agent.states().into_iter().map(|at| self.state(at)).collect();
        let names = self.state_names(&states);
        let kinds = self.module_kinds();
        let mut ways = Vec::new();
        for state in &states {
            let mut seen = BTreeSet::new();
            let mut leads_to = Vec::new();
            for transition in state.at.items("transitions") {
                let targets = self.target(&transition, &names, &mut seen);
                let to = targets.first().and_then(|to| states[*to].agent.clone());
                for entry in transition.items("transfer") {
                    self.transfer(&entry, state, to.as_ref(), &kinds);
                }
                leads_to.extend(targets);
            }
            ways.push(leads_to);
        }
        self.unreachable(&states, &ways);
    }

    /// A capability of a machine that is neither `fsm` nor switched off.
    pub(super) fn refuse_worker_capability(&mut self, id: &str, pointer: &str) {
        let message = format!(
            "a machine takes no turn, so it can neither do nor hold anything: {:?} would be lost on it",
            text::glance(id, 80)
        );
        let help = format!("{FSM:?} stands alone; enable this one in the agents that the states run");
        self.refuse(Code::MachineWorkerConfig, pointer, Mark::Value, message, help);
    }

    fn state(&mut self, at: At<'a>) -> State<'a> {
        let name = at.text("name");
        let Some((id, pointer)) = at.text("agentId") else { return State { at, name, agent: None } };
        let agent = self.cast.agent(id).cloned();
        match &agent {
            None => {
                let message = format!("there is no agent {:?}", text::glance(id, 80));
                let known = self.cast.workers();
                self.refuse_unknown(Code::UnknownAgent, &pointer, Mark::Value, message, id, known);
            }
            Some(agent) if agent.is_machine() => {
                let message = format!(
                    "{:?} is a machine, and a machine cannot be a state of a machine",
                    text::glance(id, 80)
                );
                let help = "name an agent that takes turns, or write that machine's states here".into();
                self.refuse(Code::NestedMachine, &pointer, Mark::Value, message, help);
            }
            Some(_) => {}
        }
        State { at, name, agent: agent.filter(|agent| !agent.is_machine()) }
    }

    fn state_names(&mut self, states: &[State<'a>]) -> Names<'a> {
        let mut names = Names::new();
        for (index, state) in states.iter().enumerate() {
            let Some((name, pointer)) = &state.name else { continue };
            let same = names.entry(name).or_default();
            if let Some(first) = same.first() {
                let message =
                    format!("the name {:?} is taken by state {}", text::glance(name, 80), first + 1);
                let help = "give each state a name of its own".into();
                self.refuse(Code::DuplicateState, pointer, Mark::Value, message, help);
            }
            same.push(index);
        }
        names
    }

    /// The states that a transition leads to: one, unless its name stands twice. Of an unknown name it is the one
    /// that was probably meant.
    fn target(&mut self, transition: &At<'a>, names: &Names<'a>, seen: &mut BTreeSet<&'a str>) -> Vec<usize> {
        let Some((to, pointer)) = transition.text("to") else { return Vec::new() };
        if let Some(targets) = names.get(to) {
            if !seen.insert(to) {
                let message = format!("this state already has a transition to {:?}", text::glance(to, 80));
                let help = "keep one of the two: an agent names where it goes, not which way it takes".into();
                self.refuse(Code::DuplicateTransition, &pointer, Mark::Value, message, help);
            }
            return targets.clone();
        }
        let message = format!("this machine has no state {:?}", text::glance(to, 80));
        let known = names.keys().copied();
        self.refuse_unknown(Code::UnknownState, &pointer, Mark::Value, message, to, known.clone());
        nearest(to, known).and_then(|meant| names.get(meant)).cloned().unwrap_or_default()
    }

    /// One entry of `transfer`: what `state` hands to the agent `to`.
    fn transfer(&mut self, entry: &At<'a>, state: &State<'a>, to: Option<&At<'a>>, kinds: &ModuleKinds<'a>) {
        let Some(kind) = entry.value.as_str() else { return };
        let shown = text::glance(kind, 80);
        if !kinds.known.contains(kind) {
            if !kinds.unclear.contains(kind) {
                let message = match HOST_KINDS.contains(&kind) {
                    true => format!("{shown:?} holds nothing that could be carried along"),
                    false => format!("there is no kind of module {shown:?}"),
                };
                let known = kinds.known.iter().copied();
                self.refuse_unknown(
                    Code::UnknownModuleKind,
                    &entry.pointer,
                    Mark::Value,
                    message,
                    kind,
                    known,
                );
            }
            return;
        }
        let Some(from) = &state.agent else { return };
        if matches!(self.held(from, kind), Held::No) {
            let id = text::glance(from.text("id").map_or("?", |(id, _)| id), 80);
            let message = format!(
                "the agent {id:?} of this state does not hold {shown:?}: the next one would begin with an empty one"
            );
            let help = format!("enable {shown:?} in {id:?}, or take it out of \"transfer\"");
            self.refuse(Code::TransferNotHeld, &entry.pointer, Mark::Value, message, help);
        } else if let Some((ours, theirs)) = to.and_then(|to| self.formats_differ(from, to, kind)) {
            let message = format!(
                "this moves {shown:?} to a component that keeps it as {theirs:?} and cannot read {ours:?}"
            );
            let help =
                format!("use one component of {shown:?} in both agents, or take it out of \"transfer\"");
            self.refuse(Code::StateFormatMismatch, &entry.pointer, Mark::Value, message, help);
        }
    }

    fn unreachable(&mut self, states: &[State<'a>], ways: &[Vec<usize>]) {
        let mut reached = vec![false; states.len()];
        let mut open: Vec<usize> = (0..states.len().min(1)).collect();
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut reached[at], true) {
                open.extend(&ways[at]);
            }
        }
        for (state, _) in states.iter().zip(reached).filter(|(_, reached)| !reached) {
            let Some((name, pointer)) = &state.name else { continue };
            let message = format!(
                "no transition leads from the first state to {:?}: the machine would be smaller than it is written",
                text::glance(name, 80)
            );
            let help = "add a transition to it, or remove it; the first state is where a machine is entered";
            self.refuse(Code::UnreachableState, pointer, Mark::Value, message, help.into());
        }
    }
}
