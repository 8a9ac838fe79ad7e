//! Rules about hooks.

use super::*;
use crate::Hook;
use gg_core::HookPoint;

fn hooked(hook: Value) -> Value {
    with("/agents/0/hooks", json!([hook]))
}

#[test]
fn each_rule_about_hooks_refuses_what_it_is_about() {
    use Code::*;
    let gate = json!(["./gate.sh", ""]);
    let rows = [
        (json!({ "on": "before_cal", "command": gate }), UnknownValue, "/on"),
        (json!({ "command": gate }), MissingValue, ""),
        (json!({ "on": "before_call" }), MissingValue, ""),
        (json!({ "on": "before_call", "command": [] }), EmptyValue, "/command"),
        (json!({ "on": "before_call", "command": "./gate.sh" }), WrongType, "/command"),
        (json!({ "on": "before_call", "command": [" "] }), HookCommand, "/command/0"),
        (json!({ "on": "before_call", "command": ["./gate.sh", "a\0b"] }), HookCommand, "/command/1"),
        (json!({ "on": "before_call", "command": ["./notes.txt"] }), HookCommand, "/command/0"),
        (json!({ "on": "before_call", "command": ["unheard-of"] }), HookCommand, "/command/0"),
        (json!({ "on": "before_call", "command": gate, "timeoutMs": 0 }), OutOfRange, "/timeoutMs"),
        (json!({ "on": "before_call", "command": gate, "timeoutMs": 600_001 }), OutOfRange, "/timeoutMs"),
        (json!({ "on": "before_call", "command": gate, "timeout": 1 }), UnknownKey, "/timeout"),
        (json!({ "on": "before_call", "command": gate, "calls": [] }), EmptyValue, "/calls"),
        (json!({ "on": "before_call", "command": gate, "calls": ["read_fil"] }), HookCall, "/calls/0"),
        (
            json!({ "on": "after_call", "command": gate, "calls": ["finish", "add_task"] }),
            HookCall,
            "/calls/1",
        ),
        (json!({ "on": "after_call", "command": gate, "calls": ["write_file"] }), HookCall, "/calls/0"),
        (json!({ "on": "before_end", "command": gate, "calls": ["finish"] }), HookCall, "/calls"),
        (json!({ "on": "before_end", "command": gate, "calls": [] }), EmptyValue, "/calls"),
    ];
    for (hook, code, at) in rows {
        let expected = (code, format!("/agents/0/hooks/0{at}"));
        let found = refused(&hooked(hook.clone()));
        assert!(found.contains(&expected), "{hook}: {found:?}");
        let others: Vec<_> = found.iter().filter(|one| one.1 != expected.1).collect();
        assert_eq!(others, Vec::<&(Code, String)>::new(), "{hook}");
    }
}

#[test]
fn what_is_refused_says_what_would_be_right() {
    let hook = json!({
        "on": "before_call",
        "calls": ["read_fil", "write_file", "add_task"],
        "command": ["./notes.txt"],
    });
    let source = Source::parse("test", &hooked(hook).to_string()).unwrap();
    let said: Vec<(String, String)> = check(&source, &catalogue())
        .unwrap_err()
        .into_iter()
        .map(|refusal| (refusal.message, refusal.help))
        .collect();
    let expected = [
        ("nothing this agent enables offers the call \"read_fil\"", "did you mean \"read_file\"?"),
        (
            "the allowlist of this agent withholds the call \"write_file\"",
            "remove it here, or add it to the agent's \"calls\"",
        ),
        (
            "nothing this agent enables offers the call \"add_task\"",
            "remove it here, or enable the capability \"tasks\", which offers it",
        ),
        (
            "the program \"./notes.txt\" cannot be run: it is not executable",
            "paths are relative to the folder of the configuration; make a script executable with chmod +x",
        ),
    ];
    assert_eq!(said, expected.map(|(message, help)| (message.to_owned(), help.to_owned())));
}

#[test]
fn a_hook_may_be_about_what_an_unusable_component_might_offer() {
    let mut document = hooked(json!({ "on": "before_call", "calls": ["define"], "command": ["./gate.sh"] }));
    put(&mut document, "/components/glossary/path", json!("misfit.wasm"));
    put(&mut document, "/components/misfit", json!({ "path": "misfit.wasm" }));
    put(&mut document, "/agents/0/capabilities/2", json!({ "id": "misfit", "enabled": true }));
    let found = refused(&document);
    assert!(!found.iter().any(|(code, _)| *code == Code::HookCall), "{found:?}");
}

#[test]
fn defaults_are_filled_in() {
    let mut document = hooked(json!({ "on": "before_end", "command": ["./gate.sh"] }));
    put(
        &mut document,
        "/agents/0/hooks/-",
        json!({
            "on": "after_call", "calls": ["read_file"], "command": ["./gate.sh", "-q"], "timeoutMs": 5,
        }),
    );
    let source = Source::parse("test", &document.to_string()).unwrap();
    let configuration = check(&source, &catalogue()).unwrap();
    assert_eq!(
        configuration.agents[0].hooks,
        [
            Hook {
                on: HookPoint::BeforeEnd,
                calls: None,
                command: vec!["./gate.sh".into()],
                timeout_ms: 10_000,
            },
            Hook {
                on: HookPoint::AfterCall,
                calls: Some(vec!["read_file".into()]),
                command: vec!["./gate.sh".into(), "-q".into()],
                timeout_ms: 5,
            },
        ]
    );
}
