//! `gg runs` and `gg show`.

use super::desk::Desk;
use serde_json::{Value, json};

fn desk() -> Desk {
    let desk = Desk::with(json!([
        {
            "turn": 1,
            "text": "I read it.",
            "calls": [{ "name": "read_file", "arguments": { "path": "notes.txt" } }],
            "usage": { "input": 1200, "output": 40 },
        },
        {
            "turn": 2,
            "calls": [{
                "name": "finish",
                "arguments": { "outcome": "success", "text": "Light\u{9b}house.", "data": { "letters": 10 } },
            }],
            "usage": { "input": 1500, "output": 20 },
        },
    ]));
    desk.file("work/notes.txt", "lighthouse\u{1b}[2J\n");
    desk
}

fn run(desk: &Desk) {
    let run = desk.gg(&["run", "agents.jsonc", "Find the\nword", "--workspace", "work"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn a_run_is_told_from_its_record() {
    let desk = desk();
    run(&desk);
    let shown = desk.gg(&["show", "last"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    assert!(!shown.stdout.contains(['\u{1b}', '\u{9b}']));
    insta::assert_snapshot!(desk.steady(&shown.stdout));
}

#[test]
fn its_transcript_has_every_message() {
    let desk = desk();
    run(&desk);
    let shown = desk.gg(&["show", "last", "--transcript"]);
    assert_eq!(shown.code, Some(0));
    assert!(!shown.stdout.contains(['\u{1b}', '\u{9b}']));
    insta::assert_snapshot!(desk.steady(&shown.stdout));
}

#[test]
fn runs_are_listed_and_found_by_a_part_of_their_names() {
    let desk = desk();
    let none = desk.gg(&["runs"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("no runs in"), "{}", none.stderr);
    run(&desk);
    let name = desk.runs().remove(0);
    insta::assert_snapshot!(desk.steady(&desk.gg(&["runs"]).stdout));

    let listed = desk.gg(&["runs", "--json"]).stdout;
    let listed: Value = serde_json::from_str(listed.trim_end()).unwrap();
    let facts =
        json!([listed["run"], listed["status"], listed["ending"]["outcome"], listed["usage"]["input"]]);
    assert_eq!(facts, json!([name, "ended", "success", 2700]));

    let whole = desk.gg(&["show", &name]);
    let end = name.rsplit('-').next().unwrap();
    for part in ["last", &name[..8], end] {
        assert_eq!(desk.gg(&["show", part]), whole, "{part}");
    }
    run(&desk);
    let ambiguous = desk.gg(&["show", &name[..2]]);
    assert_eq!((ambiguous.code, ambiguous.stdout.as_str()), (Some(2), ""));
    assert!(ambiguous.stderr.contains("fits 2 runs"), "{}", ambiguous.stderr);
}

#[test]
fn a_run_that_is_none_is_refused() {
    let desk = Desk::new();
    for (name, says) in [("last", "there are no runs in"), ("k3f9", "no run \"k3f9\""), ("../x", "no run")] {
        let refused = desk.gg(&["show", name, "--runs", "elsewhere"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{name}");
        assert!(refused.stderr.contains(says) && refused.stderr.contains("elsewhere"), "{}", refused.stderr);
    }
}

#[test]
fn the_runs_folder_can_be_another() {
    let desk = desk();
    let arguments = ["run", "agents.jsonc", "Go", "--workspace", "work", "--runs", "kept"];
    let run = desk.gg(&arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(desk.runs(), Vec::<String>::new());
    assert!(run.stderr.lines().last().unwrap().ends_with(" --runs kept"), "{}", run.stderr);
    assert_eq!(desk.gg(&["show", "last", "--runs", "kept"]).code, Some(0));
}
