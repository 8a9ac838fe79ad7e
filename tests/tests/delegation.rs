//! Agents that put others to work: spawning, waiting, writing, and the one scheduler they share.

use gg_core::{AgentId, CallStatus, Ending, Event, Live};
use gg_runtime::RunHandle;
use gg_tests::{
    Played, Scenario, profile,
    team::{call, check_slots, good, lead, spawn, states, subagents, team, wait},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn depths(played: &Played) -> BTreeMap<String, u32> {
    let spawned = played.events.iter().filter_map(|recorded| match &recorded.event {
        Event::AgentSpawned { depth, .. } => Some((recorded.agent.as_ref()?.to_string(), *depth)),
        _ => None,
    });
    spawned.collect()
}

#[tokio::test]
async fn a_waiting_lead_gives_its_slot_up_and_comes_back_before_those_that_have_not_started() {
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("worker"), spawn("worker"), spawn("worker")] },
        { "agent": "lead", "turn": 2, "calls": [call("wait_for_subagents", json!({ "ids": ["a2"] }))] },
        { "agent": "lead", "turn": 3, "calls": [wait()] },
        { "agent": "lead", "turn": 4, "calls": [good("all done")] },
        { "agent": "worker", "times": 3, "text": "done" },
    ]);
    let agents = vec![lead("lead", &["worker"], 1), profile("worker", json!({}))];
    let played = team(1, agents, replies).play().await;
    assert_eq!(
        states(&played),
        [
            "a1 running",
            "a2 queued",
            "a3 queued",
            "a4 queued",
            "a1 blocked a2",
            "a2 running",
            "a2 ended",
            // The lead's condition is met: it goes before a3 and a4, which have not started.
            "a1 running",
            "a1 blocked a3 a4",
            "a3 running",
            "a3 ended",
            // It resumes only once both have ended, though a slot is free.
            "a4 running",
            "a4 ended",
            "a1 running",
            "a1 ended",
        ]
    );
    check_slots(&played, 1);
    assert!(played.summary.ending.is_good());
}

/// Each agent spawns one of its own kind and waits; the one at the bottom is told that there is no room.
#[tokio::test]
async fn a_tree_as_deep_as_it_may_be_runs_in_one_slot() {
    let replies = json!([
        { "turn": 1, "times": 9, "calls": [spawn("node")] },
        { "turn": 2, "times": 9, "calls": [wait()] },
        { "turn": 3, "times": 9, "calls": [good("up")] },
    ]);
    let played = team(1, vec![lead("node", &["node"], 8)], replies).play().await;
    check_slots(&played, 1);
    let depths = depths(&played);
    assert_eq!(depths.values().copied().collect::<Vec<u32>>(), (0..=8).collect::<Vec<u32>>());
    assert!(played.endings().values().all(Ending::is_good));
    // A limit, not a queue: the request was well-formed, and the run has no room left below that agent.
    let (status, text) = &played.results("a9", "spawn_subagent")[0];
    assert_eq!(*status, CallStatus::Failed);
    assert!(text.contains("limit: you are at depth 8, and maxDepth is 8"), "{text}");
}

#[tokio::test]
async fn parents_as_many_as_the_cap_all_wait_and_all_come_back() {
    let replies = json!([
        { "agent": "root", "turn": 1, "calls": [spawn("parent"), spawn("parent"), spawn("parent")] },
        { "agent": "root", "turn": 2, "calls": [wait()] },
        { "agent": "root", "turn": 3, "text": "done" },
        { "agent": "parent", "turn": 1, "times": 3, "calls": [spawn("leaf"), spawn("leaf")] },
        { "agent": "parent", "turn": 2, "times": 3, "calls": [wait()] },
        { "agent": "parent", "turn": 3, "times": 3, "text": "done" },
        { "agent": "leaf", "times": 6, "text": "done" },
    ]);
    let agents = vec![lead("root", &["parent"], 2), lead("parent", &["leaf"], 2), profile("leaf", json!({}))];
    let played = team(3, agents, replies).play().await;
    check_slots(&played, 3);
    assert_eq!(played.endings().len(), 10);
    assert!(played.endings().values().all(Ending::is_good), "{:?}", played.endings());
}

/// Its child needs the key that it holds; while it waits, it holds none.
#[tokio::test]
async fn a_persistent_agent_that_spawns_itself_and_waits_does_not_lock_itself_out() {
    let mut keyed = lead("keyed", &["keyed"], 1);
    keyed["persistent"] = json!(true);
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [spawn("keyed"), spawn("keyed")] },
        { "agent": "a1", "turn": 2, "calls": [wait()] },
        { "agent": "a1", "turn": 3, "text": "done" },
        { "agent": "keyed", "times": 2, "text": "mine" },
    ]);
    let played = team(5, vec![keyed], replies).play().await;
    // Five slots are free, and still only one of them runs.
    check_slots(&played, 1);
    assert_eq!(played.endings().len(), 3);
}

#[tokio::test]
async fn a_wait_that_could_never_end_is_refused_and_so_is_one_for_strangers() {
    let ids = |ids: &[&str]| call("wait_for_subagents", json!({ "ids": ids }));
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [wait(), ids(&["a1"]), ids(&["a77"]), spawn("node")] },
        { "agent": "a1", "turn": 2, "calls": [ids(&["a2", "a2"])] },
        { "agent": "a1", "turn": 3, "calls": [ids(&["a2"]), ids(&["a3"]), wait()] },
        { "agent": "a1", "turn": 4, "text": "done" },
        { "agent": "a2", "turn": 1, "calls": [ids(&["a1"]), spawn("node")] },
        { "agent": "a2", "turn": 2, "calls": [wait()] },
        { "agent": "a2", "turn": 3, "text": "result of a2" },
        { "agent": "a3", "text": "result of a3" },
    ]);
    let played = team(1, vec![lead("node", &["node"], 2)], replies).play().await;
    let a2 = r#"{"results":[{"agent":"node","how":"text","id":"a2","text":"result of a2"}]}"#;
    let refused = |text: &str| (CallStatus::Refused, format!("refused: {text}"));
    let nobody = "there is no subagent whose result you have not been given";
    assert_eq!(
        played.results("a1", "wait_for_subagents"),
        [
            refused(nobody),
            refused("\"a1\" is you: that would never end"),
            refused("there is no agent \"a77\"; use an id that you were given when you put it to work"),
            (CallStatus::Ok, a2.to_owned()),
            // Asked again it is given again.
            (CallStatus::Ok, a2.to_owned()),
            refused("\"a3\" is not your subagent: only the agent that spawned it gets its result"),
            refused(nobody),
        ]
    );
    let a2_waits = played.results("a2", "wait_for_subagents");
    assert_eq!(
        a2_waits[0],
        refused("\"a1\" is not your subagent: only the agent that spawned it gets its result")
    );
    assert!(played.summary.ending.is_good());
}

/// A look is no wait: it gives up no slot, and does not claim that time was up for what is there.
#[tokio::test]
async fn a_wait_of_no_time_only_looks() {
    let look = call("wait_for_subagents", json!({ "timeoutMs": 0 }));
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("slow"), look] },
        { "agent": "lead", "turn": 2, "calls": [wait()] },
        { "agent": "lead", "turn": 3, "text": "done" },
        { "agent": "slow", "text": "late" },
    ]);
    let played = team(1, vec![lead("lead", &["slow"], 1), profile("slow", json!({}))], replies).play().await;
    let waits = played.results("a1", "wait_for_subagents");
    assert_eq!(waits[0].1, r#"{"results":[],"running":["a2"],"timedOut":true}"#);
    let blocked = states(&played).into_iter().filter(|line| line.starts_with("a1 blocked")).count();
    assert_eq!(blocked, 1, "only the wait that follows");
}

/// Cancels an agent as soon as the record says that it is in `state`.
fn cancel_when(handle: &RunHandle, agent: &'static str, state: &'static str) {
    let mut seen = handle.subscribe(1000);
    let canceller = handle.canceller();
    tokio::spawn(async move {
        while let Some(live) = seen.recv().await {
            let Live::Event(recorded) = live else { continue };
            if recorded.agent.as_ref().is_some_and(|id| id.as_str() == agent)
                && let Event::AgentState { state: found, .. } = &recorded.event
                && serde_json::to_value(found).unwrap() == state
            {
                assert!(canceller.cancel_agent(&AgentId::new(agent), "no longer wanted"));
                return;
            }
        }
    });
}

#[tokio::test]
async fn an_agent_can_be_cancelled_in_each_state_and_leaves_no_slot_behind() {
    for (agent, state) in [("a2", "running"), ("a3", "queued"), ("a2", "blocked")] {
        let blocks = state == "blocked";
        let work = if blocks { json!([spawn("leaf")]) } else { json!([]) };
        let replies = json!([
            { "agent": "a1", "turn": 1, "calls": [spawn("mid"), spawn("mid")] },
            { "agent": "a1", "turn": 2, "calls": [wait()] },
            { "agent": "a1", "turn": 3, "text": "seen" },
            { "agent": "a2", "turn": 1, "text": "worked", "delayMs": 150, "calls": work },
            { "agent": "a2", "turn": 2, "calls": [wait()] },
            { "agent": "a2", "turn": 3, "text": "worked" },
            { "agent": "a3", "text": "worked", "delayMs": if blocks { 0 } else { 50 } },
            { "agent": "leaf", "text": "leaf", "delayMs": 150 },
        ]);
        let agents = vec![lead("top", &["mid"], 2), lead("mid", &["leaf"], 2), profile("leaf", json!({}))];
        let played = team(1, agents, replies).play_with(|handle| cancel_when(handle, agent, state)).await;
        let endings = played.endings();
        let cancelled = Ending::Cancelled { reason: "no longer wanted".into() };
        assert_eq!(endings[agent], cancelled, "{state}");
        let others = endings.iter().filter(|(id, _)| *id != agent);
        assert!(others.clone().all(|(_, ending)| ending.is_good()), "{state}: {endings:?}");
        let waits = played.results("a1", "wait_for_subagents");
        assert!(waits[0].1.contains(r#""how":"cancelled","id":""#), "{state}: {waits:?}");
        check_slots(&played, 1);
    }
}

#[tokio::test]
async fn cancelling_the_run_ends_every_agent_in_whatever_state() {
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("slow"), spawn("slow"), spawn("slow")] },
        { "agent": "lead", "turn": 2, "calls": [wait()] },
        { "agent": "slow", "times": 3, "text": "late", "delayMs": 60_000 },
    ]);
    let agents = vec![lead("lead", &["slow"], 1), profile("slow", json!({}))];
    let played = team(2, agents, replies)
        .play_with(|handle| {
            let mut seen = handle.subscribe(1000);
            let canceller = handle.canceller();
            tokio::spawn(async move {
                let mut blocked = false;
                while let Some(live) = seen.recv().await {
                    let Live::Event(recorded) = live else { continue };
                    if let Event::AgentState { on, .. } = &recorded.event {
                        blocked |= !on.is_empty();
                    }
                    let runs = matches!(recorded.event, Event::TurnStarted { .. });
                    if blocked && runs {
                        canceller.cancel("enough");
                    }
                }
            });
        })
        .await;
    let cancelled = Ending::Cancelled { reason: "enough".into() };
    assert_eq!(played.endings().len(), 4);
    assert!(played.endings().values().all(|ending| *ending == cancelled), "{:?}", played.endings());
}

#[tokio::test]
async fn a_wait_for_any_answers_with_the_first_and_a_deadline_with_what_there_is() {
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("slow"), spawn("quick")] },
        { "agent": "lead", "turn": 2, "calls": [call("wait_for_subagents", json!({ "mode": "any" }))] },
        { "agent": "lead", "turn": 3,
          "calls": [call("wait_for_subagents", json!({ "timeoutMs": 1 }))] },
        { "agent": "lead", "turn": 4, "calls": [wait()] },
        { "agent": "lead", "turn": 5, "text": "done" },
        { "agent": "slow", "text": "slow", "delayMs": 300 },
        { "agent": "quick", "text": "quick" },
    ]);
    let agents =
        vec![lead("lead", &["slow", "quick"], 1), profile("slow", json!({})), profile("quick", json!({}))];
    let played = team(2, agents, replies).play().await;
    let waits: Vec<String> =
        played.results("a1", "wait_for_subagents").into_iter().map(|(_, text)| text).collect();
    let slow = r#"{"agent":"slow","how":"text","id":"a2","text":"slow"}"#;
    let quick = r#"{"agent":"quick","how":"text","id":"a3","text":"quick"}"#;
    assert_eq!(
        waits,
        [
            format!(r#"{{"results":[{quick}],"running":["a2"]}}"#),
            r#"{"results":[],"running":["a2"],"timedOut":true}"#.to_owned(),
            format!(r#"{{"results":[{slow}]}}"#),
        ]
    );
}

#[tokio::test]
async fn after_a_compaction_an_agent_is_told_which_children_are_still_running() {
    let long = "word ".repeat(600);
    let replies = json!([
        { "agent": "lead", "turn": 1, "text": long, "calls": [spawn("slow")] },
        { "agent": "lead", "turn": 2, "text": "now", "calls": [call("compact", json!({}))] },
        { "agent": "lead", "purpose": "summary", "text": "It began." },
        { "agent": "lead", "turn": 3, "expect": { "contains": "a2 (slow): still running" }, "calls": [wait()] },
        { "agent": "lead", "turn": 4, "text": "done" },
        { "agent": "slow", "text": "late", "delayMs": 400 },
    ]);
    let mut top = lead("lead", &["slow"], 1);
    let compaction = json!({ "id": "compaction", "enabled": true, "params": { "keepTurns": 0 } });
    top["capabilities"].as_array_mut().unwrap().push(compaction);
    let played = team(2, vec![top, profile("slow", json!({}))], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
}

/// What is offered follows from the capability, its feature and the roster's scopes.
#[tokio::test]
async fn calls_are_offered_only_where_they_can_be_used() {
    let scoped = |scopes: &[&str]| json!([{ "agentId": "other", "scopes": scopes }]);
    let on = |features: Value| json!([{ "id": "subagents", "enabled": true, "params": { "maxDepth": 1 }, "features": features }]);
    let off = json!([{ "id": "subagents", "enabled": false, "params": { "maxDepth": 1 } }]);
    let all = json!([
        "finish",
        "read_archive",
        "archive_thread",
        "spawn_subagent",
        "wait_for_subagents",
        "send_message"
    ]);
    let none = json!(["finish", "read_archive", "archive_thread"]);
    let quiet = json!(["finish", "read_archive", "archive_thread", "spawn_subagent", "wait_for_subagents"]);
    let cases = [
        (scoped(&["subagent"]), on(json!({})), all.clone()),
        (scoped(&["subagent", "reviewer"]), on(json!({ "messaging": true })), all),
        (scoped(&["subagent"]), on(json!({ "messaging": false })), quiet),
        // A roster full of implementers and reviewers is one that can spawn nothing.
        (scoped(&["implementer", "reviewer"]), on(json!({})), none.clone()),
        (json!([]), on(json!({})), none.clone()),
        (scoped(&["subagent"]), off, none),
    ];
    for (roster, capabilities, expected) in cases {
        let agents = vec![
            profile("lead", json!({ "roster": roster, "capabilities": capabilities })),
            profile("other", json!({})),
        ];
        let replies = json!([{ "agent": "lead", "expect": { "calls": expected }, "text": "done" }]);
        let played = team(1, agents, replies).play().await;
        assert!(played.summary.ending.is_good(), "{roster} {capabilities}: {:?}", played.endings());
    }
}

/// The one who spawns is told which id names each target and when to reach for it, and no other is accepted.
#[tokio::test]
async fn the_roster_is_in_the_call_and_nothing_else_can_be_spawned() {
    let roster = json!([
        { "agentId": "reader", "scopes": ["subagent"], "description": "reads long files" },
        { "agentId": "judge", "scopes": ["reviewer"], "description": "judges" },
    ]);
    let agents = vec![
        profile("lead", json!({ "roster": roster, "capabilities": subagents(1) })),
        profile("reader", json!({ "name": "The Reader" })),
        profile("judge", json!({})),
        profile("unlisted", json!({})),
    ];
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("judge"), spawn("unlisted"), spawn("nobody")] },
        { "agent": "lead", "turn": 2, "text": "done" },
    ]);
    let played = team(1, agents.clone(), replies).play().await;
    for (status, text) in played.results("a1", "spawn_subagent") {
        assert_eq!(status, CallStatus::Refused);
        assert!(text.contains("reader"), "it names those that are listed: {text}");
    }
    assert_eq!(played.endings().len(), 1);
}

#[tokio::test]
async fn a_tree_that_would_run_away_ends_with_the_name_of_the_limit() {
    // Each agent spawns two of its kind, and those again, without end.
    let replies = json!([
        { "turn": 1, "times": 10_000, "calls": [spawn("node"), spawn("node")],
          "usage": { "input": 100, "output": 100 } },
        { "turn": 2, "times": 10_000, "calls": [wait()], "usage": { "input": 100, "output": 100 } },
        { "turn": 3, "times": 10_000, "text": "done", "usage": { "input": 100, "output": 100 } },
    ]);
    let prices = json!({ "input": 1000.0, "output": 1000.0 });
    for (key, max) in
        [("turns", json!(40)), ("tokens", json!(8000)), ("cost", json!(2.5)), ("wallTimeMs", json!(400))]
    {
        let mut node = lead("node", &["node"], 1000);
        node["model"]["prices"] = prices.clone();
        let configuration = json!({ "maxParallel": 4, "budget": { key: max }, "agents": [node] });
        let played = Scenario::scripted(&configuration, &replies).play().await;
        let Ending::Budget { limit, .. } = &played.summary.ending else {
            panic!("{key}: {:?}", played.summary.ending)
        };
        assert_eq!(limit.key(), key);
        check_slots(&played, 4);
    }
    let configuration =
        json!({ "maxParallel": 4, "budget": { "agents": 7 }, "agents": [lead("node", &["node"], 1000)] });
    let played = Scenario::scripted(&configuration, &replies).play().await;
    assert_eq!(played.endings().len(), 7);
    let refused: Vec<String> = played
        .endings()
        .keys()
        .flat_map(|id| played.results(id, "spawn_subagent"))
        .filter(|(status, _)| *status == CallStatus::Failed)
        .map(|(_, text)| text)
        .collect();
    assert!(refused.iter().all(|text| text.contains("budget.agents")), "{refused:?}");
    assert_eq!(refused.len(), 8);
}

/// The root has ended, its children have not: the run goes on until the last of them has.
#[tokio::test]
async fn a_run_lives_until_its_last_agent_has_ended() {
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("slow")] },
        { "agent": "lead", "turn": 2, "text": "not waiting" },
        { "agent": "slow", "text": "late", "delayMs": 100 },
    ]);
    let agents = vec![lead("lead", &["slow"], 1), profile("slow", json!({}))];
    let played = team(2, agents, replies).play().await;
    let order: Vec<String> = states(&played).into_iter().filter(|line| line.ends_with("ended")).collect();
    assert_eq!(order, ["a1 ended", "a2 ended"]);
    assert_eq!(played.summary.ending, Ending::Text { text: "not waiting".into() });
    assert!(matches!(played.events.last().unwrap().event, Event::RunEnded { .. }));
}

#[tokio::test]
async fn a_child_runs_under_its_own_profile_in_its_parents_workspace() {
    let workspace = json!({ "id": "workspace", "enabled": true });
    let mut top = lead("lead", &["reader"], 1);
    top["capabilities"].as_array_mut().unwrap().push(workspace.clone());
    let mut reader = profile("reader", json!({ "capabilities": [workspace] }));
    reader["model"]["name"] = json!("small");
    let write = call("write_file", json!({ "path": "word.txt", "content": "quince" }));
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [write, spawn("reader")] },
        { "agent": "lead", "turn": 2, "calls": [wait()] },
        { "agent": "lead", "turn": 3, "text": "done" },
        { "agent": "reader", "turn": 1,
          "expect": { "systemContains": "You are reader.", "notOffered": "spawn_subagent", "messages": 1,
                      "lastContains": "Do your part." },
          "calls": [call("read_file", json!({ "path": "word.txt" }))] },
        { "agent": "reader", "turn": 2, "expect": { "results": { "read_file": "quince" } }, "text": "quince" },
    ]);
    let played = team(1, vec![top, reader], replies).play().await;
    assert!(played.endings().values().all(Ending::is_good), "{}", played.story());
    let models: Vec<String> = played
        .events
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::AgentSpawned { model, .. } => Some(model.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(models, ["scripted", "small"]);
}
