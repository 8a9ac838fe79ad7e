//! Agents that are copied: what a copy holds, and that it is an ordinary child.

use gg_core::{CallStatus, Ending, Event, Origin};
use gg_tests::{
    profile,
    team::{
        call, changeable, check_slots, check_streams, enabled, exec, fork, forker, good, spawn, states, team,
        transitions, wait,
    },
};
use serde_json::{Value, json};

#[tokio::test]
async fn a_copy_knows_what_its_original_knew_and_goes_on_beside_it() {
    let add = call("add_task", json!({ "title": "dig" }));
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [add, fork("Look behind the house.")] },
        { "agent": "a1", "turn": 2, "calls": [wait()] },
        { "agent": "a1", "turn": 3, "expect": { "results": { "wait_for_subagents": "nothing there" } }, "text": "done" },
        {
            "agent": "a2", "turn": 2,
            "expect": { "lastContains": "Look behind the house.", "systemContains": "You are lead." },
            "calls": [call("list_tasks", json!({})), good("nothing there")],
        },
    ]);
    let played = team(1, vec![forker("lead", &[("tasks", json!({}))])], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    insta::assert_snapshot!(played.story());
    check_slots(&played, 1);
    check_streams(&played);
    // An ordinary child: its id, one level deeper, queued for a slot of its own.
    let ids: Vec<(String, String, u32)> =
        played.spawned().into_iter().map(|(id, profile, _, depth)| (id, profile, depth)).collect();
    assert_eq!(ids, [("a1".into(), "lead".into(), 0), ("a2".into(), "lead".into(), 1)]);
    assert!(states(&played).contains(&"a2 queued".to_owned()));
    assert_eq!(transitions(&played), ["a1 fork a2: history cloned cloned, tasks cloned cloned"]);
    let note = &played.told("a2", Origin::Opening)[0];
    assert!(note.contains("You are agent a2, a copy of agent a1, made at the end of its turn 1"), "{note}");
    assert!(note.contains("The original is still running, with its own copy of it, in parallel"), "{note}");
}

/// The window that a copy opens with holds the results of the very turn that made it, and its turns go on from there: an
/// archive that either makes later names the same turns.
#[tokio::test]
async fn a_copy_carries_the_turn_counter_and_the_results_of_its_own_turn() {
    let archive =
        |from: u32, to: u32| call("archive_thread", json!({ "from": from, "to": to, "title": "early" }));
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [call("list_tasks", json!({}))] },
        { "agent": "a1", "turn": 2, "calls": [fork("Go on."), call("list_tasks", json!({}))] },
        { "agent": "a1", "turn": 3, "calls": [archive(1, 1)] },
        { "agent": "a1", "turn": 4, "calls": [wait()] },
        { "agent": "a1", "turn": 5, "text": "done" },
        { "agent": "a2", "turn": 3, "expect": { "contains": ["[result of fork] {", "The task list is empty."] }, "calls": [archive(1, 1)] },
        { "agent": "a2", "turn": 4, "text": "done" },
    ]);
    let played = team(2, vec![forker("lead", &[("tasks", json!({}))])], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    check_streams(&played);
    let stubs = ["a1", "a2"].map(|agent| played.told(agent, Origin::Stub));
    assert_eq!(stubs[0].len(), 1, "{}", played.story());
    assert_eq!(stubs[0], stubs[1], "{}", played.story());
}

/// What was archived before is read back by whoever has the conversation now: a copy, or the agent that it became.
#[tokio::test]
async fn archives_are_read_back_by_copies_and_by_those_that_go_on() {
    let archive = call("archive_thread", json!({ "from": 1, "to": 1, "title": "early" }));
    let read = call("read_archive", json!({ "archive": 1 }));
    let replies = json!([
        { "agent": "a1", "turn": 1, "text": "an early word", "calls": [call("list_tasks", json!({}))] },
        { "agent": "a1", "turn": 2, "calls": [archive, fork("Read it.")] },
        { "agent": "a1", "turn": 3, "calls": [exec("lead", "Read it.")] },
        { "agent": "a2", "turn": 3, "calls": [read] },
        { "agent": "a2", "turn": 4, "expect": { "results": { "read_archive": "an early word" } }, "text": "read" },
        { "agent": "a3", "turn": 4, "calls": [read] },
        { "agent": "a3", "turn": 5, "expect": { "results": { "read_archive": "an early word" } }, "text": "read" },
    ]);
    let mut lead = forker("lead", &[("tasks", json!({})), ("exec", json!({}))]);
    lead["roster"] = json!([{ "agentId": "lead", "scopes": ["subagent"] }]);
    let played = team(2, vec![lead], replies).play().await;
    assert!(played.endings().values().all(Ending::is_good), "{}", played.story());
    assert_eq!(played.endings().len(), 2);
}

/// Nobody has to find out by trying.
#[tokio::test]
async fn the_calls_say_when_they_take_effect() {
    let kinds = gg_runtime::host_kinds();
    let said = |name: &str| -> String {
        let calls = kinds.iter().flat_map(|kind| &kind.calls);
        calls.filter(|call| call.name == name).map(|call| call.description.clone()).collect()
    };
    assert!(said("fork").contains("cannot be waited for or written to before the next"), "{}", said("fork"));
    assert!(said("exec").contains("A turn makes one succession: the first stands, a second is refused"));
}

#[tokio::test]
async fn a_copy_is_no_child_before_its_turn_ends() {
    let send = call("send_message", json!({ "id": "a2", "message": "hello" }));
    let named = call("wait_for_subagents", json!({ "ids": ["a2"] }));
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [fork("Look."), named, wait(), send] },
        { "agent": "a1", "turn": 2, "calls": [send_again(), wait()] },
        { "agent": "a1", "turn": 3, "text": "done" },
        { "agent": "a2", "turn": 2, "expect": { "contains": ["Look.", "hello again"] }, "text": "read it" },
    ]);
    let played = team(1, vec![forker("lead", &[])], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let early: Vec<(CallStatus, String)> = [
        played.results("a1", "wait_for_subagents")[..2].to_vec(),
        played.results("a1", "send_message")[..1].to_vec(),
    ]
    .concat();
    for (status, text) in early {
        assert_eq!(status, CallStatus::Refused);
        assert_eq!(text, "refused: a2 comes to be at the end of this turn: do that in a later one");
    }
    assert_eq!(played.results("a1", "send_message")[1].0, CallStatus::Ok);
    assert!(played.results("a1", "wait_for_subagents")[2].1.contains("read it"), "{}", played.story());
}

fn send_again() -> Value {
    call("send_message", json!({ "id": "a2", "message": "hello again" }))
}

/// A turn may ask for several copies; all run, also if the turn ends the agent or has it become another.
#[tokio::test]
async fn every_copy_runs_whatever_else_its_turn_declares() {
    for last in [good("mine is done"), exec("other", "")] {
        let replies = json!([
            { "agent": "a1", "calls": [fork("left"), last, fork("right")] },
            { "agent": "a2", "expect": { "lastContains": "left" }, "text": "left done" },
            { "agent": "a3", "expect": { "lastContains": "right" }, "text": "right done" },
            { "agent": "other", "text": "other done" },
        ]);
        let mut lead = forker("lead", &[("exec", json!({}))]);
        lead["roster"] = json!([{ "agentId": "other", "scopes": ["subagent"] }]);
        let played = team(1, vec![lead, profile("other", json!({}))], replies).play().await;
        assert!(played.endings().values().all(Ending::is_good), "{}", played.story());
        assert!(
            played.endings().contains_key("a2") && played.endings().contains_key("a3"),
            "{}",
            played.story()
        );
        check_slots(&played, 1);
        check_streams(&played);
    }
}

/// A copy is bounded like any child: by the depth of the tree and the run's agents. It fails as a limit.
#[tokio::test]
async fn a_copy_past_a_limit_fails_as_a_limit() {
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [fork("deeper")] },
        { "agent": "a1", "turn": 2, "calls": [wait()] },
        { "agent": "a1", "text": "done" },
        { "agent": "a2", "turn": 2, "calls": [fork("deeper")] },
        { "agent": "a2", "turn": 3, "text": "no room" },
    ]);
    let own = [("subagents", json!({ "maxDepth": 1 })), ("fork", json!({}))];
    let lead = profile("lead", json!({ "capabilities": enabled(&own) }));
    let played = team(2, vec![lead], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let (status, text) = played.results("a2", "fork").pop().unwrap();
    assert_eq!(status, CallStatus::Failed);
    assert!(text.contains("limit: you are at depth 1, and maxDepth is 1"), "{text}");
    assert_eq!(played.spawned().len(), 2);
}

/// Many copies of an agent that holds much do not fit in one step of the record, and are all made.
#[tokio::test]
async fn many_copies_of_an_agent_that_holds_much_are_all_made() {
    let page =
        |n: usize| call("write_page", json!({ "page": format!("p{n}"), "text": "much ".repeat(12_000) }));
    let mut calls: Vec<Value> = (0..60).map(page).collect();
    calls.extend((0..45).map(|n| fork(&format!("part {n}"))));
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": calls },
        { "agent": "a1", "turn": 2, "calls": [wait()] },
        { "agent": "a1", "turn": 3, "text": "done" },
        { "agent": "lead", "turn": 2, "times": 45, "text": "done" },
    ]);
    let mut lead = forker("lead", &[("notebook", json!({ "maxBytes": 4_000_000 }))]);
    lead["model"]["contextWindow"] = json!(10_000_000);
    let played = team(4, vec![lead], replies).play().await;
    assert!(played.summary.ending.is_good(), "{:?}", played.summary);
    assert_eq!(played.endings().len(), 46);
    assert!(played.endings().values().all(Ending::is_good));
}

/// A copy has none of its original's children, and none of its messages.
#[tokio::test]
async fn a_copy_inherits_neither_children_nor_messages() {
    let named = call("wait_for_subagents", json!({ "ids": ["a2"] }));
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [spawn("helper"), fork("Wait for it.")] },
        { "agent": "a1", "turn": 2, "calls": [wait()] },
        { "agent": "a1", "text": "done" },
        { "agent": "a3", "turn": 2, "calls": [named, wait()] },
        { "agent": "a3", "text": "cannot" },
        { "agent": "helper", "text": "helped" },
    ]);
    let mut lead = forker("lead", &[]);
    lead["roster"] = json!([{ "agentId": "helper", "scopes": ["subagent"] }]);
    let played = team(3, vec![lead, profile("helper", json!({}))], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let refused = played.results("a3", "wait_for_subagents");
    assert!(refused.iter().all(|(status, _)| *status == CallStatus::Refused), "{refused:?}");
    assert!(refused[0].1.contains("not your subagent"), "{refused:?}");
}

fn save(name: &str) -> Value {
    call("save_memory", json!({ "name": name, "text": "kept" }))
}

fn search() -> Value {
    call("search_memories", json!({ "query": "kept" }))
}

/// What the original and its copy each find once both have written: their own, or everything.
#[tokio::test]
async fn memories_follow_the_scope_of_the_one_that_is_copied() {
    for (scope, linked) in [("isolated", false), ("shared", true), ("inherited", true)] {
        let replies = json!([
            { "agent": "a1", "turn": 1, "calls": [save("before"), fork("Remember.")] },
            { "agent": "a2", "turn": 2, "calls": [search(), save("of-the-copy")] },
            { "agent": "a2", "text": "done" },
            { "agent": "a1", "turn": 2, "calls": [wait()] },
            { "agent": "a1", "turn": 3, "calls": [search()] },
            { "agent": "a1", "text": "done" },
        ]);
        let lead = forker("lead", &[("memories", json!({ "scope": scope }))]);
        let played = team(1, vec![lead], replies).play().await;
        assert!(played.summary.ending.is_good(), "{}", played.story());
        assert!(played.results("a2", "search_memories")[0].1.contains("before"), "{}", played.story());
        let found = &played.results("a1", "search_memories")[0].1;
        assert_eq!(found.contains("of-the-copy"), linked, "{scope}: {found}");
        // Both are holders, and both get notices.
        let told = played.told("a1", Origin::Notice).concat();
        assert_eq!(told.contains("of-the-copy"), linked, "{scope}: {told}");
    }
}

/// A copy of one that may only read is linked to the same memories, and may only read them too.
#[tokio::test]
async fn a_copy_of_a_reader_may_only_read() {
    let mut keeper = forker("keeper", &[("memories", json!({}))]);
    keeper["roster"] = json!([{ "agentId": "reader", "scopes": ["subagent"] }]);
    let reader = forker("reader", &[("memories", json!({ "scope": "read-only" }))]);
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [save("before"), spawn("reader")] },
        { "agent": "a1", "turn": 2, "calls": [wait()] },
        { "agent": "a1", "text": "done" },
        { "agent": "a2", "turn": 1, "calls": [fork("Look them up.")] },
        { "agent": "a2", "turn": 2, "calls": [wait()] },
        { "agent": "a2", "text": "done" },
        { "agent": "a3", "turn": 2, "calls": [search(), save("after")] },
        { "agent": "a3", "text": "done" },
    ]);
    let played = team(3, vec![keeper, reader], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    assert_eq!(transitions(&played), ["a2 fork a3: history cloned cloned, memories linked linked"]);
    assert!(played.results("a3", "search_memories")[0].1.contains("before"), "{}", played.story());
    assert_eq!(played.results("a3", "save_memory")[0].0, CallStatus::Refused);
}

/// Neither ever gives an id that the other has given.
#[tokio::test]
async fn copies_of_a_program_library_never_issue_the_same_id() {
    let record = |source: &str| call("record_program", json!({ "source": source, "outcome": "" }));
    let many = |who: &str| (0..20).map(|n| record(&format!("{who} {n}"))).collect::<Vec<Value>>();
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [record("before"), fork("Go on.")] },
        { "agent": "a1", "turn": 2, "calls": many("mine") },
        { "agent": "a1", "turn": 3, "calls": [wait()] },
        { "agent": "a1", "text": "done" },
        { "agent": "a2", "turn": 2, "calls": many("its") },
        { "agent": "a2", "text": "done" },
    ]);
    let own = json!([
        { "id": "programs", "enabled": true, "features": { "record": true } },
        { "id": "subagents", "enabled": true, "params": { "maxDepth": 1 } },
        { "id": "fork", "enabled": true },
    ]);
    let played = team(2, vec![profile("lead", json!({ "capabilities": own }))], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let ids = |agent: &str| -> Vec<String> {
        let results = played.results(agent, "record_program").into_iter();
        let id =
            |(_, text): (CallStatus, String)| serde_json::from_str::<Value>(&text).unwrap()["id"].to_string();
        results.map(id).collect()
    };
    let (mine, its) = (ids("a1"), ids("a2"));
    assert_eq!((mine.len(), its.len()), (21, 21));
    assert_eq!(mine[0], its[0], "what was recorded before is both's");
    let all: std::collections::BTreeSet<&String> = mine.iter().chain(&its).collect();
    assert_eq!(all.len(), 41);
}

/// A copy can become another, and whoever waits for it does not notice.
#[tokio::test]
async fn a_copy_that_becomes_another_is_still_the_child_that_was_forked() {
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [fork("Become the other.")] },
        { "agent": "a1", "turn": 2, "calls": [wait()] },
        { "agent": "a1", "turn": 3, "text": "done" },
        { "agent": "a2", "calls": [exec("other", "")] },
        { "agent": "other", "text": "as the other" },
    ]);
    let mut lead = changeable("lead", &["other"], &[]);
    lead["capabilities"] =
        enabled(&[("exec", json!({})), ("fork", json!({})), ("subagents", json!({ "maxDepth": 1 }))]);
    let played = team(1, vec![lead, profile("other", json!({}))], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    assert!(played.results("a1", "wait_for_subagents")[0].1.contains("as the other"));
    check_slots(&played, 1);
    check_streams(&played);
    assert_eq!(states(&played).iter().filter(|line| line.starts_with("a2 became a3")).count(), 1);
    let in_no_machine =
        played.events.iter().all(|recorded| !matches!(recorded.event, Event::FsmState { .. }));
    assert!(in_no_machine);
}
