//! Components that misbehave in a whole run: a module costs the call that it broke, and the agent goes on; a
//! history that cannot be believed may end its own agent by name, and never the run's record.

use gg_core::Event;
use gg_tests::{Played, Scenario, root};
use serde_json::{Value, json};
use std::fs;

/// Plays a run whose agent holds a guest beside a task list. `replies` is the script.
async fn play(guest: &str, capability: Value, replies: Value) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let script = json!({ "replies": replies }).to_string();
    fs::write(folder.path().join("script.json"), script).unwrap();
    let configuration = json!({
        "maxParallel": 1,
        "providers": { "script": { "api": "scripted", "script": "script.json" } },
        "components": { "guest": { "path": root().join(format!("bin/guests/{guest}.wasm")) } },
        "agents": [{
            "id": "solo",
            "model": { "provider": "script", "name": "scripted", "contextWindow": 16000, "maxOutput": 500 },
            "prompt": "You are under test.",
            "maxTurns": 8,
            "capabilities": [capability, { "id": "tasks", "enabled": true }],
        }],
    });
    Scenario::of(folder.path(), &configuration.to_string(), "Go.").play().await
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

#[tokio::test]
async fn a_module_that_breaks_costs_its_call_and_the_agent_goes_on() {
    for (at, how) in [
        ("clone", "trap"),
        ("clone", "grow"),
        ("restore", "trap"),
        ("prompt", "trap"),
        ("prompt", "huge"),
        ("call", "stack"),
        ("call", "bad-json"),
        ("call", "wild"),
    ] {
        let played = play(
            "hostile",
            json!({ "id": "hostile", "component": "guest", "enabled": true }),
            json!([
                { "calls": [call("add_task", json!({ "title": "survive" }))] },
                { "calls": [call("arm", json!({ "at": at, "how": how }))] },
                { "calls": [call("strike", json!({ "how": "trap" })), call("list_tasks", json!({}))] },
                {
                    "expect": { "results": { "list_tasks": "survive" } },
                    "calls": [call("finish", json!({ "outcome": "success", "text": "done" }))],
                },
            ]),
        )
        .await;
        assert!(played.summary.ending.is_good(), "{at} {how}:\n{}", played.story());
        let broke = played.events.iter().any(
            |recorded| matches!(&recorded.event, Event::ModuleFailed { module, .. } if module == "hostile"),
        );
        assert!(broke, "{at} {how}: the record names no failure\n{}", played.story());
    }
}

#[tokio::test]
async fn a_history_that_cannot_be_believed_never_ends_the_record() {
    for (at, how) in [
        ("append", "trap"),
        ("append", "error"),
        ("entries", "trap"),
        ("entries", "turn-back"),
        ("prompt", "trap"),
    ] {
        let list = || json!({ "calls": [call("list_tasks", json!({}))] });
        let played = play(
            "hostile-history",
            json!({
                "id": "history",
                "component": "guest",
                "enabled": true,
                "params": { "at": at, "how": how },
            }),
            json!([
                list(),
                { "calls": [call("add_task", json!({ "title": "survive" }))] },
                { "calls": [call("finish", json!({ "outcome": "success", "text": "done" }))] },
            ]),
        )
        .await;
        let last = played.events.last().map(|recorded| recorded.event.name());
        assert_eq!(last, Some("run_ended"), "{at} {how}:\n{}", played.story());
        let ended = played.events.iter().filter(|recorded| recorded.event.name() == "agent_ended").count();
        assert_eq!(ended, 1, "{at} {how}:\n{}", played.story());
    }
}
