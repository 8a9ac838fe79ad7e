//! The examples that need no key, each run by the command that stands above its configuration.

use super::desk::Desk;
use std::{fs, process::Child};

/// The prompt in that command.
fn prompt(configuration: &str) -> &str {
    let command = configuration.lines().find(|line| line.contains("gg run examples/"));
    command.and_then(|command| command.split('"').nth(1)).expect("a command with a prompt")
}

/// Starts the example `name` on a copy of it, because its agents write into their workspace.
fn start(desk: &Desk, name: &str) -> Child {
    let folder = gg_tests::root().join("examples").join(name);
    gg_tests::copy(&folder, &desk.path(name));
    let configuration = fs::read_to_string(folder.join("gg.jsonc")).unwrap();
    let (file, workspace) = (format!("{name}/gg.jsonc"), format!("{name}/workspace"));
    desk.start(&["run", file.as_str(), prompt(&configuration), "--workspace", workspace.as_str()])
}

#[test]
fn the_examples_without_a_key_end_well() {
    let mut names = Vec::new();
    for entry in fs::read_dir(gg_tests::root().join("examples")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().join("script.json").is_file() {
            names.push(entry.file_name().into_string().unwrap());
        }
    }
    names.sort();
    assert_eq!(names, ["explore", "first", "handoff", "intake", "review", "tdd", "team"]);
    let desk = Desk::new();
    let runs: Vec<(&String, Child)> = names.iter().map(|name| (name, start(&desk, name))).collect();
    for (name, run) in runs {
        let run = desk.outcome(run.wait_with_output().unwrap());
        assert_eq!(run.code, Some(0), "{name}: {}", run.stderr);
    }
}

/// A machine that loops back is one lineage, with its states in their order.
#[test]
fn the_test_driven_machine_is_shown_as_one_agent_with_its_states() {
    let desk = Desk::new();
    let run = desk.outcome(start(&desk, "tdd").wait_with_output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let shown = desk.gg(&["show", "last"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    insta::assert_snapshot!(desk.steady(&shown.stdout));
}
