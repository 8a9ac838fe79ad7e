//! Rules about capabilities: what they are, their params and features, and the calls that come of them.

use super::{At, Check, Known, is_secret_key, machines::TRANSITION};
use crate::{
    Code, FaultKind, HOST_KINDS, Kind, Mark, Reach,
    catalogue::{EXEC, FORK, FSM, SUBAGENTS},
};
use gg_core::text;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

/// The call that gg itself offers to every agent.
const FINISH: &str = "finish";

/// The capability that every agent has.
pub(super) const HISTORY: &str = "history";

/// The capability whose params name a model.
const COMPACTION: &str = "compaction";

/// The reach of an agent that can do everything.
const FAR: Reach = Reach { spawns: true, forks: true, collects: true };

/// What an agent enables.
pub(super) struct Enabled<'a> {
    /// The calls offered, each with the id of the capability that offers it; of `finish` that is `finish`.
    pub(super) calls: BTreeMap<&'a str, &'a str>,
    /// Some enabled capability has a component that cannot be used: nobody knows what it would offer.
    pub(super) may_offer_anything: bool,
    /// Some enabled capability is not known.
    pub(super) has_unknown: bool,
}

/// What a capability turned out to be.
enum Found<'a> {
    Known(Rc<Known<'a>>),
    /// Its component has been refused.
    Unusable,
    Unknown,
}

impl<'a> Check<'a> {
    pub(super) fn capabilities(&mut self, agent: &At<'a>) -> Enabled<'a> {
        let mut enabled = Enabled {
            calls: BTreeMap::from([(FINISH, FINISH)]),
            may_offer_anything: false,
            has_unknown: false,
        };
        if self.cast.places(agent).is_some_and(|places| places.moves) {
            enabled.calls.insert(TRANSITION, FSM);
        }
        let mut seen = BTreeSet::new();
        let (is_machine, reach) = (agent.is_machine(), self.reach(agent));
        for capability in agent.items("capabilities") {
            let Some((id, pointer)) = capability.text("id") else {
                enabled.may_offer_anything |= capability.is_on();
                continue;
            };
            if !seen.insert(id) {
                let message = format!("this agent already lists {:?}", text::glance(id, 80));
                let help = "keep one of the two".into();
                self.refuse(Code::DuplicateCapability, &pointer, Mark::Value, message, help);
            }
            if !is_machine {
                self.history_off(&capability, id);
            } else if id != FSM && capability.is_on() {
                self.refuse_worker_capability(id, &pointer);
                continue;
            }
            self.capability(&capability, (id, &pointer), reach, &mut enabled);
        }
        if !seen.contains(HISTORY)
            && let Some(history) = self.catalogue.kinds.get(HISTORY)
        {
            let features = defaults(history);
            self.offer(&mut enabled, history, &features, reach, &agent.pointer);
        }
        self.presume_subagents(reach, &mut enabled);
        enabled
    }

    /// What one capability is, whether its settings are right, and what it adds to what the agent is offered.
    fn capability(
        &mut self,
        capability: &At<'a>,
        (id, pointer): (&'a str, &str),
        reach: Reach,
        enabled: &mut Enabled<'a>,
    ) {
        match self.find(capability, id, pointer) {
            Found::Known(known) => {
                self.params(capability, &known);
                let features = self.features(capability, known.kind);
                if capability.is_on() || id == HISTORY {
                    // Where these two would withhold their call, a refusal of their own says so.
                    let reach = if matches!(id, EXEC | FORK) { FAR } else { reach };
                    self.offer(enabled, known.kind, &features, reach, pointer);
                }
            }
            Found::Unusable => enabled.may_offer_anything |= capability.is_on(),
            Found::Unknown => enabled.has_unknown |= capability.is_on(),
        }
    }

    fn history_off(&mut self, capability: &At<'a>, id: &str) {
        if let Some(off) = capability.get("enabled").filter(|at| id == HISTORY && at.value == false) {
            let message = "an agent without its history could not hold a conversation".into();
            let help = "set it to true, or leave the capability out: every agent has it".into();
            self.refuse(Code::HistoryOff, &off.pointer, Mark::Value, message, help);
        }
    }

    /// A fork without `subagents` is refused in its own words, which ask for it: what that would offer is then not
    /// refused as well.
    fn presume_subagents(&self, reach: Reach, enabled: &mut Enabled<'a>) {
        if let Some(subagents) = self.catalogue.kinds.get(SUBAGENTS)
            && reach.forks
            && !reach.collects
        {
            for call in subagents.offered(&defaults(subagents), reach) {
                enabled.calls.entry(&call.name).or_insert(&subagents.kind);
            }
        }
    }

    fn find(&mut self, capability: &At<'a>, id: &'a str, pointer: &str) -> Found<'a> {
        let root = self.root();
        let Some((name, at)) = capability.text("component") else {
            return match self.kinds.get(id) {
                Some(known) => Found::Known(known.clone()),
                None if root.map("components").is_some_and(|map| map.contains_key(id)) => {
                    self.component_of(id, id, pointer)
                }
                None => {
                    let message = format!("there is no capability {:?}", text::glance(id, 80));
                    let components = root.entries("components").into_iter().map(|(name, _)| name);
                    let known: Vec<&str> = self.kinds.keys().copied().chain(components).collect();
                    self.refuse_unknown(Code::UnknownCapability, pointer, Mark::Value, message, id, known);
                    Found::Unknown
                }
            };
        };
        if HOST_KINDS.contains(&id) {
            let message = format!("gg carries out {id:?} itself: it takes no component");
            self.refuse(Code::ComponentKind, &at, Mark::Value, message, "remove \"component\"".into());
            return self.kinds.get(id).cloned().map_or(Found::Unknown, Found::Known);
        }
        if root.map("components").is_some_and(|map| map.contains_key(name)) {
            return self.component_of(name, id, &at);
        }
        let message = format!("there is no component {:?}", text::glance(name, 80));
        match root.entries("components")[..] {
            [] => {
                let help = format!("name its file: \"components\": {{ {name:?}: {{ \"path\": \"…\" }} }}");
                self.refuse(Code::UnknownComponent, &at, Mark::Value, message, help);
            }
            ref entries => {
                let known = entries.iter().map(|(name, _)| *name);
                self.refuse_unknown(Code::UnknownComponent, &at, Mark::Value, message, name, known);
            }
        }
        Found::Unusable
    }

    /// The component `name` of the document, for the capability `id`; `at` is where it was named.
    fn component_of(&mut self, name: &str, id: &str, at: &str) -> Found<'a> {
        let Some(known) = self.components.get(name).cloned() else { return Found::Unusable };
        let kind = known.kind;
        if kind.kind == id {
            return Found::Known(known);
        }
        let message = format!(
            "the component {:?} is of the kind {:?}, not {:?}",
            text::glance(name, 80),
            text::glance(&kind.kind, 80),
            text::glance(id, 80)
        );
        let help = format!("use it under the capability id {:?}", text::glance(&kind.kind, 80));
        self.refuse(Code::ComponentKind, at, Mark::Value, message, help);
        Found::Unusable
    }

    fn params(&mut self, capability: &At<'a>, known: &Known<'a>) {
        let empty = Value::Object(Map::new());
        let (params, pointer) = match capability.get("params") {
            Some(params) if params.value.is_object() => (params.value, params.pointer),
            Some(_) => return,
            None => (&empty, capability.pointer.clone()),
        };
        let Ok(schema) = &known.params else { return };
        for fault in schema.check(params) {
            // What is switched off need not say what it would need.
            if !capability.is_on() && matches!(fault.kind, FaultKind::Missing(_)) {
                continue;
            }
            let code = match &fault.kind {
                FaultKind::UnknownKey(key) if is_secret_key(key) => {
                    self.secret(&format!("{pointer}{}", fault.pointer), fault.mark);
                    continue;
                }
                FaultKind::UnknownKey(_) => Code::UnknownParam,
                FaultKind::Missing(_) => Code::MissingParam,
                FaultKind::Exceeds => Code::ContradictoryLimits,
                _ => Code::BadParam,
            };
            self.refuse(code, &format!("{pointer}{}", fault.pointer), fault.mark, fault.message, fault.help);
        }
        if known.kind.kind == COMPACTION
            && let Some(summarizer) = capability.get("params").and_then(|params| params.get("summarizer"))
        {
            self.model(&summarizer);
        }
    }

    /// The features as they will be.
    fn features(&mut self, capability: &At<'a>, kind: &'a Kind) -> BTreeMap<String, bool> {
        let mut features = defaults(kind);
        for (name, feature) in capability.entries("features") {
            if features.contains_key(name) {
                features.insert(name.to_owned(), feature.value.as_bool().unwrap_or_default());
                continue;
            }
            let message =
                format!("{:?} has no feature {:?}", text::glance(&kind.kind, 80), text::glance(name, 80));
            let known = kind.features.iter().map(|feature| feature.name.as_str());
            self.refuse_unknown(Code::UnknownFeature, &feature.pointer, Mark::Key, message, name, known);
        }
        features
    }

    fn offer(
        &mut self,
        enabled: &mut Enabled<'a>,
        kind: &'a Kind,
        features: &BTreeMap<String, bool>,
        reach: Reach,
        pointer: &str,
    ) {
        for call in kind.offered(features, reach) {
            match enabled.calls.get(call.name.as_str()) {
                Some(first) if *first != kind.kind => {
                    let by = if *first == FINISH { "gg itself".to_owned() } else { format!("{first:?}") };
                    let message = format!(
                        "{:?} offers the call {:?}, and so does {by}",
                        text::glance(&kind.kind, 80),
                        text::glance(&call.name, 80)
                    );
                    let help =
                        "turn one of the two off, or use a component that names the call differently".into();
                    self.refuse(Code::CallConflict, pointer, Mark::Value, message, help);
                }
                Some(_) => {}
                None => {
                    enabled.calls.insert(&call.name, &kind.kind);
                }
            }
        }
    }
}

fn defaults(kind: &Kind) -> BTreeMap<String, bool> {
    kind.features.iter().map(|feature| (feature.name.clone(), feature.enabled)).collect()
}
