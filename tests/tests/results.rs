//! What a child's parent gets of it, and what becomes of messages, whatever ends the child and whenever.

use gg_core::{CallStatus, Origin};
use gg_tests::{
    profile,
    team::{call, lead, spawn, states, team, wait},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Whatever ends a child, its parent gets exactly one result that says so.
#[tokio::test]
async fn every_way_to_end_is_a_result() {
    let kinds = ["text", "declares", "limited", "loops", "fails", "spends"];
    let spawns: Vec<Value> = kinds.iter().map(|kind| spawn(kind)).collect();
    let data = json!({ "verdict": "reject", "score": 2 });
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": spawns },
        { "agent": "lead", "turn": 2, "calls": [wait()] },
        { "agent": "lead", "turn": 3, "text": "seen" },
        { "agent": "text", "text": "plain" },
        { "agent": "declares",
          "calls": [call("finish", json!({ "outcome": "failure", "text": "no", "data": data }))] },
        { "agent": "limited", "calls": [call("list_tasks", json!({}))] },
        { "agent": "loops", "times": 9, "calls": [call("list_tasks", json!({}))] },
        { "agent": "fails", "error": { "kind": "auth" } },
        { "agent": "spends", "times": 9, "calls": [call("add_task", json!({ "title": "more" }))],
          "usage": { "input": 60, "output": 40 } },
    ]);
    let tasks = json!([{ "id": "tasks", "enabled": true }]);
    let agents = vec![
        lead("lead", &kinds, 1),
        profile("text", json!({})),
        profile("declares", json!({})),
        profile("limited", json!({ "maxTurns": 1, "capabilities": tasks })),
        profile("loops", json!({ "loopDetection": { "repeats": 2 }, "capabilities": tasks })),
        profile("fails", json!({})),
        profile("spends", json!({ "budget": { "tokens": 150 }, "capabilities": tasks })),
    ];
    let played = team(2, agents, replies).play().await;
    let waits = played.results("a1", "wait_for_subagents");
    let answer: Value = serde_json::from_str(&waits[0].1).unwrap();
    let results = answer["results"].as_array().unwrap();
    let how: Vec<&str> = results.iter().map(|result| result["how"].as_str().unwrap()).collect();
    assert_eq!(how, ["text", "finished", "turn_limit", "loop", "failed", "budget"]);
    assert_eq!(
        results[1],
        json!({ "id": "a3", "agent": "declares", "how": "finished", "outcome": "failure", "text": "no",
                "data": data })
    );
    assert!(results[3].get("text").is_none(), "it said nothing");
    assert_eq!(results[5]["limit"], "tokens");
    assert_eq!(results[5]["max"], 150.0);
}

/// What an agent has declared stands, also where a message that came in that moment opens a turn that cannot begin.
#[tokio::test]
async fn a_late_message_never_costs_what_was_declared() {
    let send = call("send_message", json!({ "id": "a2", "message": "One more thing." }));
    let declares = call("finish", json!({ "outcome": "success", "text": "the answer", "data": { "v": 1 } }));
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("worker")] },
        { "agent": "lead", "turn": 2, "calls": [send, wait()] },
        { "agent": "lead", "turn": 3, "text": "done" },
        { "agent": "worker", "turn": 1, "delayMs": 300, "calls": [declares],
          "usage": { "input": 50, "output": 50 } },
        { "agent": "worker", "turn": 2, "error": { "kind": "auth" } },
    ]);
    let limits = [json!({}), json!({ "budget": { "tokens": 80 } }), json!({ "budget": { "turns": 1 } })];
    for limit in limits {
        let agents = vec![lead("lead", &["worker"], 1), profile("worker", limit.clone())];
        let played = team(2, agents, replies.clone()).play().await;
        assert_eq!(played.results("a1", "send_message")[0].0, CallStatus::Ok);
        let waits = played.results("a1", "wait_for_subagents");
        let answer: Value = serde_json::from_str(&waits[0].1).unwrap();
        let result = &answer["results"][0];
        assert_eq!((&result["text"], &result["data"]["v"]), (&json!("the answer"), &json!(1)), "{limit}");
        // It was read in the turn that failed, or never: then its sender is told so.
        let was_read = played.messages().iter().any(|(origin, _)| *origin == Origin::Inbox);
        assert_eq!(result.get("unreadMessages").is_none(), was_read, "{limit}: {answer}");
    }
}

/// A limit leaves no turn to read a message in, and what the agent said until then is not lost.
#[tokio::test]
async fn an_agent_at_its_limit_says_what_it_said_and_what_it_did_not_read() {
    let send = call("send_message", json!({ "id": "a2", "message": "One more thing." }));
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("worker")] },
        { "agent": "lead", "turn": 2, "calls": [send, wait()] },
        { "agent": "lead", "turn": 3, "text": "done" },
        { "agent": "worker", "turn": 1, "delayMs": 300, "text": "I found 42.", "calls": [spawn("nobody")] },
    ]);
    let worker = profile("worker", json!({ "maxTurns": 1 }));
    let played = team(2, vec![lead("lead", &["worker"], 1), worker], replies).play().await;
    let waits = played.results("a1", "wait_for_subagents");
    let answer: Value = serde_json::from_str(&waits[0].1).unwrap();
    let expected = json!({ "id": "a2", "agent": "worker", "how": "turn_limit", "limit": 1,
                           "text": "I found 42.", "unreadMessages": 1 });
    assert_eq!(answer["results"][0], expected);
}

#[tokio::test]
async fn a_message_is_read_at_the_next_turn_and_refused_once_its_receiver_has_ended() {
    let send = |id: &str| call("send_message", json!({ "id": id, "message": "Also look at b.txt." }));
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("worker")] },
        { "agent": "lead", "turn": 2, "calls": [send("a2"), send("a1"), send("a9"), wait()] },
        { "agent": "lead", "turn": 3, "calls": [send("a2")] },
        { "agent": "lead", "turn": 4, "text": "done" },
        { "agent": "worker", "turn": 1, "expect": { "contains": "Also look at b.txt." }, "text": "seen" },
    ]);
    let agents = vec![lead("lead", &["worker"], 1), profile("worker", json!({}))];
    // With one slot the child is queued while it is written to.
    let played = team(1, agents, replies).play().await;
    let sent = played.results("a1", "send_message");
    let statuses: Vec<CallStatus> = sent.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [CallStatus::Ok, CallStatus::Refused, CallStatus::Refused, CallStatus::Refused]);
    assert!(sent[3].1.contains("a2 no longer reads messages: it ended with a text"), "{}", sent[3].1);
    assert!(played.summary.ending.is_good(), "{:?}", played.endings());
}

/// A message sent in the moment its receiver ends is read, or it is refused: it is never lost.
#[tokio::test]
async fn a_message_sent_while_its_receiver_ends_is_read_or_refused() {
    let mut outcomes = BTreeSet::new();
    for delay in 0..24 {
        let send = call("send_message", json!({ "id": "a2", "message": "One more thing." }));
        let replies = json!([
            { "agent": "lead", "turn": 1, "calls": [spawn("worker")] },
            { "agent": "lead", "turn": 2, "delayMs": delay % 6, "calls": [send.clone()] },
            { "agent": "lead", "turn": 3, "calls": [send] },
            { "agent": "lead", "turn": 4, "calls": [wait()] },
            { "agent": "lead", "turn": 5, "text": "done" },
            { "agent": "worker", "times": 3, "delayMs": 2, "text": "done" },
        ]);
        let agents = vec![lead("lead", &["worker"], 1), profile("worker", json!({}))];
        let played = team(2, agents, replies).play().await;
        let sent = played.results("a1", "send_message");
        let accepted = sent.iter().filter(|(status, _)| *status == CallStatus::Ok).count();
        let read = played.messages().iter().filter(|(origin, _)| *origin == Origin::Inbox).count();
        assert_eq!(read, accepted, "{sent:?}");
        outcomes.insert(accepted);
    }
    assert!(outcomes.iter().all(|accepted| *accepted <= 2));
}

#[tokio::test]
async fn a_message_never_wakes_a_blocked_waiter() {
    let send = call("send_message", json!({ "id": "a2", "message": "Hurry." }));
    let replies = json!([
        { "agent": "top", "turn": 1, "calls": [spawn("mid")] },
        { "agent": "top", "turn": 2, "delayMs": 100, "calls": [send] },
        { "agent": "top", "turn": 3, "calls": [wait()] },
        { "agent": "top", "turn": 4, "text": "done" },
        { "agent": "mid", "turn": 1, "calls": [spawn("leaf")] },
        { "agent": "mid", "turn": 2, "calls": [wait()] },
        { "agent": "mid", "turn": 3, "expect": { "contains": "Hurry." }, "text": "done" },
        { "agent": "leaf", "text": "leaf", "delayMs": 250 },
    ]);
    let agents = vec![lead("top", &["mid"], 2), lead("mid", &["leaf"], 2), profile("leaf", json!({}))];
    let played = team(3, agents, replies).play().await;
    assert!(played.summary.ending.is_good(), "{:?}", played.endings());
    let mid = states(&played).into_iter().filter(|line| line.starts_with("a2 ")).collect::<Vec<_>>();
    assert_eq!(mid, ["a2 queued", "a2 running", "a2 blocked a3", "a2 running", "a2 ended"]);
}
