//! Rules about who may put whom to work, and what all of them may use up together.

use super::{At, Check, succession::is_spawnable};
use crate::{
    Code, Mark, Reach,
    catalogue::{FORK, SUBAGENTS},
};
use gg_core::text;
use std::collections::BTreeSet;

impl<'a> Check<'a> {
    /// The roster of an agent: its entries exist, and none stands twice.
    pub(super) fn roster(&mut self, agent: &At<'a>) {
        let mut seen = BTreeSet::new();
        for entry in agent.items("roster") {
            let Some((id, pointer)) = entry.text("agentId") else { continue };
            if self.cast.agent(id).is_none() {
                let message = format!("there is no agent {:?}", text::glance(id, 80));
                let known = self.cast.ids();
                self.refuse_unknown(Code::UnknownAgent, &pointer, Mark::Value, message, id, known);
            } else if !seen.insert(id) {
                let message = format!("this roster already lists {:?}", text::glance(id, 80));
                let help = "keep one of the two, with the scopes of both".into();
                self.refuse(Code::DuplicateRosterEntry, &pointer, Mark::Value, message, help);
            }
        }
    }

    /// What decides, beside features, which calls this agent is offered.
    pub(super) fn reach(&self, agent: &At<'a>) -> Reach {
        Reach {
            spawns: agent.items("roster").iter().any(is_spawnable),
            forks: agent.enabled(FORK).is_some(),
            collects: agent.enabled(SUBAGENTS).is_some(),
        }
    }

    /// One depth bounds the whole run, so one is read, that of the first agent that enables `subagents`: another one
    /// elsewhere, switched off or not, would be read by nothing.
    pub(super) fn max_depth(&mut self) {
        let mut depths = Vec::new();
        for agent in self.workers() {
            let name = text::glance(agent.text("id").map_or("?", |(id, _)| id), 80);
            for capability in agent.items("capabilities") {
                let is_subagents = capability.text("id").is_some_and(|(id, _)| id == SUBAGENTS);
                let depth = capability.get("params").and_then(|params| params.whole("maxDepth"));
                if let Some((depth, pointer)) = depth.filter(|_| is_subagents) {
                    let is_on = capability.get("enabled").is_some_and(|at| at.value == true);
                    depths.push((name.clone(), depth, pointer, is_on));
                }
            }
        }
        let Some((by, kept, ..)) = depths.iter().find(|(.., is_on)| *is_on).cloned() else { return };
        for (_, depth, pointer, _) in depths {
            if depth != kept {
                let message = format!(
                    "maxDepth bounds the whole run, and agent {by:?} has set it to {kept}: this one would be read \
                     by nothing"
                );
                let help = format!("write {kept} here, or change both");
                self.refuse(Code::MaxDepthConflict, &pointer, Mark::Value, message, help);
            }
        }
    }

    /// A budget of money needs the price of everything that it is to bound.
    pub(super) fn budgets(&mut self) {
        let agents = self.workers();
        let of_run = self.root().get("budget").and_then(|budget| budget.get("cost"));
        let mut unpriced: Vec<(String, Vec<At<'a>>)> = Vec::new();
        for agent in &agents {
            let name = agent.text("id").map_or("?", |(id, _)| id);
            unpriced.push((text::glance(name, 80), unpriced_models(agent)));
        }
        for (agent, (name, models)) in agents.iter().zip(&unpriced) {
            if let Some(cost) = agent.get("budget").and_then(|budget| budget.get("cost"))
                && !models.is_empty()
            {
                self.refuse_cost(&cost, std::slice::from_ref(name));
            }
        }
        let names: Vec<String> =
            unpriced.into_iter().filter(|(_, models)| !models.is_empty()).map(|(name, _)| name).collect();
        if let Some(cost) = of_run
            && !names.is_empty()
        {
            self.refuse_cost(&cost, &names);
        }
    }

    /// The agents that take turns.
    fn workers(&self) -> Vec<At<'a>> {
        self.root().items("agents").into_iter().filter(|agent| !agent.is_machine()).collect()
    }

    fn refuse_cost(&mut self, cost: &At<'a>, agents: &[String]) {
        let message = format!("a cost cannot be bounded where models have no prices: {}", agents.join(", "));
        let help = "give each of their models \"prices\", or bound \"tokens\" instead".into();
        self.refuse(Code::ContradictoryLimits, &cost.pointer, Mark::Value, message, help);
    }
}

/// The models of an agent, its summarizer's included, that have no prices.
fn unpriced_models<'a>(agent: &At<'a>) -> Vec<At<'a>> {
    let summarizers = agent.items("capabilities").into_iter().filter_map(|capability| {
        let is_on = capability.get("enabled").is_some_and(|at| at.value == true);
        capability.get("params").filter(|_| is_on)?.get("summarizer")
    });
    let models = agent.get("model").into_iter().chain(summarizers);
    models.filter(|model| model.value.is_object() && model.get("prices").is_none()).collect()
}
