use super::*;
use crate::{Api, CompactionParams, ComponentFault, Feature, Report, WorkspaceParams, notes, schema};
use gg_core::{CallSpec, Effect};
use proptest::prelude::*;
use serde_json::json;

mod hooks;
mod machines;
mod succession;

fn call(name: &str, feature: Option<&str>) -> CallSpec {
    CallSpec {
        name: name.into(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
        effect: Effect::Acting,
        feature: feature.map(str::to_owned),
    }
}

fn kind(id: &str, params: Value, calls: &[&str]) -> Kind {
    Kind {
        kind: id.into(),
        title: id.into(),
        params,
        features: Vec::new(),
        calls: calls.iter().map(|name| call(name, None)).collect(),
        state_format: None,
    }
}

fn catalogue() -> Catalogue {
    let tasks = json!({
        "type": "object",
        "properties": {
            "maxTasks": { "type": "integer", "minimum": 1, "default": 50, "description": "How many tasks." },
            "maxOpen": { "type": "integer", "minimum": 1, "default": 10, "x-atMost": "maxTasks" },
        },
    });
    let mut compaction = kind("compaction", CompactionParams::schema(), &[]);
    compaction.features = vec![Feature { name: "asked".into(), description: "Asks.".into(), enabled: true }];
    compaction.calls = vec![call("compact", Some("asked"))];
    let needs_path = json!({ "properties": { "path": { "type": "string" } }, "required": ["path"] });
    let kinds = [
        kind("history", json!({ "type": "object" }), &["archive_thread"]),
        kind("tasks", tasks, &["add_task", "list_tasks"]),
        kind("workspace", WorkspaceParams::schema(), &["read_file", "write_file"]),
        compaction,
    ];
    let bad_schema = kind("cyclic", json!({ "$ref": "#" }), &[]);
    Catalogue {
        kinds: kinds.into_iter().map(|kind| (kind.kind.clone(), kind)).collect(),
        components: BTreeMap::from([
            ("glossary".into(), Ok(kind("glossary", needs_path, &["define"]))),
            ("clash".into(), Ok(kind("clash", json!({}), &["read_file", "finish"]))),
            ("host".into(), Ok(kind("workspace", json!({}), &[]))),
            ("cyclic".into(), Ok(bad_schema)),
            ("missing".into(), Err(ComponentFault::Unreadable("no such file".into()))),
            ("changed".into(), Err(ComponentFault::Digest("0".repeat(64)))),
            ("misfit".into(), Err(ComponentFault::Misfit("lifecycle.open is missing".into()))),
        ]),
        env: ["KEY".to_owned()].into(),
        files: BTreeMap::from([
            ("replies.json".into(), Ok(())),
            ("gone.json".into(), Err("no such file".to_owned())),
        ]),
        programs: BTreeMap::from([
            ("./gate.sh".into(), Ok(())),
            ("./notes.txt".into(), Err("it is not executable".to_owned())),
        ]),
    }
}

fn base() -> Value {
    json!({
        "maxParallel": 2,
        "providers": {
            "local": { "api": "openai-chat", "baseUrl": "http://127.0.0.1:8080/v1", "apiKeyEnv": "KEY" },
            "script": { "api": "scripted", "script": "replies.json" },
        },
        "components": { "glossary": { "path": "glossary.wasm" } },
        "agents": [{
            "id": "lead",
            "model": { "provider": "local", "name": "qwen", "contextWindow": 8192, "maxOutput": 512 },
            "prompt": "You lead.",
            "calls": ["read_file", "finish", "compact", "define"],
            "capabilities": [
                { "id": "workspace", "enabled": true },
                { "id": "compaction", "enabled": true, "params": { "summarizer": {
                    "provider": "script", "name": "s", "contextWindow": 4096, "maxOutput": 256 } } },
                { "id": "glossary", "enabled": true, "params": { "path": "terms.json" } },
                { "id": "tasks", "enabled": false },
            ],
        }],
    })
}

/// The base document with `value` at `pointer`; its last segment may be new, and `null` removes it.
fn with(pointer: &str, value: Value) -> Value {
    let mut document = base();
    put(&mut document, pointer, value);
    document
}

fn put(document: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Object(map) if value.is_null() => drop(map.remove(key)),
        Value::Object(map) => drop(map.insert(key.into(), value)),
        Value::Array(list) if key == "-" => list.push(value),
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        _ => panic!("{parent} holds nothing"),
    }
}

fn refused(document: &Value) -> Vec<(Code, String)> {
    let text = serde_json::to_string_pretty(document).unwrap();
    let source = Source::parse("test", &text).unwrap();
    let refusals = check(&source, &catalogue()).err().unwrap_or_default();
    refusals.into_iter().map(|refusal| (refusal.code, refusal.pointer)).collect()
}

#[test]
fn each_rule_refuses_what_it_is_about_and_nothing_else() {
    use Code::*;
    assert_eq!(refused(&base()), []);
    let agent = "/agents/0";
    let caps = "/agents/0/capabilities";
    let rows = [
        ("/maxParallel", json!(0), OutOfRange, "/maxParallel"),
        ("/maxParallel", json!("2"), WrongType, "/maxParallel"),
        ("/maxParallel", json!(2.5), WrongType, "/maxParallel"),
        ("/maxParallel", Value::Null, MissingValue, ""),
        ("/maxParalel", json!(1), UnknownKey, "/maxParalel"),
        ("/agents", json!([]), EmptyValue, "/agents"),
        ("/agents/0/id", json!("a b"), BadId, "/agents/0/id"),
        ("/agents/0/prompt", json!(" \n"), EmptyValue, "/agents/0/prompt"),
        ("/agents/0/rooster", json!([]), UnknownKey, "/agents/0/rooster"),
        ("/agents/0/loopDetection", json!({ "repeats": 1 }), OutOfRange, "/agents/0/loopDetection/repeats"),
        ("/agents/0/loopDetection", json!({}), MissingValue, "/agents/0/loopDetection"),
        ("/agents/0/execution", json!("code"), Unsupported, "/agents/0/execution"),
        ("/agents/0/execution", json!("cods"), UnknownValue, "/agents/0/execution"),
        ("/agents/0/model/provider", json!("lokal"), UnknownProvider, "/agents/0/model/provider"),
        ("/agents/0/model/maxOutput", json!(8192), ContradictoryLimits, "/agents/0/model/maxOutput"),
        (
            "/agents/0/model/prices",
            json!({ "input": 1, "output": -1 }),
            OutOfRange,
            "/agents/0/model/prices/output",
        ),
        (
            "/agents/0/model/parameters",
            json!({ "stream": 1 }),
            ReservedParameter,
            "/agents/0/model/parameters/stream",
        ),
        ("/agents/0/calls/0", json!("raed_file"), UnknownCall, "/agents/0/calls/0"),
        ("/agents/0/calls/0", json!("add_task"), UnknownCall, "/agents/0/calls/0"),
        ("/providers/a b", json!({ "api": "scripted", "script": "replies.json" }), BadId, "/providers/a b"),
        ("/providers/local/api", json!("openai"), UnknownValue, "/providers/local/api"),
        ("/providers/local/api", json!(1), WrongType, "/providers/local/api"),
        ("/providers/local/baseUrl", Value::Null, ProviderKey, "/providers/local"),
        ("/providers/local/script", json!("replies.json"), ProviderKey, "/providers/local/script"),
        ("/providers/local/baseUrl", json!("localhost"), BadUrl, "/providers/local/baseUrl"),
        ("/providers/local/baseUrl", json!("http://a:b@c"), SecretInFile, "/providers/local/baseUrl"),
        ("/providers/local/apiKey", json!("sk-1"), SecretInFile, "/providers/local/apiKey"),
        ("/providers/local/api_key", json!("sk-1"), SecretInFile, "/providers/local/api_key"),
        ("/apiKey", json!("sk-1"), SecretInFile, "/apiKey"),
        ("/agents/0/model/apiKey", json!("sk-1"), SecretInFile, "/agents/0/model/apiKey"),
        (
            "/agents/0/model/parameters",
            json!({ "token": "sk-1" }),
            SecretInFile,
            "/agents/0/model/parameters/token",
        ),
        (
            "/agents/0/capabilities/3/params",
            json!({ "password": "sk-1" }),
            SecretInFile,
            "/agents/0/capabilities/3/params/password",
        ),
        (
            "/agents/0/capabilities/1/params/summarizer/token",
            json!("sk-1"),
            SecretInFile,
            "/agents/0/capabilities/1/params/summarizer/token",
        ),
        (
            "/providers/local/headers",
            json!({ "authorization": "x" }),
            SecretInFile,
            "/providers/local/headers/authorization",
        ),
        ("/providers/local/headers", json!({ "a b": "x" }), BadHeader, "/providers/local/headers/a b"),
        ("/providers/local/headers", json!({ "a": "x\n" }), BadHeader, "/providers/local/headers/a"),
        ("/providers/local/apiKeyEnv", json!("sk-1"), BadId, "/providers/local/apiKeyEnv"),
        ("/providers/local/apiKeyEnv", json!("OTHER"), MissingEnvironment, "/providers/local/apiKeyEnv"),
        ("/providers/script/script", json!("gone.json"), FileUnreadable, "/providers/script/script"),
        ("/providers/script/script", json!("unseen.json"), FileUnreadable, "/providers/script/script"),
        ("/providers/script/maxRetries", json!(21), OutOfRange, "/providers/script/maxRetries"),
        ("/components/missing", json!({ "path": "m" }), ComponentUnreadable, "/components/missing/path"),
        ("/components/unseen", json!({ "path": "m" }), ComponentUnreadable, "/components/unseen/path"),
        (
            "/components/changed",
            json!({ "path": "m", "sha256": "1".repeat(64) }),
            ComponentDigest,
            "/components/changed/sha256",
        ),
        ("/components/glossary/sha256", json!("12"), ComponentDigest, "/components/glossary/sha256"),
        ("/components/misfit", json!({ "path": "m" }), ComponentMisfit, "/components/misfit/path"),
        ("/components/cyclic", json!({ "path": "m" }), ComponentMisfit, "/components/cyclic/path"),
        ("/components/host", json!({ "path": "m" }), ComponentKind, "/components/host/path"),
        (
            "/agents/0/capabilities/0/component",
            json!("glossary"),
            ComponentKind,
            "/agents/0/capabilities/0/component",
        ),
        (
            "/agents/0/capabilities/3/component",
            json!("glossary"),
            ComponentKind,
            "/agents/0/capabilities/3/component",
        ),
        (
            "/agents/0/capabilities/3/component",
            json!("glosary"),
            UnknownComponent,
            "/agents/0/capabilities/3/component",
        ),
        ("/agents/0/capabilities/3/id", json!("taskz"), UnknownCapability, "/agents/0/capabilities/3/id"),
        (
            "/agents/0/capabilities/3/id",
            json!("workspace"),
            DuplicateCapability,
            "/agents/0/capabilities/3/id",
        ),
        (
            "/agents/0/capabilities/3",
            json!({ "id": "history", "enabled": false }),
            HistoryOff,
            "/agents/0/capabilities/3/enabled",
        ),
        (
            "/agents/0/capabilities/3/params",
            json!({ "maxTask": 1 }),
            UnknownParam,
            "/agents/0/capabilities/3/params/maxTask",
        ),
        (
            "/agents/0/capabilities/3/params",
            json!({ "maxTasks": "1" }),
            BadParam,
            "/agents/0/capabilities/3/params/maxTasks",
        ),
        (
            "/agents/0/capabilities/3/params",
            json!({ "maxOpen": 60 }),
            ContradictoryLimits,
            "/agents/0/capabilities/3/params/maxOpen",
        ),
        ("/agents/0/capabilities/2/params", json!({}), MissingParam, "/agents/0/capabilities/2/params"),
        ("/agents/0/capabilities/2/params", Value::Null, MissingParam, "/agents/0/capabilities/2"),
        (
            "/agents/0/capabilities/1/features",
            json!({ "askd": true }),
            UnknownFeature,
            "/agents/0/capabilities/1/features/askd",
        ),
        ("/agents/0/capabilities/1/features", json!({ "asked": false }), UnknownCall, "/agents/0/calls/2"),
        (
            "/agents/0/capabilities/1/params/threshold",
            json!(1),
            BadParam,
            "/agents/0/capabilities/1/params/threshold",
        ),
        (
            "/agents/0/capabilities/1/params/summarizer/provider",
            json!("x"),
            UnknownProvider,
            "/agents/0/capabilities/1/params/summarizer/provider",
        ),
        (
            "/agents/0/capabilities/1/params/summarizer/maxOutput",
            json!(4096),
            ContradictoryLimits,
            "/agents/0/capabilities/1/params/summarizer/maxOutput",
        ),
        (
            "/agents/0/capabilities/1/params/summarizer/name",
            Value::Null,
            MissingParam,
            "/agents/0/capabilities/1/params/summarizer",
        ),
    ];
    for (pointer, value, code, at) in rows {
        assert_eq!(refused(&with(pointer, value.clone())), [(code, at.to_owned())], "{value} at {pointer}");
    }
    for (pointer, value) in [
        (format!("{agent}/maxTurns"), json!(1.0)),
        (format!("{agent}/calls"), json!([])),
        ("/$schema".to_owned(), json!("./gg.schema.json")),
        ("/components".to_owned(), Value::Null),
    ] {
        let mut document = with(&pointer, value);
        if pointer == "/components" {
            put(&mut document, &format!("{caps}/2"), json!({ "id": "tasks", "enabled": false }));
            put(&mut document, &format!("{caps}/3/id"), json!("history"));
            put(&mut document, &format!("{caps}/3/enabled"), json!(true));
            put(&mut document, &format!("{agent}/calls"), json!(["archive_thread"]));
        }
        assert_eq!(refused(&document), [], "{pointer}");
    }
}

#[test]
fn rules_over_several_values() {
    use Code::*;
    let mut twice = base();
    put(&mut twice, "/agents/-", base()["agents"][0].clone());
    assert_eq!(refused(&twice), [(DuplicateAgent, "/agents/1/id".into())]);

    let mut late = with("/providers/local/idleTimeoutMs", json!(2000));
    put(&mut late, "/providers/local/totalTimeoutMs", json!(1000));
    assert_eq!(refused(&late), [(ContradictoryLimits, "/providers/local/idleTimeoutMs".into())]);

    let mut clash = with("/components/clash", json!({ "path": "clash.wasm" }));
    put(&mut clash, "/agents/0/capabilities/3", json!({ "id": "clash", "enabled": true }));
    let at = || "/agents/0/capabilities/3/id".to_owned();
    assert_eq!(refused(&clash), [(CallConflict, at()), (CallConflict, at())]);
    put(&mut clash, "/agents/0/capabilities/3/enabled", json!(false));
    assert_eq!(refused(&clash), []);
}

#[test]
fn each_api_decides_about_parameters_of_its_own() {
    let names =
        ["n", "messages", "input", "instructions", "store", "background", "system", "include", "thinking"];
    for (api, expected) in [
        ("openai-chat", &["n", "messages"][..]),
        ("openai-responses", &["n", "messages", "input", "instructions", "store", "background"]),
        ("anthropic-messages", &["n", "messages", "system"]),
    ] {
        let mut document = with("/providers/local/api", json!(api));
        let mut found = Vec::new();
        for name in names {
            put(&mut document, "/agents/0/model/parameters", json!({ name: null }));
            let refusals = refused(&document);
            if refusals == [(Code::ReservedParameter, format!("/agents/0/model/parameters/{name}"))] {
                found.push(name);
            } else {
                assert_eq!(refusals, [], "{api}: {name}");
            }
        }
        assert_eq!(found, expected, "{api}");
        put(&mut document, "/providers/local/script", json!("replies.json"));
        assert!(refused(&document).contains(&(Code::ProviderKey, "/providers/local/script".into())), "{api}");
    }
}

#[test]
fn what_another_refusal_leaves_open_is_not_refused_too() {
    use Code::*;
    let mut unusable = with("/components/glossary/path", json!("gone"));
    put(&mut unusable, "/agents/0/capabilities/2/id", json!("misfit"));
    put(&mut unusable, "/components/misfit", json!({ "path": "misfit.wasm" }));
    assert_eq!(refused(&unusable), [(ComponentMisfit, "/components/misfit/path".into())]);

    let typo = with("/agents/0/capabilities/0/id", json!("workspce"));
    assert_eq!(refused(&typo), [(UnknownCapability, "/agents/0/capabilities/0/id".into())]);

    let mut off = with("/agents/0/capabilities/3", json!({ "id": "history", "enabled": false }));
    put(&mut off, "/agents/0/calls", json!(["archive_thread"]));
    assert_eq!(refused(&off), [(HistoryOff, "/agents/0/capabilities/3/enabled".into())]);

    let none = with("/providers", Value::Null);
    assert_eq!(refused(&none), [(MissingValue, String::new())]);
}

#[test]
fn refusals_read_as_a_compiler_speaks() {
    let text = r#"{
  // no maxParallel
  "providers": {
    "local": { "api": "openai-chat", "apiKey": "sk-123", "apiKeyEnv": "UNSET" },
    "script": { "api": "scripted", "script": "gone.json", "stream": true },
  },
  "agents": [
    {
      "id": "lead", "maxTurn": 5, "maxTurns": "many",
      "model": { "provider": "locl", "name": "", "contextWindow": 10, "maxOutput": 10 },
      "prompt": "You lead.",
      "calls": ["write_flie", "list_tasks"],
      "capabilities": [
        { "id": "workspace", "enabled": true, "params": { "maxReadByte": 1, "maxResults": 0 } },
        { "id": "compaction" },
      ],
    },
  ],
}"#;
    let source = Source::parse("test", text).unwrap();
    let refusals = check(&source, &catalogue()).unwrap_err();
    insta::assert_snapshot!("refusals", spoken(&refusals));
    insta::assert_json_snapshot!("report", Report { refusals: refusals[..1].to_vec(), notes: Vec::new() });
}

fn spoken(refusals: &[Refusal]) -> String {
    let line = |r: &Refusal| {
        let owner = [&r.profile, &r.capability].into_iter().flatten().map(String::as_str).collect::<Vec<_>>();
        let (code, line, column, pointer) = (r.code, r.line, r.column, &r.pointer);
        format!(
            "{line}:{column}+{} {code} {pointer} {owner:?}\n    {}\n    {}\n",
            r.length, r.message, r.help
        )
    };
    refusals.iter().map(line).collect()
}

#[test]
fn the_configuration_has_every_default_and_checks_to_itself() {
    let catalogue = catalogue();
    let text = base().to_string();
    let source = Source::parse("test", &text).unwrap();
    let configuration = check(&source, &catalogue).unwrap();
    insta::assert_json_snapshot!("configuration", configuration);
    let lead = &configuration.agents[0];
    assert_eq!(lead.compaction().map(|params| params.keep_turns), Some(4));
    assert_eq!(lead.workspace(), Some(WorkspaceParams::default()));
    assert!(matches!(&configuration.providers["local"].api, Api::OpenAiChat(server) if server.stream));

    let again = serde_json::to_string(&configuration).unwrap();
    let again = check(&Source::parse("again", &again).unwrap(), &catalogue).unwrap();
    assert_eq!(again, configuration);
    let stored: Configuration =
        serde_json::from_value(serde_json::to_value(&configuration).unwrap()).unwrap();
    assert_eq!(stored, configuration);
}

#[test]
fn notes_tell_what_is_withheld_and_what_is_not_used() {
    let mut document = with("/providers/spare", json!({ "api": "scripted", "script": "replies.json" }));
    put(&mut document, "/agents/0/calls", json!(["read_file"]));
    put(&mut document, "/agents/0/capabilities/2/enabled", json!(false));
    let text = serde_json::to_string_pretty(&document).unwrap();
    let source = Source::parse("test", &text).unwrap();
    let catalogue = catalogue();
    let configuration = check(&source, &catalogue).unwrap();
    let said: Vec<_> = notes(&source, &catalogue, &configuration)
        .into_iter()
        .map(|note| (note.pointer, note.message))
        .collect();
    let mut expected = vec![
        (
            "/agents/0/calls".to_owned(),
            "this allowlist withholds finish, archive_thread, write_file, compact".to_owned(),
        ),
        (
            "/components/glossary".to_owned(),
            "no enabled capability uses the component \"glossary\"".to_owned(),
        ),
        ("/providers/spare".to_owned(), "no agent uses the provider \"spare\"".to_owned()),
    ];
    expected.sort_by_key(|(pointer, _)| source.place(pointer, Mark::Key).start);
    assert_eq!(said, expected);
}

#[test]
fn the_editors_schema_agrees_with_the_check() {
    let schema = ValueSchema::new(&schema(&catalogue().kinds)).unwrap();
    assert_eq!(schema.check(&base()), []);
    let with_params = |params| with("/agents/0/capabilities/3/params", params);
    assert_eq!(schema.check(&with_params(json!({ "maxTasks": 5 }))), []);
    assert_eq!(schema.check(&with_params(json!({ "maxTask": 5 }))).len(), 1);
    assert_eq!(schema.check(&with("/agents/0/capabilities/1/features", json!({ "no": true }))).len(), 1);
    let configuration = check(&Source::parse("test", &base().to_string()).unwrap(), &catalogue()).unwrap();
    assert_eq!(schema.check(&serde_json::to_value(configuration).unwrap()), []);
}

#[test]
fn a_digest_is_said_whole() {
    let document = with("/components/changed", json!({ "path": "m", "sha256": "1".repeat(64) }));
    let source = Source::parse("test", &document.to_string()).unwrap();
    let refusals = check(&source, &catalogue()).unwrap_err();
    assert_eq!(refusals[0].message, format!("the file's SHA-256 digest is {}", "0".repeat(64)));
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        prop::sample::select(vec![
            "maxParallel",
            "providers",
            "components",
            "agents",
            "id",
            "model",
            "capabilities",
            "params",
            "features",
            "calls",
            "api",
            "baseUrl",
            "headers",
            "enabled",
            "component",
            "provider",
            "maxOutput",
            "path",
            "prompt",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec!["history", "compaction", "openai-chat", "local", "code", "glossary"])
            .prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof![
        "\\PC*",
        "[\\[\\]{}:,\"'0-9eE+./* a\\\\ntru\\n\u{feff}-]{0,60}",
    ]) {
        if let Ok(source) = Source::parse("any", &text) {
            source.needs();
            let _ = check(&source, &catalogue());
        }
    }

    #[test]
    fn any_json_is_checked_and_places_are_in_the_text(value in any_json()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let source = Source::parse("any", &text).unwrap();
        source.needs();
        let refusals = check(&source, &catalogue()).unwrap_err();
        prop_assert!(!refusals.is_empty());
        for refusal in refusals {
            prop_assert!(text.get(refusal.range.clone()).is_some(), "{refusal:?}");
            prop_assert!(!refusal.message.is_empty());
        }
    }

    #[test]
    fn one_strange_value_anywhere_never_panics_nor_passes_unread(value in any_json(), at in 0usize..40) {
        let mut pointers = Vec::new();
        collect(&base(), String::new(), &mut pointers);
        let pointer = &pointers[at % pointers.len()];
        let mut document = base();
        *document.pointer_mut(pointer).unwrap() = value;
        let text = serde_json::to_string_pretty(&document).unwrap();
        let source = Source::parse("any", &text).unwrap();
        if let Err(refusals) = check(&source, &catalogue()) {
            for refusal in refusals {
                prop_assert!(refusal.message != super::FLAW_HELP && refusal.help != super::FLAW_HELP, "{refusal:?}");
            }
        }
    }
}

fn collect(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter()
                .for_each(|(key, inner)| collect(inner, format!("{pointer}/{}", escape(key)), pointers));
        }
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(at, inner)| collect(inner, format!("{pointer}/{at}"), pointers));
        }
        _ => {}
    }
    pointers.push(pointer);
}
