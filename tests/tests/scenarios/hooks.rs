//! Hooks and commands in runs that a script alone cannot tell.

use gg_core::{CallStatus, Ending, Event, HookOutcome, Part};
use gg_tests::{Scenario, recorded};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};
use tempfile::TempDir;

/// A scenario of one turn with these calls, under a profile with these hooks.
fn scenario(folder: &Path, hooks: Value, calls: Value) -> Scenario {
    let script = json!({ "replies": [{ "calls": calls }, { "text": "I see." }] }).to_string();
    fs::write(folder.join("script.json"), script).unwrap();
    let configuration = json!({
        "maxParallel": 1,
        "providers": { "script": { "api": "scripted", "script": "script.json" } },
        "agents": [{
            "id": "solo",
            "model": { "provider": "script", "name": "scripted", "contextWindow": 16000, "maxOutput": 500 },
            "prompt": "You are under test.",
            "hooks": hooks,
            "capabilities": [{ "id": "workspace", "enabled": true }, { "id": "shell", "enabled": true }],
        }],
    });
    Scenario::of(folder, &configuration.to_string(), "Go.")
}

fn write_file(path: &str) -> Value {
    json!({ "name": "write_file", "arguments": { "path": path, "content": "text" } })
}

/// The results of all calls, in order, and the outcomes of all hooks.
fn came_out(dir: &Path) -> (Vec<(CallStatus, String)>, Vec<HookOutcome>) {
    let (mut results, mut hooks) = (Vec::new(), Vec::new());
    for event in recorded(dir) {
        match &event.event {
            Event::Message { message, .. } => results.extend(message.parts.iter().filter_map(|part| {
                let Part::Result(result) = part else { return None };
                Some((result.status, result.content.clone()))
            })),
            Event::Hook { outcome, .. } => hooks.push(*outcome),
            _ => {}
        }
    }
    (results, hooks)
}

#[tokio::test]
async fn a_gate_that_has_gone_is_shut() {
    let folder = TempDir::new().unwrap();
    let gate = folder.path().join("gate");
    symlink("/bin/true", &gate).unwrap();
    let hooks = json!([
        { "on": "before_call", "command": ["./gate"] },
        { "on": "after_call", "command": ["./gate"] },
    ]);
    let scenario = scenario(folder.path(), hooks, json!([write_file("a.txt")]));
    // The run has begun, and its agent has not: this thread is the only one that would let it.
    let played = scenario.play_with(|_| fs::remove_file(&gate).unwrap()).await;
    let why = "refused: the hook ./gate could not be started: No such file or directory (os error 2), which \
               counts as a refusal";
    let expected = (vec![(CallStatus::Refused, why.to_owned())], vec![HookOutcome::Failed]);
    assert_eq!(came_out(&played.dir), expected, "{}", played.story());
    assert!(!played.workspace.join("a.txt").exists());
}

/// Waits until a file holds the id of a process.
async fn process(file: &Path) -> u32 {
    for _ in 0..2000 {
        if let Ok(text) = fs::read_to_string(file)
            && let Ok(id) = text.trim().parse()
        {
            return id;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("nothing was started");
}

#[tokio::test]
async fn what_runs_when_the_run_is_cancelled_is_ended() {
    let waits = "echo $$ >pid; sleep 60";
    let hook = json!([{ "on": "before_call", "calls": ["write_file"], "command": ["sh", "-c", waits] }]);
    let command = json!({ "name": "run_command", "arguments": { "command": waits } });
    let rows = [
        (
            json!([write_file("a.txt")]),
            (
                CallStatus::Refused,
                "refused: the hook sh was stopped with the agent, which counts as a refusal",
            ),
            vec![HookOutcome::Failed],
        ),
        (json!([command]), (CallStatus::Failed, "failed: stopped with the agent, no output"), vec![]),
    ];
    for (calls, (status, content), hooks) in rows {
        let folder = TempDir::new().unwrap();
        let scenario = scenario(folder.path(), hook.clone(), calls);
        let handle = gg_runtime::start(scenario.launch).await.unwrap();
        let dir = handle.dir().to_owned();
        let id = process(&scenario.workspace.join("pid")).await;
        handle.cancel("enough");
        let summary = handle.join().await.unwrap();
        assert_eq!(summary.ending, Ending::Cancelled { reason: "enough".into() });
        assert_eq!(came_out(&dir), (vec![(status, content.to_owned())], hooks));
        // It was waited for, so nothing of it is left.
        assert!(!Path::new(&format!("/proc/{id}")).exists());
        assert!(!scenario.workspace.join("a.txt").exists());
    }
}
