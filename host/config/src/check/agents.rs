//! Rules about agents: ids, models, allowlists.

use super::{At, Check, capabilities::Enabled, delegation::SUBAGENTS};
use crate::{Code, Mark, provider::reserved_parameters, source::escape};
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
            if let Some(model) = agent.get("model") {
                self.model(&model);
            }
            if let Some(("code", pointer)) = agent.text("execution") {
                let message = "this version of gg cannot run agents whose model acts by programs".into();
                let help = "use \"calls\", or leave it out".into();
                self.refuse(Code::Unsupported, &pointer, Mark::Value, message, help);
            }
            let enabled = self.capabilities(&agent);
            self.allowlist(&agent, &enabled);
            self.hooks(&agent, &enabled);
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
