//! Teams of scripted agents, and what the record says of them.

use crate::{Played, Scenario, profile};
use gg_core::{AgentId, Event};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The capability `subagents`, with this depth.
pub fn subagents(depth: u32) -> Value {
    json!([{ "id": "subagents", "enabled": true, "params": { "maxDepth": depth } }])
}

/// The profile, which then also holds the modules `tasks`, `notebook` and `memories`: four with its history.
pub fn with_modules(mut profile: Value) -> Value {
    let capabilities = profile["capabilities"].as_array_mut().unwrap();
    capabilities.extend(["tasks", "notebook", "memories"].map(|id| json!({ "id": id, "enabled": true })));
    profile
}

/// An agent that may spawn `target`.
pub fn lead(id: &str, targets: &[&str], depth: u32) -> Value {
    let roster: Vec<Value> =
        targets.iter().map(|target| json!({ "agentId": target, "scopes": ["subagent"] })).collect();
    profile(id, json!({ "roster": roster, "capabilities": subagents(depth) }))
}

/// Agents whose root is the first, and their script.
pub fn team(max_parallel: u32, agents: Vec<Value>, replies: Value) -> Scenario {
    Scenario::scripted(&json!({ "maxParallel": max_parallel, "agents": agents }), &replies)
}

/// A call that spawns.
pub fn spawn(agent: &str) -> Value {
    json!({ "name": "spawn_subagent", "arguments": { "agent": agent, "prompt": "Do your part." } })
}

/// A call.
pub fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

/// A call that waits for all.
pub fn wait() -> Value {
    json!({ "name": "wait_for_subagents" })
}

/// A call that ends well.
pub fn good(text: &str) -> Value {
    call("finish", json!({ "outcome": "success", "text": text }))
}

/// The states that agents went through, in the order of the record: `a2 blocked a3`.
pub fn states(played: &Played) -> Vec<String> {
    let states = played.events.iter().filter_map(|recorded| match &recorded.event {
        Event::AgentState { state, on } => {
            let on: Vec<&str> = on.iter().map(AgentId::as_str).collect();
            let state = serde_json::to_value(state).unwrap();
            let text = format!("{} {} {}", recorded.agent.as_ref()?, state.as_str()?, on.join(" "));
            Some(text.trim_end().to_owned())
        }
        Event::AgentEnded { .. } => Some(format!("{} ended", recorded.agent.as_ref()?)),
        _ => None,
    });
    states.collect()
}

/// Never more run than may, and nobody runs who was not let in.
pub fn check_slots(played: &Played, cap: usize) {
    let mut running = BTreeSet::new();
    for line in states(played) {
        let mut words = line.split(' ');
        let agent = words.next().unwrap().to_owned();
        match words.next().unwrap() {
            "running" => assert!(running.insert(agent), "{line}"),
            _ => {
                running.remove(&agent);
            }
        }
        assert!(running.len() <= cap, "{running:?} run at once");
    }
    assert!(running.is_empty(), "{running:?} never ended");
}
