//! The cases through `gg run`: a whole agent, in a process of its own.

use crate::{
    cases::{self, Ask, BOTH, Case, Outcome, Way, check, malformed, ways},
    servers::{expect_fixtures, gate, seen, test_id},
};
use serde_json::{Value, json};
use std::{env, fs, path::Path, process::Command};

/// The variable that the configuration names for the key.
const KEY_VARIABLE: &str = "GG_PEERS_KEY";

/// An agent that works on files, or as `more` has it.
pub(crate) fn profile(case: &Case, way: Way, id: &str, more: &Value) -> Value {
    let mut profile = json!({
        "id": id,
        "model": {
            "provider": "peer", "name": way.model(), "contextWindow": 16384, "maxOutput": 2048,
            "parameters": way.parameters(case),
        },
        "prompt": format!("You work on files. You are the {id}."),
        "maxTurns": 8,
        "capabilities": [{ "id": "workspace", "enabled": true }],
    });
    profile.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    profile
}

/// One agent runs at a time, so the requests come in one order.
fn configuration(agents: &[Value], way: Way, test_id: &str) -> Value {
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

/// A run that went as its case says: its events, and what the mock was sent.
pub(crate) struct Played {
    pub(crate) events: Vec<Value>,
    pub(crate) journal: Vec<Value>,
}

impl Played {
    pub(crate) fn of_type(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == name)
    }
}

/// Runs these agents, of which the first is asked.
pub(crate) fn play(case: &Case, way: Way, agents: &[Value]) -> Played {
    expect_fixtures();
    let test_id = test_id("agent");
    let seen_before = seen(way.path());
    let folder = tempfile::tempdir().expect("a folder");
    let workspace = folder.path().join("workspace");
    fs::create_dir(&workspace).expect("a workspace");
    for name in ["a.txt", "b.txt", "c.txt"] {
        fs::write(workspace.join(name), format!("this is {name}\n")).expect("a file");
    }
    fs::write(folder.path().join("gg.json"), configuration(agents, way, &test_id).to_string())
        .expect("a configuration");
    let events = gg(folder.path(), case.prompt);
    let of_type = |name: &'static str| events.iter().filter(move |event| event["type"] == name);
    // A copy counts its turns on, so its calls may be called as its original's.
    let same = |call: &Value, result: &Value| ["agent", "call"].iter().all(|key| call[key] == result[key]);
    let calls = of_type("call").map(|call| {
        let results: Vec<_> = of_type("call_result").filter(|result| same(call, result)).collect();
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
    let journal = check(case, way, &test_id, &outcome);
    // Others may ask meanwhile.
    assert!(
        seen(way.path()) - seen_before >= journal.len() as u64,
        "{}, {way:?}: the gate's count",
        case.prompt
    );
    Played { events, journal }
}

fn alone(case: &Case, way: Way) {
    play(case, way, &[profile(case, way, "worker", &json!({}))]);
}

fn every(case: &Case, asks: &[Ask]) {
    for way in ways(asks) {
        alone(case, way);
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
        alone(&malformed(way.format), way);
    }
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn a_call_that_is_not_offered() {
    every(&cases::NOT_OFFERED, BOTH);
}

#[test]
#[ignore = "needs servers: cargo xtask peers"]
fn reasoning() {
    every(&cases::REASONING, BOTH);
}
