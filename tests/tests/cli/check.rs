//! `gg check`.

use super::desk::{CONFIGURATION, Desk};
use serde_json::{Value, json};

#[test]
fn what_is_right_is_said_to_be() {
    let desk = Desk::with(json!([{ "text": "Hello" }]));
    insta::assert_snapshot!(desk.gg(&["check", "agents.jsonc"]).stdout, @"ok agents.jsonc  1 agent, 1 provider, 0 components");
    let data = desk.gg(&["check", "agents.jsonc", "--format", "json"]);
    assert_eq!((data.code, data.stdout.as_str()), (Some(0), "{\"refusals\":[]}\n"));
}

fn wrong() -> Desk {
    let desk = Desk::with(json!([{ "text": "Hello" }]));
    let text = CONFIGURATION.replace("\"maxTurns\": 3", "\"maxTurn\": 3").replace("16000", "\"16\u{9b}000\"");
    desk.file("agents.jsonc", &text);
    desk
}

#[test]
fn what_is_wrong_is_shown_in_its_place() {
    let desk = wrong();
    let refused = desk.gg(&["check", "agents.jsonc"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(refused.stderr);
    assert_eq!(desk.gg(&["run", "agents.jsonc", "Go"]), refused, "a run is refused in the same words");
    assert_eq!(desk.runs(), Vec::<String>::new());
}

#[test]
fn what_is_wrong_is_given_as_data() {
    let refused = wrong().gg(&["check", "agents.jsonc", "--format", "json"]);
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(2), ""));
    assert_eq!(refused.stdout.lines().count(), 1);
    assert!(!refused.stdout.contains('\u{9b}'));
    let report: Value = serde_json::from_str(&refused.stdout).unwrap();
    let places: Vec<Value> = report["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|refusal| json!([refusal["code"], refusal["pointer"], refusal["line"], refusal["profile"]]))
        .collect();
    assert_eq!(
        places,
        [
            json!(["wrong-type", "/agents/0/model/contextWindow", 9, "reader"]),
            json!(["unknown-key", "/agents/0/maxTurn", 13, "reader"]),
        ]
    );
}

#[test]
fn a_file_that_is_none_is_refused() {
    let desk = Desk::new();
    desk.file("latin.jsonc", "");
    std::fs::write(desk.path("latin.jsonc"), b"{ \"a\": \"\xe9\" }").unwrap();
    for (file, says) in [
        ("nothing.jsonc", "cannot read nothing.jsonc: No such file"),
        ("work", "cannot read work: Is a directory"),
        ("latin.jsonc", "latin.jsonc is not UTF-8 text: byte 8 is none"),
        ("/dev/zero", "too-large"),
    ] {
        let refused = desk.gg(&["check", file]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{file}: {}", refused.stderr);
        assert!(refused.stderr.contains(says), "{file}: {}", refused.stderr);
        assert!(refused.stderr.contains("help: "), "{file}: {}", refused.stderr);
        let data = desk.gg(&["check", file, "--format", "json"]);
        assert_eq!((data.code, data.stderr.as_str()), (Some(2), ""), "{file}: {}", data.stdout);
        let report: Value = serde_json::from_str(&data.stdout).unwrap();
        let refusal = &report["refusals"][0];
        let place = json!([refusal["pointer"], refusal["line"], refusal["column"]]);
        assert_eq!(place, json!(["", 1, 1]), "{file}: {refusal}");
        let said = format!("{} {}", refusal["code"].as_str().unwrap(), refusal["message"].as_str().unwrap());
        assert!(said.contains(says), "{file}: {said}");
    }
}

/// Nobody opens the other end of these pipes.
#[test]
fn a_pipe_that_is_named_as_a_file_is_refused_and_not_waited_for() {
    let desk = Desk::new();
    let made = std::process::Command::new("mkfifo").arg(desk.path("pipe")).status().unwrap();
    assert!(made.success());
    let text = json!({
        "maxParallel": 1,
        "providers": {
            "scripted": { "api": "scripted", "script": "pipe" },
            "recorded": { "api": "replay", "recording": "pipe" },
        },
        "components": { "piped": { "path": "pipe" } },
        "agents": [],
    });
    desk.file("agents.jsonc", &text.to_string());
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(desk.gg(&["check", "agents.jsonc", "--format", "json"])));
    let refused = receive.recv_timeout(std::time::Duration::from_secs(60)).expect("gg waits for the pipe");
    let report: Value = serde_json::from_str(&refused.stdout).unwrap();
    for (code, pointer) in [
        ("file-unreadable", "/providers/scripted/script"),
        ("file-unreadable", "/providers/recorded/recording"),
        ("component-unreadable", "/components/piped/path"),
    ] {
        let refusals = report["refusals"].as_array().unwrap();
        let refusal = refusals.iter().find(|refusal| refusal["pointer"] == pointer).expect(pointer);
        assert_eq!(refusal["code"], code);
        assert!(refusal["message"].as_str().unwrap().contains("no regular file"), "{refusal}");
    }
}

#[test]
fn only_what_may_be_a_secret_is_hidden() {
    let desk = Desk::new();
    let text = r#"{
  "maxParallel": 1,
  "providers": {
    "near": { "api": "openai-chat",
      "baseUrl": "localhost:8080/v1" },
    "far": { "api": "openai-chat",
      "baseUrl": "http://me:hidden-1@host/v1" },
    "keyed": { "api": "openai-chat", "baseUrl": "http://host/v1",
      "apiKeyEnv": "hidden-2" }
  },
  "agents": [
    { "id": "one", "prompt": "Go.",
      "model": { "provider": "near", "name": "m", "contextWindow": 9000, "maxOutput": 100,
        "token": "hidden-3" } }
  ]
}"#;
    desk.file("agents.jsonc", text);
    let refused = desk.gg(&["check", "agents.jsonc"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("\"localhost:8080/v1\""), "{}", refused.stderr);
    assert!(refused.stderr.contains("@host/v1"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("hidden"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("unknown-key"), "{}", refused.stderr);
}
