//! Agents that become others by their own decision.

use gg_core::{CallStatus, Ending, Event, Origin};
use gg_tests::{
    Played, Scenario, profile,
    team::{
        call, changeable, check_slots, check_streams, enabled, exec, good, lead, spawn, states, team,
        transitions, wait,
    },
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[tokio::test]
async fn who_becomes_another_goes_on_with_what_both_may_hold() {
    let add = call("add_task", json!({ "title": "dig" }));
    let replies = json!([
        { "agent": "scout", "turn": 1, "calls": [add, exec("builder", "Build what I found.")] },
        {
            "agent": "builder", "turn": 2,
            "expect": { "systemContains": "You are builder.", "lastContains": "Build what I found." },
            "calls": [call("list_tasks", json!({}))],
        },
        { "agent": "builder", "turn": 3, "expect": { "results": { "list_tasks": "dig" } }, "text": "built" },
    ]);
    let scout = changeable("scout", &["builder"], &[("tasks", json!({})), ("memories", json!({}))]);
    let holds = enabled(&[("tasks", json!({})), ("notebook", json!({}))]);
    let builder = profile("builder", json!({ "capabilities": holds }));
    let played = team(1, vec![scout, builder], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    insta::assert_snapshot!(played.story());
    assert_eq!(
        transitions(&played),
        [
            "a1 exec a2: history moved transferred, memories dropped -, notebook - initialized, tasks moved transferred"
        ]
    );
    assert_eq!(states(&played), ["a1 running", "a1 became a2", "a2 running", "a2 ended"]);
    check_slots(&played, 1);
    check_streams(&played);
    // What described the agent that was is nowhere in what the other reads.
    let all = [Origin::Prompt, Origin::Reply, Origin::Results, Origin::Opening]
        .map(|origin| played.told("a2", origin));
    assert!(!all.concat().concat().contains("You are scout"), "{}", played.story());
}

/// A child that becomes two others is one agent to the one that spawned it: one id, one slot, one result. It needs
/// neither `subagents` nor room below it, and its children stay its own.
#[tokio::test]
async fn a_child_that_becomes_others_is_one_agent_to_whoever_spawned_it() {
    let send = call("send_message", json!({ "id": "a2", "message": "hurry" }));
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("first")] },
        { "agent": "lead", "turn": 2, "calls": [send] },
        { "agent": "lead", "turn": 3, "calls": [wait()] },
        { "agent": "lead", "turn": 4, "calls": [wait()] },
        { "agent": "lead", "turn": 5, "text": "done" },
        { "agent": "first", "calls": [exec("second", "")] },
        { "agent": "second", "expect": { "contains": "hurry" }, "calls": [exec("third", "")] },
        { "agent": "third", "calls": [good("at last")] },
    ]);
    let agents = vec![
        lead("lead", &["first"], 1),
        changeable("first", &["second"], &[]),
        changeable("second", &["third"], &[]),
        profile("third", json!({})),
    ];
    let played = team(1, agents, replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    check_slots(&played, 1);
    check_streams(&played);
    let of = |id: &str, profile: &str, parent: &str, depth| {
        (id.to_owned(), profile.to_owned(), parent.to_owned(), depth)
    };
    assert_eq!(
        played.spawned(),
        [
            of("a1", "lead", "-", 0),
            of("a2", "first", "a1", 1),
            of("a3", "second", "a2", 1),
            of("a4", "third", "a3", 1)
        ]
    );
    let (status, first) = &played.results("a1", "wait_for_subagents")[0];
    let expected = json!({ "results": [
        { "id": "a2", "agent": "first", "how": "finished", "outcome": "success", "text": "at last" },
    ] });
    assert_eq!((*status, serde_json::from_str::<Value>(first).unwrap()), (CallStatus::Ok, expected));
    assert_eq!(played.endings().keys().collect::<Vec<_>>(), ["a1", "a4"]);
    // Each incarnation counts for its own profile.
    let turns: BTreeMap<String, u64> =
        played.summary.profiles.iter().map(|sums| (sums.profile.to_string(), sums.turns)).collect();
    let expected = [("first", 1), ("lead", 5), ("second", 1), ("third", 1)];
    assert_eq!(turns, expected.map(|(profile, turns)| (profile.to_owned(), turns)).into());
}

#[tokio::test]
async fn a_session_splits_its_cost_between_those_that_spent_it() {
    let mut agents = vec![changeable("cheap", &["dear"], &[]), profile("dear", json!({}))];
    agents[0]["model"]["prices"] = json!({ "input": 1, "output": 1 });
    agents[1]["model"]["prices"] = json!({ "input": 100, "output": 100 });
    let replies = json!([
        { "agent": "cheap", "calls": [exec("dear", "")], "usage": { "input": 1000, "output": 0 } },
        { "agent": "dear", "text": "done", "usage": { "input": 1000, "output": 0 } },
    ]);
    let played = team(1, agents, replies).play().await;
    let costs: Vec<(String, f64)> =
        played.summary.profiles.iter().map(|sums| (sums.profile.to_string(), sums.cost.unwrap().0)).collect();
    assert_eq!(costs, [("cheap".to_owned(), 0.001), ("dear".to_owned(), 0.1)]);
}

#[tokio::test]
async fn only_those_of_the_roster_can_be_become_and_a_turn_makes_one_succession() {
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [exec("nobody", ""), exec("third", "")] },
        { "agent": "a1", "turn": 2, "calls": [exec("second", "first"), exec("first", "second")] },
        { "agent": "a2", "turn": 3, "expect": { "lastContains": "first" }, "text": "done" },
    ]);
    let agents = vec![
        changeable("first", &["second", "first"], &[]),
        profile("second", json!({})),
        profile("third", json!({})),
    ];
    let played = team(1, agents, replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let results = played.results("a1", "exec");
    for (status, text) in &results[..2] {
        assert_eq!(*status, CallStatus::Refused);
        assert!(text.contains("\"second\"") && text.contains("\"first\""), "{text}");
    }
    assert_eq!(results[2].0, CallStatus::Noted);
    assert_eq!(results[3].0, CallStatus::Refused);
    assert!(results[3].1.contains("makes only one: the first stands"), "{results:?}");
    assert_eq!(transitions(&played), ["a1 exec a2: history moved transferred"]);
}

#[tokio::test]
async fn an_ending_goes_before_a_succession() {
    let replies = json!([{ "calls": [exec("second", ""), good("enough")] }]);
    let agents = vec![changeable("first", &["second"], &[]), profile("second", json!({}))];
    let played = team(1, agents, replies).play().await;
    assert_eq!(transitions(&played), [""; 0]);
    assert!(matches!(&played.summary.ending, Ending::Finished { text, .. } if text == "enough"));
}

/// Retention and the ids' length are those of the profile that goes on; what was issued stays, and is issued to nobody
/// else.
#[tokio::test]
async fn the_program_library_crosses_and_its_limits_are_resolved_anew() {
    let record = |source: &str| call("record_program", json!({ "source": source, "outcome": "fine" }));
    let replies = json!([
        { "calls": [record("one"), record("two"), record("three"), exec("second", "")] },
        { "calls": [record("four"), call("list_programs", json!({}))] },
        { "text": "done" },
    ]);
    let library = |params: Value| json!([{ "id": "programs", "enabled": true, "params": params, "features": { "record": true } }]);
    let mut first = changeable("first", &["second"], &[]);
    let mut capabilities = library(json!({ "maxEntries": 10, "idLength": 5 }));
    capabilities.as_array_mut().unwrap().push(json!({ "id": "exec", "enabled": true }));
    first["capabilities"] = capabilities;
    let second =
        profile("second", json!({ "capabilities": library(json!({ "maxEntries": 2, "idLength": 9 })) }));
    let played = team(1, vec![first, second], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let id = |(_, text): &(CallStatus, String)| {
        serde_json::from_str::<Value>(text).unwrap()["id"].as_str().unwrap().to_owned()
    };
    let ids: Vec<String> = played.results("a2", "record_program").iter().map(id).collect();
    // The results of the turn before stand in its window, and so in its stream.
    assert_eq!(ids.iter().map(String::len).collect::<Vec<_>>(), [5, 5, 5, 9]);
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
    let listed = &played.results("a2", "list_programs")[0].1;
    assert!(listed.contains(&ids[3]) && listed.contains(&ids[2]), "{listed}");
    assert!(!listed.contains(&ids[0]) && !listed.contains(&ids[1]), "{listed}");
}

/// Each capability offers its own call, and an allowlist grants it like any other.
#[tokio::test]
async fn exec_and_fork_are_offered_each_by_its_own_capability() {
    let roster = json!([{ "agentId": "other", "scopes": ["subagent"] }]);
    let subagents = ("subagents", json!({ "maxDepth": 2 }));
    for (capabilities, roster, allowed, offers) in [
        (vec![("exec", json!({}))], roster.clone(), None, vec!["exec"]),
        (
            vec![("fork", json!({})), subagents.clone()],
            json!([]),
            None,
            vec!["fork", "send_message", "wait_for_subagents"],
        ),
        (vec![], roster.clone(), None, vec![]),
        (
            vec![("exec", json!({})), ("fork", json!({})), subagents.clone()],
            roster.clone(),
            Some(json!(["fork", "wait_for_subagents"])),
            vec!["fork", "wait_for_subagents"],
        ),
        (vec![subagents], json!([]), None, vec![]),
    ] {
        let mut solo = profile("solo", json!({ "capabilities": enabled(&capabilities), "roster": roster }));
        if let Some(allowed) = allowed {
            solo["calls"] = allowed;
        }
        let agents = vec![solo, profile("other", json!({}))];
        let played = team(1, agents, json!([{ "text": "done" }])).play().await;
        let history = ["archive_thread", "read_archive", "list_archives", "finish"];
        let offered: Vec<String> = played.offered("a1")[0].clone();
        let offered: Vec<&str> =
            offered.iter().map(String::as_str).filter(|name| !history.contains(name)).collect();
        assert_eq!(offered, offers);
    }
}

/// A profile that no two agents may run at once: whoever becomes one gives its slot up and waits for it like any other,
/// and comes before those that have not started.
#[tokio::test]
async fn who_becomes_a_keyed_agent_waits_for_the_key_without_a_slot() {
    let mut keyed = profile("keyed", json!({}));
    keyed["persistent"] = json!(true);
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("keyed"), spawn("plain"), wait()] },
        { "agent": "lead", "turn": 2, "text": "done" },
        { "agent": "a2", "text": "mine", "delayMs": 300 },
        { "agent": "plain", "calls": [exec("keyed", "")] },
        { "agent": "a4", "text": "mine too" },
    ]);
    let agents = vec![lead("lead", &["keyed", "plain"], 1), keyed, changeable("plain", &["keyed"], &[])];
    let played = team(2, agents, replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    check_slots(&played, 2);
    check_streams(&played);
    let of = |agent: &str| -> Vec<String> {
        states(&played).into_iter().filter(|line| line.starts_with(agent)).collect()
    };
    assert_eq!(of("a4"), ["a4 queued", "a4 running", "a4 ended"]);
    let at = |line: &str| states(&played).iter().position(|other| other == line).unwrap();
    assert!(at("a2 ended") < at("a4 running"), "{:?}", states(&played));
}

/// `maxTurns` counts a profile's own turns within its lineage.
#[tokio::test]
async fn a_lineage_cannot_turn_for_ever_by_becoming_itself() {
    let mut agent = changeable("again", &["again"], &[]);
    agent["maxTurns"] = json!(4);
    let replies = json!([{ "times": 9, "calls": [exec("again", "")] }]);
    let played = team(1, vec![agent], replies).play().await;
    assert_eq!(played.summary.ending, Ending::TurnLimit { limit: 4 });
    // Whoever has no turn left is not become: the last one reads that, and ends at the limit.
    assert_eq!(transitions(&played).len(), 3);
    assert!(
        played.told("a4", Origin::Notice).concat().contains("again has no turn left"),
        "{}",
        played.story()
    );
    check_streams(&played);
}

/// The settings of a module are the receiver's: contents over a lowered cap stay, and additions are refused.
#[tokio::test]
async fn caps_are_resolved_from_the_profile_that_goes_on() {
    let add = |title: &str| call("add_task", json!({ "title": title }));
    let replies = json!([
        { "calls": [add("one"), add("two"), exec("second", "")] },
        { "calls": [add("three"), call("list_tasks", json!({}))] },
        { "text": "done" },
    ]);
    let first = changeable("first", &["second"], &[("tasks", json!({ "maxTasks": 5 }))]);
    let second =
        profile("second", json!({ "capabilities": enabled(&[("tasks", json!({ "maxTasks": 1 }))]) }));
    let played = team(1, vec![first, second], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    assert_eq!(played.results("a2", "add_task").last().unwrap().0, CallStatus::Refused);
    let listed = &played.results("a2", "list_tasks")[0].1;
    assert!(listed.contains("one") && listed.contains("two") && !listed.contains("three"), "{listed}");
}

/// Handing memories on moves the hold; what the next agent may do with them is for its own profile to say.
#[tokio::test]
async fn memories_that_are_handed_on_are_read_only_where_the_next_profile_says_so() {
    let save = |name: &str| call("save_memory", json!({ "name": name, "text": "kept" }));
    let replies = json!([
        { "calls": [save("mine"), exec("second", "")] },
        { "calls": [save("more"), call("search_memories", json!({ "query": "kept" }))] },
        { "text": "done" },
    ]);
    let first = changeable("first", &["second"], &[("memories", json!({}))]);
    let holds = enabled(&[("memories", json!({ "scope": "read-only" }))]);
    let played =
        team(1, vec![first, profile("second", json!({ "capabilities": holds }))], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    assert_eq!(played.results("a2", "save_memory").last().unwrap().0, CallStatus::Refused);
    assert!(played.results("a2", "search_memories")[0].1.contains("mine"), "{}", played.story());
}

/// What the agent that goes on may never say twice is what it was told: the turn's own results.
#[tokio::test]
async fn the_move_is_made_once_every_result_of_the_turn_is_recorded() {
    let list = call("list_tasks", json!({}));
    let replies = json!([
        { "calls": [exec("second", ""), list] },
        { "expect": { "results": { "list_tasks": "no tasks" } }, "text": "done" },
    ]);
    let first = changeable("first", &["second"], &[("tasks", json!({}))]);
    let played = team(1, vec![first, profile("second", json!({}))], replies).play().await;
    let names = |played: &Played| -> Vec<&'static str> {
        played.events.iter().map(|recorded| recorded.event.name()).collect()
    };
    let at = |name: &str| names(&played).iter().position(|other| *other == name).unwrap();
    let last_result = names(&played).iter().rposition(|name| *name == "call_result").unwrap();
    assert!(last_result < at("agent_transition"), "{}", played.story());
    let is_carried = |recorded: &&std::sync::Arc<gg_core::Recorded>| {
        matches!(&recorded.event, Event::Message { message, .. }
            if recorded.agent.as_ref().is_some_and(|agent| agent.as_str() == "a2")
                && message.call_results().any(|result| result.name == "list_tasks"))
    };
    assert_eq!(played.events.iter().filter(is_carried).count(), 1, "{}", played.story());
}

/// The bytes of a built-in component with a section that says nothing: another component of the same format.
fn another_component(name: &str) -> Vec<u8> {
    let path = gg_tests::root().join(format!("bin/components/{name}.wasm"));
    let mut bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    bytes.extend([0, 5, 4, b'm', b'i', b'n', b'e']);
    bytes
}

async fn play_with_another(kind: &str, agents: Value, replies: Value) -> Played {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("another.wasm"), another_component(kind)).unwrap();
    std::fs::write(folder.path().join("script.json"), json!({ "replies": replies }).to_string()).unwrap();
    let configuration = json!({
        "maxParallel": 1,
        "providers": { "script": { "api": "scripted", "script": "script.json" } },
        "components": { "another": { "path": "another.wasm" } },
        "agents": agents,
    });
    Scenario::of(folder.path(), &configuration.to_string(), "Go.").play().await
}

/// The capability `kind`, carried out by the other component.
fn by_another(kind: &str, params: Value) -> Value {
    json!({ "id": kind, "component": "another", "enabled": true, "params": params })
}

#[tokio::test]
async fn a_state_crosses_between_two_components_of_one_format() {
    for kind in ["notebook", "history"] {
        let replies = json!([
            { "agent": "a1", "calls": [call("write_page", json!({ "page": "p", "text": "kept" })), exec("second", "")] },
            { "agent": "a2", "expect": { "contains": "[call write_page" }, "calls": [call("read_page", json!({ "page": "p" }))] },
            { "agent": "a2", "expect": { "results": { "read_page": "kept" } }, "text": "done" },
        ]);
        let mut second = profile("second", json!({ "capabilities": enabled(&[("notebook", json!({}))]) }));
        let capabilities = second["capabilities"].as_array_mut().unwrap();
        capabilities.retain(|capability| capability["id"] != kind);
        capabilities.push(by_another(kind, json!({})));
        let first = changeable("first", &["second"], &[("notebook", json!({}))]);
        let played = play_with_another(kind, json!([first, second]), replies).await;
        assert!(played.summary.ending.is_good(), "{kind}: {}", played.story());
        check_streams(&played);
    }
}

/// What others hold too stays in the component that it runs in: it cannot be handed to one that brings another.
#[tokio::test]
async fn memories_that_others_hold_do_not_change_their_component() {
    let replies = json!([
        { "agent": "a1", "calls": [spawn("heir")] },
        { "agent": "a1", "calls": [exec("second", "")] },
        { "agent": "a1", "expect": { "lastContains": ["You have not become second", "others hold it too"] }, "calls": [wait()] },
        { "agent": "a1", "text": "done" },
        { "agent": "heir", "text": "done" },
    ]);
    let mut first = changeable("first", &["second", "heir"], &[("memories", json!({}))]);
    first["capabilities"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "id": "subagents", "enabled": true, "params": { "maxDepth": 1 } }));
    let second = profile("second", json!({ "capabilities": [by_another("memories", json!({}))] }));
    let heir =
        profile("heir", json!({ "capabilities": enabled(&[("memories", json!({ "scope": "inherited" }))]) }));
    let played = play_with_another("memories", json!([first, second, heir]), replies).await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    assert_eq!(transitions(&played), [""; 0]);
}
