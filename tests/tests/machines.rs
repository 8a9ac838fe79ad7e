//! Agents that are driven through a declared process.

use gg_core::{CallStatus, Event, Origin};
use gg_tests::{
    Played, profile,
    team::{
        call, changeable, check_slots, check_streams, enabled, exec, fork, forker, good, lead, machine,
        spawn, states, step_to, team, transitions, wait,
    },
};
use serde_json::{Value, json};

/// What the record says of states: who is in which of which machine, run by whom, and whence.
fn fsm_states(played: &Played) -> Vec<String> {
    let lines = played.events.iter().filter_map(|recorded| match &recorded.event {
        Event::FsmState { machine, state, profile, from } => {
            let from = from.as_deref().unwrap_or("-");
            Some(format!("{} {machine} {state} {profile} from {from}", recorded.agent.as_ref()?))
        }
        _ => None,
    });
    lines.collect()
}

fn worker(id: &str, capabilities: &[(&str, Value)]) -> Value {
    profile(id, json!({ "capabilities": enabled(capabilities) }))
}

/// Tests before code, and back once; the run's root is the machine.
#[tokio::test]
async fn a_machine_as_the_root_goes_through_its_states_and_back() {
    let tasks = [("tasks", json!({}))];
    let add = call("add_task", json!({ "title": "cover the edge" }));
    let replies = json!([
        { "agent": "tester", "turn": 1, "calls": [add, step_to("implement", "Make them pass.")] },
        {
            "agent": "a2", "turn": 2,
            "expect": { "lastContains": "Make them pass.", "systemContains": "You are coder." },
            "calls": [call("list_tasks", json!({})), step_to("verify", "")],
        },
        { "agent": "a3", "turn": 1, "expect": { "contains": "Go.", "notContains": "Make them pass." }, "calls": [step_to("implement", "The edge fails.")] },
        { "agent": "a4", "turn": 1, "expect": { "contains": "cover the edge", "lastContains": "The edge fails." }, "calls": [step_to("verify", "")] },
        { "agent": "a5", "turn": 1, "calls": [good("it holds")] },
    ]);
    let process = machine(
        "feature",
        &[
            ("test", "tester", &[("implement", &["history", "tasks"])]),
            ("implement", "coder", &[("verify", &["tasks"])]),
            ("verify", "verifier", &[("implement", &["tasks"])]),
        ],
    );
    let priced = |id: &str, price: u32| {
        let mut agent = worker(id, &tasks);
        agent["model"]["name"] = json!(format!("of-{id}"));
        agent["model"]["prices"] = json!({ "input": price, "output": price });
        agent
    };
    let agents = vec![process, priced("tester", 1), priced("coder", 100), priced("verifier", 10)];
    let played = team(1, agents, replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    insta::assert_snapshot!(played.story());
    check_slots(&played, 1);
    check_streams(&played);
    assert_eq!(
        fsm_states(&played),
        [
            "a1 feature test tester from -",
            "a2 feature implement coder from test",
            "a3 feature verify verifier from implement",
            "a4 feature implement coder from verify",
            "a5 feature verify verifier from implement",
        ]
    );
    // Recorded under the entry state's profile and model; the machine itself has neither turns nor cost.
    let sums: Vec<(&str, &str, u64)> = played
        .summary
        .profiles
        .iter()
        .map(|sums| (sums.profile.as_str(), sums.model.as_str(), sums.agents))
        .collect();
    assert_eq!(sums, [("coder", "of-coder", 2), ("tester", "of-tester", 1), ("verifier", "of-verifier", 2)]);
    let model = played.events.iter().find_map(|recorded| match &recorded.event {
        Event::AgentSpawned { model, .. } => Some(model.clone()),
        _ => None,
    });
    assert_eq!(model.as_deref(), Some("of-tester"));
    // What each state cost is told apart: the same tokens cost a hundred times as much in one of them.
    let cost = |at: usize| played.summary.profiles[at].cost.unwrap().0;
    assert!(cost(0) > cost(2) && cost(2) > cost(1) && cost(1) > 0.0, "{:?}", played.summary.profiles);
    // A reset state opens as a new agent does: the run's prompt, what it holds, the handoff note at the tail.
    assert_eq!(played.told("a3", Origin::Prompt), ["Go."]);
    let ended_in = played.events.iter().find_map(|recorded| match &recorded.event {
        Event::AgentEnded { state, .. } => state.clone(),
        _ => None,
    });
    assert_eq!(ended_in.as_deref(), Some("verify"));
}

#[tokio::test]
async fn only_declared_moves_are_offered_and_a_terminal_state_offers_none() {
    let replies = json!([
        { "agent": "a1", "calls": [step_to("nowhere", "")] },
        { "agent": "a1", "calls": [step_to("two", "first"), step_to("three", "second")] },
        { "agent": "a2", "expect": { "lastContains": "first" }, "calls": [step_to("one", ""), good("done")] },
    ]);
    let process = machine(
        "process",
        &[
            ("one", "first", &[("two", &[]), ("three", &[])]),
            ("two", "second", &[]),
            ("three", "second", &[]),
        ],
    );
    let mut first = worker("first", &[]);
    // An allowlist does not keep an agent in its state.
    first["calls"] = json!(["finish"]);
    let played = team(1, vec![process, first, worker("second", &[])], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let moves = played.results("a1", "transition_state");
    assert_eq!(
        moves.iter().map(|(status, _)| *status).collect::<Vec<_>>(),
        [CallStatus::Refused, CallStatus::Noted, CallStatus::Refused]
    );
    assert!(moves[0].1.contains("\"two\"") && moves[0].1.contains("\"three\""), "{moves:?}");
    assert!(moves[2].1.contains("the first stands"), "{moves:?}");
    assert_eq!(played.offered("a1")[0], ["finish", "transition_state"]);
    assert!(!played.offered("a2")[0].contains(&"transition_state".to_owned()));
    assert!(played.results("a2", "transition_state")[0].1.contains("there is no call"));
}

#[tokio::test]
async fn an_ending_in_a_state_that_has_edges_ends_the_machine() {
    let process = machine("process", &[("one", "first", &[("two", &["history"])]), ("two", "second", &[])]);
    let agents = vec![process, worker("first", &[]), worker("second", &[])];
    let played = team(1, agents, json!([{ "text": "done" }])).play().await;
    assert!(played.summary.ending.is_good());
    assert_eq!(fsm_states(&played), ["a1 process one first from -"]);
}

#[tokio::test]
async fn an_ending_beats_a_move_and_a_move_is_refused_after_another() {
    let replies = json!([{ "calls": [step_to("two", ""), good("enough")] }]);
    let process = machine("process", &[("one", "first", &[("two", &[])]), ("two", "second", &[])]);
    let played = team(1, vec![process, worker("first", &[]), worker("second", &[])], replies).play().await;
    assert!(played.summary.ending.is_good());
    assert_eq!(transitions(&played), [""; 0]);
}

/// A machine that is spawned is one agent: its id, its slot, its return value, which names the state it ended in. Each
/// state that is reset knows the brief.
#[tokio::test]
async fn a_spawned_machine_is_one_agent_with_one_result() {
    let replies = json!([
        { "agent": "lead", "turn": 1, "calls": [spawn("process"), wait()] },
        { "agent": "lead", "turn": 2, "text": "done" },
        { "agent": "a2", "turn": 1, "calls": [step_to("two", "")] },
        { "agent": "a3", "turn": 1, "expect": { "contains": "Do your part." }, "calls": [good("both parts")] },
    ]);
    let process = machine("process", &[("one", "first", &[("two", &[])]), ("two", "second", &[])]);
    let agents = vec![lead("lead", &["process"], 1), process, worker("first", &[]), worker("second", &[])];
    let played = team(1, agents, replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    check_slots(&played, 1);
    check_streams(&played);
    let (_, text) = &played.results("a1", "wait_for_subagents")[0];
    assert_eq!(
        serde_json::from_str::<Value>(text).unwrap(),
        json!({ "results": [{
            "id": "a2", "agent": "process", "how": "finished", "outcome": "success", "text": "both parts", "state": "two",
        }] })
    );
    let depths: Vec<u32> = played.spawned().iter().map(|(.., depth)| *depth).collect();
    assert_eq!(depths, [0, 1, 1]);
    assert_eq!(states(&played).iter().filter(|line| line.starts_with("a1")).count(), 4);
}

/// The transfer is worked out against the agent of the entry state, and the note says so.
#[tokio::test]
async fn becoming_a_machine_enters_it_at_its_first_state() {
    let add = call("add_task", json!({ "title": "dig" }));
    let replies = json!([
        { "agent": "a1", "calls": [add, exec("process", "See it through.")] },
        {
            "agent": "a2",
            "expect": { "contains": ["the process \"process\" begins", "in its first state, \"one\""], "lastContains": "See it through." },
            "calls": [call("list_tasks", json!({})), step_to("two", "")],
        },
        { "agent": "a3", "expect": { "contains": "Go." }, "text": "done" },
    ]);
    let process = machine("process", &[("one", "first", &[("two", &[])]), ("two", "second", &[])]);
    let start = changeable("start", &["process"], &[("tasks", json!({})), ("notebook", json!({}))]);
    let agents = vec![start, process, worker("first", &[("tasks", json!({}))]), worker("second", &[])];
    let played = team(1, agents, replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    check_streams(&played);
    assert_eq!(
        transitions(&played),
        [
            "a1 exec a2: history moved transferred, notebook dropped -, tasks moved transferred",
            "a2 fsm a3: history dropped initialized, tasks dropped -"
        ]
    );
    assert_eq!(fsm_states(&played), ["a2 process one first from -", "a3 process two second from one"]);
    assert!(played.results("a2", "list_tasks")[0].1.contains("dig"));
    let offered = &played.offered("a2")[0];
    assert!(offered.contains(&"transition_state".to_owned()) && !offered.contains(&"exec".to_owned()));
}

/// A copy of a state's agent is a second worker, not a second driver.
#[tokio::test]
async fn a_copy_of_a_state_s_agent_has_no_part_in_the_machine() {
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [fork("Look at the other half.")] },
        { "agent": "a1", "turn": 2, "calls": [wait()] },
        { "agent": "a1", "turn": 3, "calls": [step_to("two", "")] },
        { "agent": "a2", "turn": 2, "calls": [step_to("two", "")] },
        { "agent": "a2", "turn": 3, "text": "looked" },
        { "agent": "a3", "text": "done" },
    ]);
    let process = machine("process", &[("one", "first", &[("two", &["history"])]), ("two", "second", &[])]);
    let played = team(2, vec![process, forker("first", &[]), worker("second", &[])], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    check_streams(&played);
    assert_eq!(fsm_states(&played), ["a1 process one first from -", "a3 process two second from one"]);
    assert!(played.results("a2", "transition_state")[0].1.contains("there is no call"), "{}", played.story());
    assert!(played.offered("a2")[0].contains(&"fork".to_owned()));
    assert_eq!(played.told("a2", Origin::Opening).len(), 1);
}

/// The children of any incarnation are the lineage's: the agent of a later state collects them.
#[tokio::test]
async fn children_and_messages_belong_to_the_lineage() {
    let replies = json!([
        { "agent": "a1", "turn": 1, "calls": [spawn("helper"), step_to("two", "")] },
        { "agent": "a3", "turn": 2, "calls": [call("wait_for_subagents", json!({ "ids": ["a2"] }))] },
        { "agent": "a3", "turn": 3, "expect": { "results": { "wait_for_subagents": "helped" } }, "text": "done" },
        { "agent": "a2", "text": "helped" },
    ]);
    let process = machine("process", &[("one", "first", &[("two", &["history"])]), ("two", "second", &[])]);
    let agents =
        vec![process, lead("first", &["helper"], 1), lead("second", &["helper"], 1), worker("helper", &[])];
    let played = team(1, agents, replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    check_slots(&played, 1);
}
