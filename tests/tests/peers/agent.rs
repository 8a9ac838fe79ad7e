//! The cases through `gg run`: a whole agent, in a process of its own.

use crate::{
    cases::{self, Ask, BOTH, Case, Outcome, Way, check, malformed, ways},
    servers::{expect_fixtures, gate, test_id},
};
use serde_json::{Value, json};
use std::{env, fs, path::Path, process::Command};

/// The variable that the configuration names for the key.
const KEY_VARIABLE: &str = "GG_PEERS_KEY";

/// One agent that works on files; in the case of a team, it and the one that it may spawn.
fn configuration(case: &Case, way: Way, test_id: &str) -> Value {
    let profile = |id: &str, more: Value| {
        let mut profile = json!({
            "id": id,
            "model": {
                "provider": "peer", "name": way.model(), "contextWindow": 16384, "maxOutput": 2048,
                "parameters": way.parameters(case),
            },
            "prompt": "You work on files.",
            "maxTurns": 8,
            "capabilities": [{ "id": "workspace", "enabled": true }],
        });
        profile.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        profile
    };
    let agents = if case.prompt == cases::TEAM.prompt {
        let lead = json!({
            "roster": [{ "agentId": "part", "scopes": ["subagent"], "description": "does one part" }],
            "capabilities": [{ "id": "subagents", "enabled": true, "params": { "maxDepth": 1 } }],
        });
        json!([profile("lead", lead), profile("part", json!({}))])
    } else {
        json!([profile("worker", json!({}))])
    };
    json!({
        "maxParallel": 1,
        "providers": { "peer": {
            "api": way.api(),
            "baseUrl": format!("{}/v1", gate()),
            "apiKeyEnv": KEY_VARIABLE,
            "headers": { "X-Test-Id": test_id },
            "stream": way.ask == Ask::Streamed,
        } },
        "agents": agents,
    })
}

fn gg(folder: &Path, prompt: &str) -> Vec<Value> {
    let program = env::var_os("GG_BIN").expect("GG_BIN: the gg to test, as `cargo xtask peers` sets it");
    let output = Command::new(program)
        .arg("run")
        .arg(folder.join("gg.json"))
        .arg(prompt)
        .arg("--json")
        .arg("--runs")
        .arg(folder.join("runs"))
        .arg("--workspace")
        .arg(folder.join("workspace"))
        .env(KEY_VARIABLE, "any-key-will-do")
        .output()
        .expect("gg runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    let events =
        out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")));
    events.collect()
}

fn play(case: &Case, way: Way) {
    expect_fixtures();
    let test_id = test_id("agent");
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = folder.path().join("workspace");
    fs::create_dir(&workspace).expect("a workspace");
    for name in ["a.txt", "b.txt", "c.txt"] {
        fs::write(workspace.join(name), format!("this is {name}\n")).expect("a file");
    }
    fs::write(folder.path().join("gg.json"), configuration(case, way, &test_id).to_string())
        .expect("a configuration");
    let events = gg(folder.path(), case.prompt);
    let of_type = |name: &'static str| events.iter().filter(move |event| event["type"] == name);
    let calls = of_type("call").map(|call| {
        let results: Vec<_> =
            of_type("call_result").filter(|result| result["call"] == call["call"]).collect();
        assert_eq!(results.len(), 1, "{call}");
        // Arguments that are no object are recorded as the text that the model wrote.
        let arguments = match &call["arguments"] {
            Value::String(raw) => json!({ "malformed": raw }),
            object => object.clone(),
        };
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        format!("{} {arguments} {}", text(&call["name"]), text(&results[0]["status"]))
    });
    let ended = of_type("run_ended").next().expect("the run's end");
    let outcome = Outcome {
        calls: calls.collect(),
        written: fs::read_to_string(workspace.join("out.txt")).ok(),
        text: ended["ending"]["text"].as_str().unwrap_or_default().to_owned(),
    };
    check(case, way, &test_id, &outcome);
}

fn every(case: &Case, asks: &[Ask]) {
    for way in ways(asks) {
        play(case, way);
    }
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn parallel_calls() {
    every(&cases::PARALLEL, BOTH);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_429_with_retry_after() {
    every(&cases::RATE_LIMIT, BOTH);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_500() {
    every(&cases::SERVER_ERROR, BOTH);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_disconnect_in_mid_stream() {
    every(&cases::CUT_IN_MID_STREAM, &[Ask::Streamed]);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_disconnect_before_the_reply() {
    every(&cases::CUT_BEFORE_THE_REPLY, BOTH);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn malformed_arguments() {
    for way in ways(BOTH) {
        play(&malformed(way.format), way);
    }
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_call_that_is_not_offered() {
    every(&cases::NOT_OFFERED, BOTH);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_team() {
    every(&cases::TEAM, BOTH);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn reasoning() {
    every(&cases::REASONING, BOTH);
}
