//! Rules about who may put whom to work, and what all of them may use up together.

use super::{At, Check};
use crate::{Code, Mark, Reach};
use gg_core::text;
use std::collections::BTreeSet;

/// The capability that spawns.
pub(super) const SUBAGENTS: &str = "subagents";

impl<'a> Check<'a> {
    /// The roster of an agent: its entries exist, and none stands twice.
    pub(super) fn roster(&mut self, agent: &At<'a>) -> Reach {
        let ids = self.agent_ids();
        let mut seen = BTreeSet::new();
        let mut reach = Reach::default();
        for entry in agent.items("roster") {
            reach.spawns |= entry.items("scopes").iter().any(|scope| scope.value == "subagent");
            let Some((id, pointer)) = entry.text("agentId") else { continue };
            if !ids.contains(id) {
                let message = format!("there is no agent {:?}", text::glance(id, 80));
                let known = ids.iter().copied();
                self.refuse_unknown(Code::UnknownAgent, &pointer, Mark::Value, message, id, known);
            } else if !seen.insert(id) {
                let message = format!("this roster already lists {:?}", text::glance(id, 80));
                let help = "keep one of the two, with the scopes of both".into();
                self.refuse(Code::DuplicateRosterEntry, &pointer, Mark::Value, message, help);
            }
        }
        reach
    }

    fn agent_ids(&self) -> BTreeSet<&'a str> {
        self.root().items("agents").iter().filter_map(|agent| Some(agent.text("id")?.0)).collect()
    }

    /// One depth bounds the whole run, so one is read, that of the first agent that enables `subagents`: another one
    /// elsewhere, switched off or not, would be read by nothing.
    pub(super) fn max_depth(&mut self) {
        let mut depths = Vec::new();
        for agent in self.root().items("agents") {
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
        let agents = self.root().items("agents");
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
