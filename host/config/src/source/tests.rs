use super::*;

fn refused(text: &str) -> Vec<(Code, String, usize, usize, usize)> {
    let refusals = match Source::parse("test", text) {
        Ok(source) => source.early,
        Err(refusals) => refusals,
    };
    refusals.into_iter().map(|r| (r.code, r.pointer, r.line, r.column, r.length)).collect()
}

#[test]
fn every_value_has_its_place() {
    let source = Source::parse("test", "\u{feff}{\n  // ä\n  \"a/b\": [1, {\"ü\": \"x\"},],\n}").unwrap();
    let at = |pointer, mark| source.line_column_length(&source.place(pointer, mark));
    assert_eq!(at("", Mark::Value), (1, 2, 1));
    assert_eq!(at("/a~1b", Mark::Key), (3, 3, 5));
    assert_eq!(at("/a~1b", Mark::Value), (3, 10, 1));
    assert_eq!(at("/a~1b/0", Mark::Value), (3, 11, 1));
    assert_eq!(at("/a~1b/1/ü", Mark::Key), (3, 15, 3));
    assert_eq!(at("/a~1b/1/ü", Mark::Value), (3, 20, 3));
    assert_eq!(at("/a~1b/1/none/at/all", Mark::Value), (3, 14, 1));
    assert_eq!(source.value(), &serde_json::json!({ "a/b": [1, { "ü": "x" }] }));
}

#[test]
fn what_cannot_be_read_is_refused_where_it_stands() {
    assert_eq!(refused(""), [(Code::Syntax, String::new(), 1, 1, 0)]);
    assert_eq!(refused("{\n \"a\" 1 }"), [(Code::Syntax, String::new(), 2, 6, 1)]);
    assert_eq!(refused("{ a: 1 }"), [(Code::Syntax, String::new(), 1, 3, 1)]);
    assert_eq!(refused("{ \"a\": 'x' }"), [(Code::Syntax, String::new(), 1, 8, 1)]);
    assert_eq!(refused("{} {}"), [(Code::Syntax, String::new(), 1, 4, 1)]);
    assert_eq!(refused("{ \"a\": \"x\ny\" }"), [(Code::Syntax, "/a".into(), 1, 10, 1)]);
    let deep = "[".repeat(MAX_DEPTH + 2) + &"]".repeat(MAX_DEPTH + 2);
    assert_eq!(refused(&deep), [(Code::TooLarge, String::new(), 1, MAX_DEPTH + 2, 1)]);
    assert_eq!(refused(&"[".repeat(100_000))[0].0, Code::TooLarge);
    assert_eq!(refused(&" ".repeat(MAX_BYTES + 1)), [(Code::TooLarge, String::new(), 1, 1, 0)]);
    let key = format!("{{ \"{}\": 1 }}", "k".repeat(MAX_KEY_BYTES + 1));
    assert_eq!(refused(&key), [(Code::TooLarge, String::new(), 1, 3, MAX_KEY_BYTES + 3)]);
}

#[test]
fn keys_twice_and_huge_numbers_do_not_stop_the_reading() {
    let text = "{ \"a\": 1,\n  \"a\": 1e999,\n  \"b\": 2.0, \"c\": 1e300 }";
    assert_eq!(
        refused(text),
        [(Code::OutOfRange, "/a".into(), 2, 8, 5), (Code::DuplicateKey, "/a".into(), 2, 3, 3)]
    );
    let value = Source::parse("test", text).unwrap().value;
    assert_eq!(value["b"].as_u64(), Some(2));
    assert_eq!(value["c"].as_f64(), Some(1e300));
}

#[test]
fn a_broken_document_still_says_what_it_needs() {
    let text = r#"{
        "components": { "a": { "path": "a.wasm", "sha256": "short" }, "b": 1, "c": {} },
        "providers": {
            "x": { "api": "scripted", "script": "s.json", "apiKeyEnv": "sk-123" },
            "y": { "api": "replay", "recording": "r.json" },
            "z": { "apiKeyEnv": "KEY", "script": "not asked for" },
            "w": []
        },
        "agents": [
            { "hooks": [{ "command": ["./gate.sh", "-q"] }, { "command": [] }, { "command": "lint" }, 1] },
            { "hooks": false },
            { "hooks": [{ "command": ["lint"] }, { "command": ["./gate.sh"] }, { "command": [7] }] }
        ]
    }"#;
    let component = ComponentRef { path: "a.wasm".into(), sha256: None };
    assert_eq!(
        Source::parse("test", text).unwrap().needs(),
        Needs {
            components: vec![("a".into(), component)],
            env: vec!["KEY".into()],
            scripts: vec!["s.json".into()],
            recordings: vec!["r.json".into()],
            programs: vec!["./gate.sh".into(), "lint".into()],
        }
    );
}
