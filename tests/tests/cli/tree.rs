//! Runs of several agents, while they go on and on record.

use super::desk::Desk;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    process::Command,
};

/// One agent that spawns readers, where one agent runs at a time: so everything has its order.
fn desk(replies: Value) -> Desk {
    let profile = |id: &str, capabilities: Value, roster: Value| {
        json!({
            "id": id,
            "model": {
                "provider": "script", "name": "scripted", "contextWindow": 16000, "maxOutput": 1000,
                "prices": { "input": 10, "output": 20 },
            },
            "prompt": "You read.",
            "maxTurns": 3,
            "roster": roster,
            "capabilities": capabilities,
        })
    };
    let subagents = json!([{ "id": "subagents", "enabled": true, "params": { "maxDepth": 1 } }]);
    let configuration = json!({
        "maxParallel": 1,
        "providers": { "script": { "api": "scripted", "script": "script.json" } },
        "agents": [
            profile("lead", subagents, json!([{ "agentId": "reader", "scopes": ["subagent"] }])),
            profile("reader", json!([{ "id": "workspace", "enabled": true }]), json!([])),
        ],
    });
    let desk = Desk::new();
    desk.file("agents.jsonc", &configuration.to_string());
    desk.file("script.json", &json!({ "replies": replies }).to_string());
    desk.file("work/notes.txt", "lighthouse\n");
    desk
}

fn spawn(prompt: &str) -> Value {
    json!({ "name": "spawn_subagent", "arguments": { "agent": "reader", "prompt": prompt } })
}

fn read(path: &str) -> Value {
    json!({ "name": "read_file", "arguments": { "path": path } })
}

/// A lead with two readers, of which one fails.
fn three() -> Desk {
    desk(json!([
        {
            "agent": "a1", "turn": 1, "text": "I let others read.", "usage": { "input": 1000, "output": 50 },
            "calls": [spawn("Read notes.txt"), spawn("Read more"), { "name": "wait_for_subagents" }],
        },
        { "agent": "a1", "turn": 2, "text": "It is lighthouse.", "usage": { "input": 1500, "output": 10 } },
        {
            "agent": "a2", "turn": 1, "text": "I read it.", "calls": [read("notes.txt")],
            "usage": { "input": 700, "output": 20 },
        },
        { "agent": "a2", "turn": 2, "text": "lighthouse", "usage": { "input": 800, "output": 5 } },
        { "agent": "a3", "turn": 1, "calls": [read("more.txt")], "usage": { "input": 700, "output": 20 } },
        { "agent": "a3", "turn": 2, "error": { "kind": "auth", "message": "no such key" } },
    ]))
}

const RUN: [&str; 5] = ["run", "agents.jsonc", "Find the word", "--workspace", "work"];

#[test]
fn plain_lines_name_the_agents() {
    let desk = three();
    let run = desk.gg(&RUN);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "It is lighthouse.\n"), "{}", run.stderr);
    insta::assert_snapshot!(desk.steady(&run.stderr));
}

#[test]
fn a_run_of_several_agents_is_shown_as_a_tree() {
    let desk = three();
    desk.gg(&RUN);
    for (name, arguments) in [
        ("tree", &["show", "last"][..]),
        ("tree_turns", &["show", "last", "--turns"]),
        ("tree_transcript", &["show", "last", "--transcript"]),
        ("tree_agent", &["show", "last", "--agent", "a2"]),
        ("tree_agent_turns", &["show", "last", "--agent", "a3", "--turns"]),
        ("tree_root", &["show", "last", "--agent", "a1", "--turns"]),
    ] {
        let shown = desk.gg(arguments);
        assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""), "{name}");
        insta::assert_snapshot!(name, desk.steady(&shown.stdout));
    }
    let nobody = desk.gg(&["show", "last", "--agent", "a4"]);
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(2), ""));
    assert!(nobody.stderr.contains("has no agent \"a4\""), "{}", nobody.stderr);
}

#[test]
fn a_large_tree_is_folded_unless_all_of_it_is_asked_for() {
    let lead = json!({ "agent": "a1", "turn": 1, "calls": vec![spawn("Read"); 210] });
    let desk = desk(json!([
        lead,
        { "agent": "a1", "turn": 2, "text": "Done." },
        { "agent": "reader", "times": 210, "text": "Read." },
    ]));
    let run = desk.gg(&[&RUN[..], &["--quiet"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let rows = |arguments: &[&str]| {
        let shown = desk.gg(arguments).stdout;
        let rows = shown.lines().filter(|line| line.contains("─✓ ")).count();
        (rows, shown.contains("… 12 more"), shown.contains("--all has a row for each agent"))
    };
    assert_eq!(rows(&["show", "last"]), (198, true, true));
    assert_eq!(rows(&["show", "last", "--all"]), (210, false, false));
}

#[test]
fn the_root_may_end_first() {
    let desk = desk(json!([
        { "agent": "a1", "turn": 1, "calls": [spawn("Read notes.txt"), spawn("Read more")] },
        { "agent": "a1", "turn": 2, "text": "The others go on." },
        { "agent": "reader", "times": 2, "text": "Read." },
    ]));
    let run = desk.gg(&RUN);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "The others go on.\n"), "{}", run.stderr);
    assert!(run.stderr.contains("\na1 has ended; waiting for a2, a3\n"), "{}", run.stderr);
}

#[test]
fn a_run_that_was_killed_says_what_its_agents_were_doing() {
    let desk = desk(json!([
        {
            "agent": "a1", "turn": 1, "usage": { "input": 1000, "output": 50 },
            "calls": [spawn("Read"), spawn("Read more"), { "name": "wait_for_subagents" }],
        },
        { "agent": "a2", "text": "Too late.", "delayMs": 600_000 },
    ]));
    let mut child = desk.start(&[&RUN[..], &["--json"]].concat());
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_at_work = |event: &Value| event["type"] == "turn_started" && event["agent"] == "a2";
    let mut events = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    events.find(is_at_work).unwrap();
    let killed = Command::new("kill").args(["-KILL", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    child.wait().unwrap();
    insta::assert_snapshot!(desk.steady(&desk.gg(&["show", "last"]).stdout));
}
