//! Signals, and readers that go away.

use super::desk::Desk;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
};

/// A model that thinks for as long as a script may make it.
fn slow() -> Desk {
    Desk::with(json!([{ "text": "Too late.", "delayMs": 600_000 }]))
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success() || name != "INT");
}

fn is_over(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_some()
}

#[test]
fn the_first_signal_ends_the_run_cleanly() {
    for name in ["INT", "TERM"] {
        let desk = slow();
        let mut child = desk.start(&["run", "agents.jsonc", "Go", "--workspace", "work", "--json"]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        lines.by_ref().find(|line| line.as_ref().unwrap().contains("\"type\":\"message\"")).unwrap().unwrap();
        signal(&child, name);
        let last: Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
        assert_eq!((&last["type"], &last["ending"]["how"]), (&json!("run_ended"), &json!("cancelled")));
        let ended = desk.outcome(child.wait_with_output().unwrap());
        assert_eq!(ended.code, Some(130));
        assert!(ended.stderr.contains("ending the run"), "{}", ended.stderr);
        assert!(desk.gg(&["show", "last"]).stdout.contains("cancelled: interrupted by"));
    }
}

#[test]
fn the_second_signal_ends_gg_at_once() {
    let desk = slow();
    // An event that is larger than a pipe: gg is stuck in writing it, and cannot end cleanly.
    let prompt = "word ".repeat(100_000);
    let mut child = desk
        .command(&["run", "agents.jsonc", "--workspace", "work", "--json"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
    let mut first = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    // Two signals that come too close together are one, so the second is sent until it has arrived.
    while !is_over(&mut child) {
        signal(&child, "INT");
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let desk = Desk::new();
    for arguments in [&["schema"][..], &["completions", "zsh"]] {
        let mut child = desk.start(arguments);
        drop(child.stdout.take());
        let ended = desk.outcome(child.wait_with_output().unwrap());
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}

#[test]
fn a_run_whose_events_nobody_reads_is_ended() {
    let desk = slow();
    let mut child = desk.start(&["run", "agents.jsonc", "Go", "--workspace", "work", "--json"]);
    drop(child.stdout.take());
    let ended = desk.outcome(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    let shown = desk.gg(&["show", "last"]).stdout;
    assert!(shown.contains("cancelled: nobody reads its events any more"), "{shown}");
}
