//! Teams of scripted agents, and what the record says of them.

use crate::{Played, Scenario, fates, profile};
use gg_core::{AgentId, Event, MessageId, SuccessionKind};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

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

/// Capabilities that are enabled, with their params.
pub fn enabled(capabilities: &[(&str, Value)]) -> Value {
    capabilities.iter().map(|(id, params)| json!({ "id": id, "enabled": true, "params": params })).collect()
}

/// An agent that may become any of `targets`, with these capabilities besides.
pub fn changeable(id: &str, targets: &[&str], capabilities: &[(&str, Value)]) -> Value {
    let roster: Vec<Value> =
        targets.iter().map(|target| json!({ "agentId": target, "scopes": ["subagent"] })).collect();
    let capabilities = [capabilities, &[("exec", json!({}))]].concat();
    profile(id, json!({ "roster": roster, "capabilities": enabled(&capabilities) }))
}

/// An agent that may copy itself, with these capabilities besides.
pub fn forker(id: &str, capabilities: &[(&str, Value)]) -> Value {
    let own = [("subagents", json!({ "maxDepth": 3 })), ("fork", json!({}))];
    profile(id, json!({ "capabilities": enabled(&[capabilities, &own].concat()) }))
}

/// A move to a state, with the kinds of modules that go along.
pub type Edge<'a> = (&'a str, &'a [&'a str]);

/// A state: its name, its agent, and its edges.
pub type State<'a> = (&'a str, &'a str, &'a [Edge<'a>]);

/// A machine of these states.
pub fn machine(id: &str, states: &[State<'_>]) -> Value {
    let edge = |(to, transfer): &Edge<'_>| json!({ "to": to, "transfer": transfer, "description": format!("when it is time for {to}") });
    let state = |(name, agent, edges): &State<'_>| {
        let transitions: Vec<Value> = edges.iter().map(edge).collect();
        json!({ "name": name, "agentId": agent, "transitions": transitions })
    };
    let states: Vec<Value> = states.iter().map(state).collect();
    json!({ "id": id, "capabilities": [{ "id": "fsm", "enabled": true, "params": { "states": states } }] })
}

/// A call by which an agent becomes another.
pub fn exec(agent: &str, prompt: &str) -> Value {
    call("exec", json!({ "agent": agent, "prompt": prompt }))
}

/// A call that has a copy of the agent do something.
pub fn fork(prompt: &str) -> Value {
    call("fork", json!({ "prompt": prompt }))
}

/// A call that moves on to another state.
pub fn step_to(state: &str, note: &str) -> Value {
    call("transition_state", json!({ "to": state, "note": note }))
}

/// What each succession of a run did to each module, with who made it and what it came to.
pub fn transitions(played: &Played) -> Vec<String> {
    let lines = played.events.iter().filter_map(|recorded| match &recorded.event {
        Event::AgentTransition { kind, to, modules, .. } => {
            Some(format!("{} {kind} {to}: {}", recorded.agent.as_ref()?, fates(modules).join(", ")))
        }
        _ => None,
    });
    lines.collect()
}

/// Every stream can be read without any other: it states each message that its requests name, once and before that; a
/// succession is its last event or a copy's first word; and what comes of it stands right behind it.
pub fn check_streams(played: &Played) {
    let mut stated: BTreeMap<AgentId, BTreeSet<MessageId>> = BTreeMap::new();
    let mut gone = BTreeSet::new();
    for (at, recorded) in played.events.iter().enumerate() {
        let Some(agent) = recorded.agent.clone() else { continue };
        assert!(!gone.contains(&agent), "{agent} goes on: {:?}", recorded.event);
        match &recorded.event {
            Event::Message { message, .. } => {
                assert!(
                    stated.entry(agent).or_default().insert(message.id),
                    "{} is stated twice",
                    message.id
                );
            }
            Event::Request { messages, .. } => {
                let known = stated.get(&agent).cloned().unwrap_or_default();
                assert!(messages.iter().all(|id| known.contains(id)), "{agent} {messages:?} {known:?}");
            }
            Event::AgentTransition { to, kind, profile, .. } => {
                let next = &played.events[at + 1];
                assert_eq!((next.seq.0, next.agent.as_ref()), (recorded.seq.0 + 1, Some(to)));
                let Event::AgentSpawned { profile: spawned, parent, .. } = &next.event else {
                    panic!("{:?}", next.event)
                };
                assert_eq!((spawned, parent.as_ref()), (profile, Some(&agent)));
                if *kind != SuccessionKind::Fork {
                    gone.insert(agent);
                }
            }
            _ => {}
        }
    }
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
        Event::AgentTransition { kind, to, .. } if *kind != SuccessionKind::Fork => {
            Some(format!("{} became {to}", recorded.agent.as_ref()?))
        }
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
