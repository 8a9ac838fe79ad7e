//! Agents that wait hold no instances. A file of its own, because it counts those of the whole process.

use gg_core::{Event, Live};
use gg_tests::{
    profile, registry,
    team::{call, lead, spawn, team, wait, with_modules},
};
use serde_json::json;

#[tokio::test]
async fn a_queued_or_blocked_agent_holds_no_instance_of_any_module() {
    let add = call("add_task", json!({ "title": "wait" }));
    let replies = json!([
        { "agent": "top", "turn": 1, "calls": [add, spawn("mid")] },
        { "agent": "top", "turn": 2, "calls": [wait()] },
        { "agent": "top", "turn": 3, "calls": [call("list_tasks", json!({}))] },
        { "agent": "top", "turn": 4, "expect": { "results": { "list_tasks": "wait" } }, "text": "done" },
        { "agent": "mid", "turn": 1, "calls": [spawn("leaf"), spawn("leaf"), wait()] },
        { "agent": "mid", "turn": 2, "text": "done" },
        { "agent": "leaf", "times": 2, "text": "done", "delayMs": 100 },
    ]);
    let agents = vec![
        with_modules(lead("top", &["mid"], 2)),
        with_modules(lead("mid", &["leaf"], 2)),
        with_modules(profile("leaf", json!({}))),
    ];
    let (count, counted) = tokio::sync::oneshot::channel();
    let played = team(1, agents, replies)
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
