//! Rules about agents: ids, models, allowlists.

use super::{
    At, Check,
    capabilities::Enabled,
    is_secret_key,
    machines::{TRANSITION, WHO_MOVES},
};
use crate::{
    Code, Mark, ValueSchema,
    catalogue::SUBAGENTS,
    provider::reserved_parameters,
    schema::{DOCUMENT, WORKER_REQUIRES},
    source::escape,
    value_schema::{description, missing},
};
use gg_core::text;
use std::collections::BTreeMap;

impl<'a> Check<'a> {
    pub(super) fn agents(&mut self) {
        let mut ids: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, agent) in self.root().items("agents").into_iter().enumerate() {
            if let Some((id, pointer)) = agent.text("id") {
                match ids.get(id) {
                    Some(first) => {
                        let message =
                            format!("the id {:?} is taken by agent {}", text::glance(id, 80), first + 1);
                        let help = "give each agent an id of its own".into();
                        self.refuse(Code::DuplicateAgent, &pointer, Mark::Value, message, help);
                    }
                    None => {
                        ids.insert(id, at);
                    }
                }
            }
            if agent.is_machine() {
                self.machine(&agent);
            } else {
                self.worker(&agent);
            }
        }
    }

    /// An agent that takes turns.
    fn worker(&mut self, agent: &At<'a>) {
        self.required(agent);
        if let Some(model) = agent.get("model") {
            self.model(&model);
        }
        if let Some(("code", pointer)) = agent.text("execution") {
            let message = "this version of gg cannot run agents whose model acts by programs".into();
            let help = "use \"calls\", or leave it out".into();
            self.refuse(Code::Unsupported, &pointer, Mark::Value, message, help);
        }
        self.roster(agent);
        let enabled = self.capabilities(agent);
        self.allowlist(agent, &enabled);
        self.hooks(agent, &enabled);
        self.succession(agent);
    }

    /// The keys that only a machine can do without. What the check reads documents with knows no such condition.
    fn required(&mut self, agent: &At<'a>) {
        for key in WORKER_REQUIRES {
            if !agent.value.is_object() || agent.get(key).is_some() {
                continue;
            }
            let property = format!("/properties/agents/items/properties/{key}");
            let document = DOCUMENT.as_ref().ok().map(ValueSchema::schema);
            let about = document.and_then(|schema| schema.pointer(&property)).map(description);
            let (message, help) = missing(key, about.as_deref());
            self.refuse(Code::MissingValue, &agent.pointer, Mark::Value, message, help);
        }
    }

    /// A model: an agent's own, or one in the params of a capability.
    pub(super) fn model(&mut self, model: &At<'a>) {
        let root = self.root();
        if let (Some((provider, pointer)), Some(providers)) = (model.text("provider"), root.map("providers"))
            && !providers.contains_key(provider)
        {
            let message = format!("there is no provider {:?}", text::glance(provider, 80));
            let known = providers.keys().map(String::as_str);
            self.refuse_unknown(Code::UnknownProvider, &pointer, Mark::Value, message, provider, known);
        }
        if let (Some((output, pointer)), Some((window, _))) =
            (model.whole("maxOutput"), model.whole("contextWindow"))
            && output >= window
        {
            let message =
                format!("a reply of {output} tokens leaves no room for a request in a window of {window}");
            let help = "make maxOutput less than contextWindow".into();
            self.refuse(Code::ContradictoryLimits, &pointer, Mark::Value, message, help);
        }
        let api = model
            .text("provider")
            .and_then(|(name, _)| root.get("providers")?.get(name)?.value.get("api")?.as_str());
        for name in reserved_parameters(api) {
            if model.map("parameters").is_some_and(|parameters| parameters.contains_key(name)) {
                let pointer = format!("{}/parameters/{}", model.pointer, escape(name));
                let message = format!("gg itself decides about {name:?} in every request");
                self.refuse(Code::ReservedParameter, &pointer, Mark::Key, message, "remove it".into());
            }
        }
        // Anything may be asked of a server, and a key for it is no parameter of any.
        for (name, parameter) in model.entries("parameters") {
            if is_secret_key(name) && parameter.value.is_string() {
                self.secret(&parameter.pointer, Mark::Key);
            }
        }
    }

    fn allowlist(&mut self, agent: &At<'a>, enabled: &Enabled<'a>) {
        for call in agent.items("calls") {
            let Some(name) = call.value.as_str() else { continue };
            if enabled.calls.contains_key(name) || enabled.may_offer_anything {
                continue;
            }
            let source = self.who_offers(name);
            // The capability that was not recognised may have been meant to be that one.
            if source.is_some() && enabled.has_unknown {
                continue;
            }
            let message = format!("nothing this agent enables offers the call {:?}", text::glance(name, 80));
            match source {
                Some(SUBAGENTS) => {
                    let help = "enable the capability \"subagents\" and its features, and list in \"roster\" an agent \
                                with the scope \"subagent\"";
                    self.refuse(Code::UnknownCall, &call.pointer, Mark::Value, message, help.into());
                }
                Some(kind) => {
                    let help = format!("enable the capability {kind:?} and its features, which offer it");
                    self.refuse(Code::UnknownCall, &call.pointer, Mark::Value, message, help);
                }
                None if name == TRANSITION => {
                    let help = WHO_MOVES.into();
                    self.refuse(Code::UnknownCall, &call.pointer, Mark::Value, message, help);
                }
                None => {
                    let known = enabled.calls.keys().copied();
                    self.refuse_unknown(Code::UnknownCall, &call.pointer, Mark::Value, message, name, known);
                }
            }
        }
    }

    /// A capability that would offer this call.
    pub(super) fn who_offers(&self, call: &str) -> Option<&'a str> {
        let kinds = self.kinds.values().chain(self.components.values()).map(|known| known.kind);
        let mut offering = kinds.filter(|kind| kind.calls.iter().any(|spec| spec.name == call));
        offering.next().map(|kind| kind.kind.as_str())
    }
}
