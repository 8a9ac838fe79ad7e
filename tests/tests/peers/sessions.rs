//! Whole runs of several agents: one that spawns others, one that becomes another, one that is copied, and a machine.

use crate::{
    agent::{Played, play, profile},
    cases::{BOTH, Case, Way, ways},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A case of several agents.
struct Session {
    case: Case,
    /// Who sends each request: the agent and its profile.
    senders: &'static [&'static str],
    /// The calls that each profile is offered.
    offers: &'static [(&'static str, &'static [&'static str])],
    /// How agents came to be from others.
    successions: &'static [&'static str],
    /// What stands in some of the requests, counted from 1.
    holds: &'static [(usize, &'static str)],
    /// What does not.
    lacks: &'static [(usize, &'static str)],
}

/// A parent that spawns two children in one turn, writes to one and waits for both.
const TEAM: Session = Session {
    case: Case {
        prompt: "gg-peers: a team",
        requests: &[
            "200: user",
            "200: user assistant(2) tool tool",
            "200: user user",
            "200: user",
            "200: user assistant(2) tool tool assistant(2) tool tool",
        ],
        calls: &[
            "spawn_subagent {\"agent\":\"part\",\"prompt\":\"gg-peers: part one\"} ok",
            "spawn_subagent {\"agent\":\"part\",\"prompt\":\"gg-peers: part two\"} ok",
            "send_message {\"id\":\"a2\",\"message\":\"gg-peers: be brief\"} ok",
            "wait_for_subagents {} ok",
        ],
        written: None,
        text: "Both are done.",
        thinks: false,
    },
    senders: &["a1 lead", "a1 lead", "a2 part", "a3 part", "a1 lead"],
    offers: &[("lead", &["send_message", "spawn_subagent", "wait_for_subagents"]), ("part", &["read_file"])],
    successions: &[],
    holds: &[(3, "gg-peers: part one"), (5, "One."), (5, "Part two is done.")],
    lacks: &[(3, "gg-peers: a team"), (4, "gg-peers: a team"), (4, "gg-peers: be brief")],
};

/// One that becomes another beside two parallel calls, after a turn of three. It thinks, and the other asks the same
/// model: what was thought goes along.
const BECOMES_ANOTHER: Session = Session {
    case: Case {
        prompt: "gg-peers: one becomes another",
        requests: &[
            "200: user",
            "200: user assistant(3) tool tool tool",
            "200: user assistant(3) tool tool tool assistant(3) tool tool tool user",
            "200: user assistant(3) tool tool tool assistant(3) tool tool tool user assistant(2) tool tool",
        ],
        calls: &[
            "read_file {\"path\":\"a.txt\"} ok",
            "read_file {\"path\":\"b.txt\"} ok",
            "read_file {\"path\":\"c.txt\"} ok",
            "exec {\"agent\":\"builder\",\"prompt\":\"gg-peers: build it\"} noted",
            "read_file {\"path\":\"a.txt\"} ok",
            "read_file {\"path\":\"b.txt\"} ok",
            "write_file {\"content\":\"built\",\"path\":\"out.txt\"} ok",
            "read_file {\"path\":\"c.txt\"} ok",
        ],
        written: Some("built"),
        text: "It is built.",
        thinks: true,
    },
    senders: &["a1 scout", "a1 scout", "a2 builder", "a2 builder"],
    offers: &[("scout", &["exec", "read_file"]), ("builder", &["read_file", "write_file"])],
    successions: &["a1 exec a2"],
    holds: &[(3, "this is c.txt"), (3, "You are the builder."), (3, "gg-peers: build it")],
    lacks: &[(3, "You are the scout."), (4, "You are the scout.")],
};

/// One that is copied twice between calls that read, and collects both copies.
const COPIES: Session = Session {
    case: Case {
        prompt: "gg-peers: two copies",
        requests: &[
            "200: user",
            "200: user assistant(4) tool tool tool tool",
            "200: user assistant(4) tool tool tool tool user",
            "200: user assistant(4) tool tool tool tool user assistant(2) tool tool",
            "200: user assistant(4) tool tool tool tool user",
            "200: user assistant(4) tool tool tool tool user assistant(2) tool tool",
            "200: user assistant(4) tool tool tool tool assistant(2) tool tool",
        ],
        calls: &[
            "read_file {\"path\":\"a.txt\"} ok",
            "fork {\"prompt\":\"gg-peers: the left half\"} noted",
            "read_file {\"path\":\"b.txt\"} ok",
            "fork {\"prompt\":\"gg-peers: the right half\"} noted",
            "read_file {\"path\":\"c.txt\"} ok",
            "wait_for_subagents {} ok",
            "read_file {\"path\":\"b.txt\"} ok",
            "read_file {\"path\":\"c.txt\"} ok",
            "write_file {\"content\":\"right\",\"path\":\"out.txt\"} ok",
            "read_file {\"path\":\"a.txt\"} ok",
        ],
        written: Some("right"),
        text: "Both halves are done.",
        thinks: false,
    },
    senders: &["a1 lead", "a1 lead", "a2 lead", "a2 lead", "a3 lead", "a3 lead", "a1 lead"],
    offers: &[("lead", &["fork", "read_file", "wait_for_subagents", "write_file"])],
    successions: &["a1 fork a2", "a1 fork a3"],
    holds: &[
        (3, "gg-peers: the left half"),
        (3, "You are agent a2, a copy of agent a1"),
        (5, "gg-peers: the right half"),
        (5, "You are agent a3, a copy of agent a1"),
        (7, "The left half is done."),
        (7, "The right half is done."),
    ],
    lacks: &[(2, "a copy of agent"), (5, "You are agent a2"), (5, "call_left"), (7, "a copy of agent")],
};

/// A machine of three states: the second goes on in the conversation of the first, the third begins its own.
const MACHINE: Session = Session {
    case: Case {
        prompt: "gg-peers: a machine",
        requests: &[
            "200: user",
            "200: user assistant(3) tool tool tool user",
            "200: user assistant(3) tool tool tool user assistant(2) tool tool",
            "200: user user",
            "200: user user assistant(2) tool tool",
        ],
        calls: &[
            "read_file {\"path\":\"a.txt\"} ok",
            "read_file {\"path\":\"b.txt\"} ok",
            "transition_state {\"note\":\"gg-peers: now write\",\"to\":\"write\"} noted",
            "write_file {\"content\":\"written\",\"path\":\"out.txt\"} ok",
            "read_file {\"path\":\"b.txt\"} ok",
            "transition_state {\"note\":\"gg-peers: now judge\",\"to\":\"judge\"} noted",
            "read_file {\"path\":\"out.txt\"} ok",
            "read_file {\"path\":\"c.txt\"} ok",
            "finish {\"outcome\":\"success\",\"text\":\"It is good.\"} noted",
        ],
        written: Some("written"),
        text: "It is good.",
        thinks: false,
    },
    senders: &["a1 planner", "a2 writer", "a2 writer", "a3 judge", "a3 judge"],
    offers: &[
        ("planner", &["read_file", "transition_state"]),
        ("writer", &["read_file", "transition_state", "write_file"]),
        ("judge", &["finish", "read_file"]),
    ],
    successions: &["a1 fsm a2", "a2 fsm a3"],
    holds: &[
        (2, "this is a.txt"),
        (2, "gg-peers: now write"),
        (4, "gg-peers: a machine"),
        (4, "gg-peers: now judge"),
        (5, "this is c.txt"),
    ],
    lacks: &[
        (2, "You are the planner."),
        (4, "this is"),
        (4, "call_"),
        (4, "gg-peers: now write"),
        (4, "You are the writer."),
        (5, "this is a.txt"),
        (5, "this is b.txt"),
        (5, "gg-peers: now write"),
    ],
};

fn every(session: &Session, agents: impl Fn(&dyn Fn(&str, &Value) -> Value) -> Vec<Value>) {
    for way in ways(BOTH) {
        let offered = |id: &str| {
            let offers = session.offers.iter().find(|(profile, _)| *profile == id);
            json!(offers.expect("a profile of the session").1)
        };
        let agents = agents(&|id, more| {
            let mut agent = profile(&session.case, way, id, more);
            agent["calls"] = offered(id);
            agent
        });
        let played = play(&session.case, way, &agents);
        check(session, way, &played);
    }
}

fn check(session: &Session, way: Way, played: &Played) {
    let what = format!("{}, {way:?}", session.case.prompt);
    let requests: Vec<&Value> = played.of_type("request").collect();
    assert_eq!(requests.len(), played.journal.len(), "{what}: what is on record was sent");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    for ((request, entry), sender) in requests.iter().zip(&played.journal).zip(session.senders) {
        let (agent, profile) = sender.split_once(' ').expect("an agent and its profile");
        assert_eq!(request["agent"], agent, "{what}: {request}");
        let system = entry["body"]["messages"][0]["content"].to_string();
        assert!(system.contains(&format!("You are the {profile}.")), "{what}: {sender}: {system}");
        let tools = entry["body"]["tools"].as_array().expect("the calls that are offered");
        let offered: BTreeSet<String> = tools.iter().map(|tool| text(&tool["function"]["name"])).collect();
        let (_, offers) = session.offers.iter().find(|(one, _)| *one == profile).expect("its offers");
        assert_eq!(offered.iter().collect::<Vec<_>>(), *offers, "{what}: {sender}");
        check_pairs(entry, way, &format!("{what}: {sender}"));
    }
    let successions = played
        .of_type("agent_transition")
        .map(|event| format!("{} {} {}", text(&event["agent"]), text(&event["kind"]), text(&event["to"])));
    assert_eq!(successions.collect::<Vec<_>>(), session.successions, "{what}");
    for (texts, holds) in [(session.holds, true), (session.lacks, false)] {
        for (at, part) in texts {
            let sent = played.journal[at - 1]["body"]["messages"].to_string();
            assert_eq!(sent.contains(part), holds, "{what}: {part:?} in request {at}: {sent}");
        }
    }
}

/// Each call has one result, after it and before the model speaks again.
fn check_pairs(entry: &Value, way: Way, what: &str) {
    let mut open: Vec<&Value> = Vec::new();
    let mut answering = false;
    for message in entry["body"]["messages"].as_array().expect("messages") {
        match message["role"].as_str().expect("a role") {
            "tool" => {
                let id = &message["tool_call_id"];
                let at = open.iter().position(|call| *call == id);
                open.remove(at.unwrap_or_else(|| panic!("{what}: a result of no call: {entry}")));
                answering = true;
            }
            "assistant" => {
                assert!(!answering || open.is_empty(), "{what}: {open:?} have no results: {entry}");
                answering = false;
                let calls = message["tool_calls"].as_array().into_iter().flatten();
                open.extend(calls.map(|call| &call["id"]));
            }
            _ => assert!(open.is_empty() || way.notes_text_first(), "{what}: {open:?} wait: {entry}"),
        }
    }
    assert!(open.is_empty(), "{what}: {open:?} have no results: {entry}");
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_team() {
    let capabilities = json!([{ "id": "subagents", "enabled": true, "params": { "maxDepth": 1 } }]);
    let roster = json!([{ "agentId": "part", "scopes": ["subagent"], "description": "does one part" }]);
    let lead = json!({ "capabilities": capabilities, "roster": roster });
    every(&TEAM, |agent| vec![agent("lead", &lead), agent("part", &json!({}))]);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn one_that_becomes_another() {
    let capabilities = json!([{ "id": "workspace", "enabled": true }, { "id": "exec", "enabled": true }]);
    let roster = json!([{ "agentId": "builder", "scopes": ["subagent"], "description": "builds" }]);
    let scout = json!({ "capabilities": capabilities, "roster": roster });
    every(&BECOMES_ANOTHER, |agent| vec![agent("scout", &scout), agent("builder", &json!({}))]);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn two_copies() {
    let lead = json!({ "capabilities": [
        { "id": "workspace", "enabled": true },
        { "id": "subagents", "enabled": true, "params": { "maxDepth": 1 } },
        { "id": "fork", "enabled": true },
    ] });
    every(&COPIES, |agent| vec![agent("lead", &lead)]);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_machine() {
    let states = json!([
        { "name": "plan", "agentId": "planner", "transitions": [{ "to": "write", "transfer": ["history"] }] },
        { "name": "write", "agentId": "writer", "transitions": [{ "to": "judge", "transfer": [] }] },
        { "name": "judge", "agentId": "judge" },
    ]);
    let machine = json!({ "id": "process", "capabilities": [
        { "id": "fsm", "enabled": true, "params": { "states": states } },
    ] });
    every(&MACHINE, |agent| {
        let worker = |id| agent(id, &json!({}));
        vec![machine.clone(), worker("planner"), worker("writer"), worker("judge")]
    });
}
