//! Agents that wait hold no instances. A file of its own, because it counts those of the whole process.

use gg_core::{Event, Live};
use gg_tests::{Scenario, profile, registry};
use serde_json::{Value, json};

#[tokio::test]
async fn a_queued_or_blocked_agent_holds_no_instance_of_any_module() {
    let modules = |more: Value| {
        let mut all = json!([
            { "id": "tasks", "enabled": true },
            { "id": "notebook", "enabled": true },
            { "id": "memories", "enabled": true },
        ]);
        all.as_array_mut().unwrap().extend(more.as_array().unwrap().clone());
        all
    };
    let subagents = json!([{ "id": "subagents", "enabled": true, "params": { "maxDepth": 2 } }]);
    let lead = |id: &str, target: &str| {
        let roster = json!([{ "agentId": target, "scopes": ["subagent"] }]);
        profile(id, json!({ "roster": roster, "capabilities": modules(subagents.clone()) }))
    };
    let spawn = |agent: &str| json!({ "name": "spawn_subagent", "arguments": { "agent": agent, "prompt": "Do your part." } });
    let add = json!({ "name": "add_task", "arguments": { "title": "wait" } });
    let wait = json!({ "name": "wait_for_subagents" });
    let replies = json!([
        { "agent": "top", "turn": 1, "calls": [add, spawn("mid")] },
        { "agent": "top", "turn": 2, "calls": [wait] },
        { "agent": "top", "turn": 3, "calls": [{ "name": "list_tasks" }] },
        { "agent": "top", "turn": 4, "expect": { "results": { "list_tasks": "wait" } }, "text": "done" },
        { "agent": "mid", "turn": 1, "calls": [spawn("leaf"), spawn("leaf"), wait] },
        { "agent": "mid", "turn": 2, "text": "done" },
        { "agent": "leaf", "times": 2, "text": "done", "delayMs": 100 },
    ]);
    let agents = [
        lead("top", "mid"),
        lead("mid", "leaf"),
        profile("leaf", json!({ "capabilities": modules(json!([])) })),
    ];
    let configuration = json!({ "maxParallel": 1, "agents": agents });
    let (count, counted) = tokio::sync::oneshot::channel();
    let played = Scenario::scripted(&configuration, &replies)
        .play_with(|handle| {
            let mut seen = handle.subscribe(1000);
            tokio::spawn(async move {
                while let Some(live) = seen.recv().await {
                    let Live::Event(recorded) = live else { continue };
                    let is_leaf = recorded.agent.as_ref().is_some_and(|agent| agent.as_str() == "a3");
                    if is_leaf && matches!(recorded.event, Event::TurnStarted { .. }) {
                        count.send(registry().sandbox().live_guests()).unwrap();
                        return;
                    }
                }
            });
        })
        .await;
    assert!(played.summary.ending.is_good(), "{:?}", played.endings());
    // Two are blocked, one is queued, and the one that runs has its history and three more.
    assert_eq!(counted.await.unwrap(), 4);
    assert_eq!(registry().sandbox().live_guests(), 0);
}
