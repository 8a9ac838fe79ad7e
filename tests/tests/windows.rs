//! Successions between windows of different sizes: the agent that goes on fits its own before its first turn.

use gg_core::{CompactionReason, Event, Origin, Purpose};
use gg_tests::{
    Played, profile,
    team::{call, changeable, check_streams, enabled, exec, machine, step_to, team, transitions},
};
use serde_json::{Value, json};

const LARGE: u64 = 1_000_000;
const SMALL: u64 = 32_000;
/// The window of the model that writes summaries, where it is one of its own.
const SUMMARIZER: u64 = 8_000;

/// Some thirty thousand tokens.
fn long(word: &str) -> String {
    format!("{word} ").repeat(16_000)
}

fn large(id: &str, target: &str) -> Value {
    let mut agent = changeable(id, &[target], &[("tasks", json!({}))]);
    agent["model"]["contextWindow"] = json!(LARGE);
    agent
}

fn small(id: &str, compaction: Option<Value>) -> Value {
    let mut capabilities = vec![("tasks", json!({}))];
    capabilities.extend(compaction.map(|params| ("compaction", params)));
    let mut agent = profile(id, json!({ "capabilities": enabled(&capabilities) }));
    agent["model"]["contextWindow"] = json!(SMALL);
    agent
}

/// A conversation far larger than the small window, and then the succession.
fn replies(summaries: usize) -> Value {
    let list = call("list_tasks", json!({}));
    json!([
        { "agent": "a1", "turn": 1, "text": long("alpha"), "calls": [list] },
        { "agent": "a1", "turn": 2, "text": long("beta"), "calls": [list] },
        { "agent": "a1", "turn": 3, "calls": [exec("small", "Finish it.")] },
        { "purpose": "summary", "times": summaries, "text": "Alpha, then beta." },
        { "agent": "a2", "turn": 4, "expect": { "contains": "Alpha, then beta.", "lastContains": "Finish it.", "notContains": "alpha alpha" }, "text": "done" },
    ])
}

/// What each request of an agent took, with what it was for.
fn requests(played: &Played, agent: &str) -> Vec<(Purpose, u64)> {
    let usages = played.events.iter().filter_map(|recorded| match &recorded.event {
        Event::Usage { purpose, usage, .. } if recorded.agent.as_ref()?.as_str() == agent => {
            Some((*purpose, usage.input))
        }
        _ => None,
    });
    usages.collect()
}

fn compactions(played: &Played) -> Vec<(String, CompactionReason)> {
    let compactions = played.events.iter().filter_map(|recorded| match &recorded.event {
        Event::Compaction { reason, .. } => Some((recorded.agent.as_ref()?.to_string(), *reason)),
        _ => None,
    });
    compactions.collect()
}

#[tokio::test]
async fn who_arrives_over_its_window_compacts_before_its_first_turn() {
    let own = json!({ "provider": "script", "name": "own", "contextWindow": 200_000, "maxOutput": 500 });
    let agents = vec![large("large", "small"), small("small", Some(json!({ "summarizer": own })))];
    let played = team(1, agents, replies(9)).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    check_streams(&played);
    assert!(requests(&played, "a1").last().unwrap().1 > SMALL, "the window was never too large");
    assert_eq!(compactions(&played), [("a2".to_owned(), CompactionReason::Threshold)]);
    let turns: Vec<u64> = requests(&played, "a2")
        .into_iter()
        .filter(|(purpose, _)| *purpose == Purpose::Turn)
        .map(|(_, input)| input)
        .collect();
    assert_eq!(turns.len(), 1);
    assert!(turns[0] <= SMALL, "{turns:?}");
    // The note that opened its window was not folded away.
    assert_eq!(played.told("a2", Origin::Opening).len(), 1);
}

#[tokio::test]
async fn a_summarizer_that_is_too_small_is_asked_in_pieces() {
    let own = json!({ "provider": "script", "name": "own", "contextWindow": SUMMARIZER, "maxOutput": 500 });
    let agents = vec![large("large", "small"), small("small", Some(json!({ "summarizer": own })))];
    let played = team(1, agents, replies(60)).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let of_a2 = requests(&played, "a2");
    let summaries = of_a2.iter().filter(|(purpose, _)| *purpose == Purpose::Summary).count();
    assert!(summaries > 4, "{of_a2:?}");
    for (purpose, input) in of_a2 {
        let most = if purpose == Purpose::Summary { SUMMARIZER } else { SMALL };
        assert!(input <= most, "a request of {input} tokens for a {purpose:?}");
    }
}

#[tokio::test]
async fn who_could_never_fit_is_not_become_and_the_agent_reads_why() {
    let list = call("list_tasks", json!({}));
    let replies = json!([
        { "agent": "a1", "turn": 1, "text": long("alpha"), "calls": [list] },
        { "agent": "a1", "turn": 2, "calls": [exec("small", "Finish it.")] },
        { "agent": "a1", "turn": 3, "expect": { "lastContains": ["You have not become small", "compaction"] }, "text": "done" },
    ]);
    let played = team(1, vec![large("large", "small"), small("small", None)], replies).play().await;
    assert!(played.summary.ending.is_good(), "{}", played.story());
    assert_eq!(transitions(&played), [""; 0]);
    let failed = played.events.iter().filter(|recorded| recorded.event.name() == "succession_failed").count();
    assert_eq!(failed, 1);
}

/// A turn that also compacts applies that first: the next agent has the window that the turn really produced.
#[tokio::test]
async fn a_compaction_of_the_same_turn_comes_first() {
    let list = call("list_tasks", json!({}));
    for last in [exec("small", ""), step_to("two", "")] {
        let replies = json!([
            { "agent": "a1", "turn": 1, "text": "an early word", "calls": [list] },
            { "agent": "a1", "turn": 2, "calls": [list] },
            { "agent": "a1", "turn": 3, "calls": [last, call("compact", json!({}))] },
            { "purpose": "summary", "text": "It listed tasks." },
            { "agent": "a2", "expect": { "contains": "It listed tasks.", "notContains": "an early word" }, "text": "done" },
        ]);
        let of_first = [("tasks", json!({})), ("compaction", json!({ "keepTurns": 0 }))];
        let is_machine = last["name"] == "transition_state";
        let agents = if is_machine {
            let edges: &[(&str, &[&str])] = &[("two", &["history"])];
            let process = machine("process", &[("one", "first", edges), ("two", "small", &[])]);
            vec![
                process,
                profile("first", json!({ "capabilities": enabled(&of_first) })),
                small("small", None),
            ]
        } else {
            vec![changeable("first", &["small"], &of_first), small("small", None)]
        };
        let played = team(1, agents, replies).play().await;
        assert!(played.summary.ending.is_good(), "{}", played.story());
        check_streams(&played);
        let names: Vec<&str> = played.events.iter().map(|recorded| recorded.event.name()).collect();
        let at = |name: &str| names.iter().position(|other| *other == name).unwrap();
        assert!(at("compaction") < at("agent_transition"), "{}", played.story());
        assert_eq!(compactions(&played), [("a1".to_owned(), CompactionReason::Asked)]);
    }
}

/// A loop that carries its conversation for ever stays within its window: what opened earlier incarnations is folded
/// like anything else.
#[tokio::test]
async fn a_long_loop_with_its_conversation_stays_within_its_window() {
    let note = "a note that takes its place ".repeat(20);
    let replies = json!([
        { "agent": "worker", "times": 60, "calls": [step_to("again", &note)] },
        { "agent": "worker", "text": "done" },
        { "purpose": "summary", "times": 100, "text": "It went round." },
    ]);
    let edges: &[(&str, &[&str])] = &[("again", &["history", "tasks"])];
    let process = machine("loop", &[("again", "worker", edges)]);
    let mut worker = profile(
        "worker",
        json!({ "capabilities": enabled(&[("tasks", json!({})), ("compaction", json!({}))]) }),
    );
    worker["maxTurns"] = json!(100);
    worker["model"]["contextWindow"] = json!(6000);
    let played = team(1, vec![process, worker], replies).play().await;
    assert!(played.summary.ending.is_good(), "{:?}", played.summary);
    assert_eq!(transitions(&played).len(), 60);
    assert!(compactions(&played).len() > 1);
    check_streams(&played);
}
