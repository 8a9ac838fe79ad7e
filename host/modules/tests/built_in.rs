//! The built-in components, as their holders see them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

use gg_core::{
    id::{AgentId, CallId, MessageId, Turn},
    message::Role,
    window::Entry,
};
use gg_modules::{
    Access, CallError, Component, Context, History, LentMessage, LoadError, Messages, Module, Phase,
    Registry, Segment, Summary,
};
use gg_sandbox::{Sandbox, SandboxOptions, Trust};
use serde_json::{Map, Value, json};
use std::{
    path::Path,
    sync::{Arc, Mutex, OnceLock},
};

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"));
        Registry::new(Sandbox::new(SandboxOptions { cache_dir, ..SandboxOptions::default() }).unwrap())
            .unwrap()
    })
}

fn history_component() -> Arc<Component> {
    registry().builtin("history").unwrap()
}

/// A run's messages: text and note, and which texts were asked for.
#[derive(Default)]
struct Run {
    asked: Mutex<Vec<u64>>,
    notes: Mutex<Vec<String>>,
}

impl Messages for Run {
    fn text(&self, id: MessageId, _: usize) -> Result<String, String> {
        self.asked.lock().unwrap().push(id.0);
        Ok(format!("the text of {id}"))
    }

    fn note(&self, text: String) -> Result<Entry, String> {
        let mut notes = self.notes.lock().unwrap();
        notes.push(text);
        Ok(entry(100 + notes.len() as u64, 2, Role::User, 0))
    }
}

fn entry(id: u64, turn: u32, role: Role, calls: u16) -> Entry {
    Entry { id: MessageId(id), turn: Turn(turn), tokens: 10, calls, pinned: id == 1, role }
}

fn pair(id: u64, turn: u32) -> [LentMessage; 2] {
    let call = || vec![CallId::new(format!("c{id}"))];
    let asks = entry(id, turn, Role::Assistant, 1);
    let answers = entry(id + 1, turn, Role::Results, 0);
    [
        LentMessage { entry: asks, calls: call(), answers: Vec::new() },
        LentMessage { entry: answers, calls: Vec::new(), answers: call() },
    ]
}

/// A pinned prompt, and two turns of a call with its result.
fn conversation() -> Vec<LentMessage> {
    let mut messages = vec![LentMessage::plain(entry(1, 0, Role::User, 0))];
    messages.extend(pair(2, 1));
    messages.extend(pair(4, 2));
    messages
}

fn context(phase: Phase) -> Context {
    Context {
        agent: AgentId::nth(1),
        turn: Turn(2),
        now_ms: 1_700_000_000_000,
        access: Access::ReadWrite,
        phase,
        salt: 7,
    }
}

fn now() -> Context {
    context(Phase::Now)
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other}"),
    }
}

fn ids(history: &History) -> Vec<u64> {
    history.window().entries.iter().map(|entry| entry.id.0).collect()
}

async fn opened(run: &Arc<Run>) -> History {
    let settings = json!({ "params": {}, "features": { "archive": true } });
    let mut history = History::open(&history_component(), &settings, run.clone()).await.unwrap();
    history.append(&now(), conversation()).await.unwrap();
    history
}

#[test]
fn each_kind_is_there_and_is_gg_s_own() {
    let kinds: Vec<_> = registry().builtins().map(|component| component.descriptor().kind.clone()).collect();
    assert_eq!(kinds, ["history", "memories", "notebook", "programs", "tasks"]);
    for component in registry().builtins() {
        assert_eq!(component.trust(), Trust::BuiltIn);
        assert_eq!(component.is_history(), component.descriptor().kind == "history");
        assert_eq!(component.sha256().len(), 64);
    }
    assert!(registry().builtin("remembrance").is_none());
}

#[tokio::test]
async fn a_window_follows_its_history() {
    let history = opened(&Arc::default()).await;
    assert_eq!(ids(&history), [1, 2, 3, 4, 5]);
    assert_eq!(history.window().turn, Turn(2));
    assert_eq!(history.lent(), conversation());
}

#[tokio::test]
async fn a_call_without_its_results_is_not_accepted() {
    let mut history = opened(&Arc::default()).await;
    let before = (history.window().clone(), history.module().digest());
    let [asks, _] = pair(6, 3);
    assert!(history.append(&now(), vec![asks]).await.is_err());
    let [_, stray] = pair(8, 3);
    assert!(history.append(&now(), vec![stray]).await.is_err());
    assert_eq!((history.window().clone(), history.module().digest()), before);
    history.append(&now(), pair(6, 3).to_vec()).await.unwrap();
    assert_eq!(ids(&history), [1, 2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn results_of_other_calls_are_rolled_back() {
    let mut history = opened(&Arc::default()).await;
    let before = (history.window().clone(), history.module().digest());
    let [asks, mut answers] = pair(6, 3);
    answers.answers = vec![CallId::new("another")];
    // The module sees only that one message has a call and the next holds results; the host knows better.
    let error = history.append(&now(), vec![asks, answers]).await.unwrap_err();
    assert!(error.to_string().contains("do not answer exactly the calls before them"), "{error}");
    assert_eq!((history.window().clone(), history.module().digest()), before);
}

#[tokio::test]
async fn what_was_folded_is_replaced_by_its_summary() {
    let mut history = opened(&Arc::default()).await;
    let segments = history.fold(&now(), 0, 1).await.unwrap();
    assert_eq!(segments, [Segment { first: MessageId(2), last: MessageId(3), tokens: 20 }]);
    let summary = Summary {
        first: MessageId(2),
        last: MessageId(3),
        message: LentMessage::plain(entry(6, 1, Role::User, 0)),
    };
    history.folded(&now(), vec![summary]).await.unwrap();
    assert_eq!(ids(&history), [1, 6, 4, 5]);
}

#[tokio::test]
async fn a_history_lives_in_its_bytes() {
    let run = Arc::new(Run::default());
    let mut history = opened(&run).await;
    let state = history.module().state().clone();
    let restored =
        History::restore(&history_component(), state.clone(), run.clone(), history.lent(), &now()).await;
    assert_eq!(restored.unwrap().window().entries, history.window().entries);
    let error =
        History::restore(&history_component(), state, run.clone(), Vec::new(), &now()).await.unwrap_err();
    assert!(error.to_string().contains("which it was never lent"), "{error}");

    let mut copy = history.copy(run.clone()).await.unwrap();
    copy.append(&now(), pair(6, 3).to_vec()).await.unwrap();
    assert_eq!((ids(&copy), ids(&history)), (vec![1, 2, 3, 4, 5, 6, 7], vec![1, 2, 3, 4, 5]));

    let snapshot = history.snapshot();
    history.append(&now(), pair(8, 3).to_vec()).await.unwrap();
    history.restore_to(snapshot.clone());
    assert_eq!(history.snapshot(), snapshot);
    history.append(&now(), pair(10, 3).to_vec()).await.unwrap();
    assert_eq!(ids(&history), [1, 2, 3, 4, 5, 10, 11]);

    history.reset(&now()).await.unwrap();
    assert_eq!((ids(&history), history.window().turn), (vec![], Turn(0)));
}

#[tokio::test]
async fn an_archive_leaves_a_note_and_can_be_read_back() {
    let run = Arc::new(Run::default());
    let mut history = opened(&run).await;
    let thread = object(json!({ "from": 1, "to": 1, "title": "the first try" }));
    let declared = history.call(&context(Phase::Declare), "archive_thread", &thread).await.unwrap();
    assert!(declared.value.as_str().unwrap().starts_with("Noted"), "{}", declared.value);
    assert_eq!(ids(&history), [1, 2, 3, 4, 5]);

    history.call(&context(Phase::Apply), "archive_thread", &thread).await.unwrap();
    assert_eq!(ids(&history), [1, 101, 4, 5]);
    assert!(run.notes.lock().unwrap()[0].contains("the first try"));

    run.asked.lock().unwrap().clear();
    let archive = object(json!({ "archive": 1 }));
    let read = history.call(&now(), "read_archive", &archive).await.unwrap();
    assert!(read.value.as_str().unwrap().contains("the text of 3"), "{}", read.value);
    assert!(run.asked.lock().unwrap().iter().all(|id| [2, 3].contains(id)));
}

#[tokio::test]
async fn arguments_are_checked_before_the_module_sees_them() {
    let mut tasks = Module::open(&registry().builtin("tasks").unwrap(), &json!({})).await.unwrap();
    let wrong = object(json!({ "title": 3 }));
    match tasks.call(&now(), "add_task", &wrong).await {
        Err(CallError::Refused(why)) => {
            assert!(why.starts_with("the arguments do not fit: /title: "), "{why}")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_one_holder_saves_another_is_told_and_finds_though_it_may_not_write() {
    let memories = registry().builtin("memories").unwrap();
    let mut module = Module::open(&memories, &json!({})).await.unwrap();
    let save = object(json!({ "name": "deploy", "text": "push to main" }));
    let saved = module.call(&now(), "save_memory", &save).await.unwrap();
    assert_eq!(saved.notices, ["a1 saved the memory \"deploy\": push to main"]);

    let reader = Context { agent: AgentId::nth(2), access: Access::ReadOnly, ..now() };
    match module.call(&reader, "save_memory", &save).await {
        Err(CallError::Refused(why)) => assert!(why.starts_with("You may only read this"), "{why}"),
        other => panic!("{other:?}"),
    }
    let query = object(json!({ "query": "how do I deploy?" }));
    let found = module.call(&reader, "search_memories", &query).await.unwrap();
    assert!(found.value.as_str().unwrap().ends_with("\npush to main\n"), "{}", found.value);
}

#[tokio::test]
async fn a_fork_s_library_has_what_was_and_issues_ids_of_its_own() {
    let programs = registry().builtin("programs").unwrap();
    let settings = json!({ "params": { "idLength": 3 }, "features": { "record": true } });
    let mut library = Module::open(&programs, &settings).await.unwrap();
    let record = object(json!({ "source": "1 + 1", "outcome": "2" }));
    let before = library.call(&now(), "record_program", &record).await.unwrap().value["id"].clone();

    let mut copy = Module::restore(&programs, library.state().clone()).await.unwrap();
    let other = Context { agent: AgentId::nth(2), salt: 8, ..now() };
    let of_copy = copy.call(&other, "record_program", &record).await.unwrap().value["id"].clone();
    let of_first = library.call(&now(), "record_program", &record).await.unwrap().value["id"].clone();
    assert_ne!(of_copy, of_first);
    let fetch = object(json!({ "id": before }));
    let fetched = copy.call(&other, "read_program", &fetch).await.unwrap().value;
    assert_eq!(
        fetched,
        json!({ "id": before, "agent": "a1", "turn": 2, "bytes": 5, "source": "1 + 1", "outcome": "2" })
    );
}

#[test]
fn a_file_of_another_digest_is_refused() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bin/components/tasks.wasm");
    let digest = registry().builtin("tasks").unwrap().sha256().to_uppercase();
    registry().load("mine", &file, Some(&digest)).unwrap();
    let zeros = "0".repeat(64);
    let error = registry().load("mine", &file, Some(&zeros)).unwrap_err();
    assert!(matches!(&error, LoadError::Digest { expected, .. } if *expected == zeros), "{error}");
    let missing = registry().load("mine", Path::new("/no/such/file.wasm"), None).unwrap_err();
    assert!(matches!(missing, LoadError::Unreadable { .. }), "{missing}");
}
