//! `gg run` on a pipe.

use super::desk::{Desk, Outcome};
use serde_json::{Value, json};

fn replies() -> Value {
    json!([
        {
            "turn": 1,
            "text": "I read both.",
            "calls": [
                { "name": "read_file", "arguments": { "path": "notes.txt" } },
                { "name": "read_file", "arguments": { "path": "missing.txt" } },
            ],
            "usage": { "input": 1200, "output": 40 },
        },
        {
            "turn": 2,
            "calls": [{ "name": "finish", "arguments": { "outcome": "success", "text": "The word is \u{1b}[31mlighthouse.\n" } }],
            "usage": { "input": 1500, "cached": 1000, "output": 20 },
        },
    ])
}

fn desk() -> Desk {
    let desk = Desk::with(replies());
    desk.file("work/notes.txt", "The word is\n\u{1b}]0;lighthouse\u{7}.\n");
    desk
}

const RUN: [&str; 5] = ["run", "agents.jsonc", "Find the word", "--workspace", "work"];

#[test]
fn the_result_is_on_stdout_and_the_story_on_stderr() {
    let desk = desk();
    let run = desk.gg(&RUN);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "The word is \u{1b}[31mlighthouse.\n"));
    assert!(!run.stderr.contains('\u{1b}'));
    insta::assert_snapshot!(desk.steady(&run.stderr));
}

#[test]
fn quiet_leaves_the_result_alone() {
    let desk = desk();
    let run = desk.gg(&[&RUN[..], &["--quiet"]].concat());
    let text = "The word is \u{1b}[31mlighthouse.\n".to_owned();
    assert_eq!(run, Outcome { code: Some(0), stdout: text, stderr: String::new() });
}

#[test]
fn how_the_root_ends_decides_the_exit_code() {
    let finish = |outcome: &str| json!([{ "calls": [{ "name": "finish", "arguments": { "outcome": outcome, "text": "So it is." } }] }]);
    let looks = json!([{ "times": 9, "calls": [{ "name": "list_files", "arguments": {} }] }]);
    let fails = json!([{ "error": { "kind": "auth", "message": "no such key" } }]);
    for (replies, code, text, says) in [
        (json!([{ "text": "So it is." }]), 0, "So it is.\n", "ended with a text"),
        (finish("success"), 0, "So it is.\n", "finished: success"),
        (finish("failure"), 1, "So it is.\n", "finished: failure"),
        (looks, 1, "", "turns"),
        (fails, 1, "", "no such key"),
    ] {
        let desk = Desk::with(replies.clone());
        let run = desk.gg(&RUN);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), text), "{replies}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{replies}: {}", run.stderr);
        let quiet = desk.gg(&[&RUN[..], &["--quiet"]].concat());
        assert_eq!(quiet.stderr.contains(says), code != 0, "{replies}: {}", quiet.stderr);
    }
}

#[test]
fn the_prompt_may_be_piped() {
    let replies = json!([{ "text": "Done.", "expect": { "contains": "Find\nthe wörd" } }]);
    let desk = Desk::with(replies);
    let run = desk.gg_reading(&["run", "agents.jsonc", "--workspace", "work"], "Find\nthe wörd\n".as_bytes());
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "Done.\n"), "{}", run.stderr);
}

#[test]
fn what_cannot_be_run_is_refused() {
    let desk = Desk::with(json!([{ "text": "Done." }]));
    let none: &[u8] = b"";
    for (arguments, input, says) in [
        (&["run", "agents.jsonc"][..], none, "the prompt is empty"),
        (&["run", "agents.jsonc", "  "], none, "the prompt is empty"),
        (&["run", "agents.jsonc"], b"\xff", "not UTF-8"),
        (&["run", "nothing.jsonc", "Go"], none, "cannot read nothing.jsonc"),
        (&["run", "agents.jsonc", "Go", "--workspace", "nowhere"], none, "cannot use the workspace nowhere"),
        (&["run", "agents.jsonc", "Go", "--workspace", "agents.jsonc"], none, "is not a folder"),
        (
            &["run", "agents.jsonc", "Go", "--workspace", "work", "--runs", "agents.jsonc"],
            none,
            "agents.jsonc",
        ),
        (&["run", "agents.jsonc", "Go"], none, "lies inside the workspace"),
        (
            &["run", "agents.jsonc", "Go", "--workspace", "work", "--runs", "work/new/runs"],
            none,
            "lies inside",
        ),
    ] {
        let refused = desk.gg_reading(arguments, input);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {}",
            refused.stderr
        );
        assert!(refused.stderr.starts_with("error: "), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(says), "{arguments:?}: {}", refused.stderr);
    }
    assert_eq!(desk.runs(), Vec::<String>::new());
}

#[test]
fn events_are_json_lines_without_a_gap_and_the_same_as_on_record() {
    let desk = desk();
    let run = desk.gg(&[&RUN[..], &["--json"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(!run.stdout.contains('\u{1b}'));
    let events: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let numbers: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(events[0]["type"], "run_started");
    assert_eq!(events[0]["agent"], Value::Null);
    assert_eq!(events.last().unwrap()["type"], "run_ended");
    assert!(events.iter().any(|event| event["type"] == "call" && event["agent"] == "a1"));
    assert_eq!(desk.gg(&["show", "last", "--json"]).stdout, run.stdout);
}
