//! What is read after a close or a crash is what was acknowledged.

use crate::fixture::{
    agent, agent_record, all_events, call, copy, create, meta, module, module_id, one, owned, result,
    run_ended, running, said, turn_started, user,
};
use gg_core::{AgentId, Effect, Ending, Seq, Turn, turn::Declaration};
use gg_store::{
    AgentRecord, AgentStatus, CallRecord, InboxItem, InboxKind, Intent, ModuleRecord, Options, RunReader,
    RunStatus, RunStore, Step, StoreError,
};

/// What a reader finds of agent `a1`.
#[derive(Debug, Default, PartialEq)]
struct Found {
    agents: Vec<AgentRecord>,
    modules: Vec<ModuleRecord>,
    inbox: Vec<InboxItem>,
    calls: Vec<CallRecord>,
    open: Vec<CallRecord>,
    declarations: Vec<Declaration>,
}

fn read(reader: &RunReader) -> Found {
    Found {
        agents: reader.agents().unwrap(),
        modules: reader.modules(&agent()).unwrap(),
        inbox: reader.inbox(&agent()).unwrap(),
        calls: reader.calls(&agent(), Turn(1)).unwrap(),
        open: reader.open_calls(&agent()).unwrap(),
        declarations: reader.declarations(&agent(), Turn(1)).unwrap(),
    }
}

fn item(n: u64) -> InboxItem {
    let from = n.is_multiple_of(2).then(|| AgentId::nth(7));
    let kind = if n == 3 { InboxKind::Notice } else { InboxKind::Message };
    InboxItem { n, kind, from, text: format!("item {n}") }
}

fn intent(index: u32, id: &str, effect: Effect) -> CallRecord {
    CallRecord { turn: Turn(1), index, intent: Some(Intent { call: call(id), effect }), result: None }
}

fn declared() -> Vec<Declaration> {
    vec![
        Declaration::Compact,
        Declaration::Module { kind: "history".into(), call: call("d") },
        Declaration::End { ending: Ending::Text { text: "bye".into() } },
    ]
}

/// The steps of a turn, each with what must be found once it was acknowledged.
fn turn(store: &RunStore) -> Vec<(Step, Found)> {
    let start = || {
        let mut step = Step::new();
        let prompt = user(store.next_message_id(), "Mend the bug. \u{0}\u{1F980}");
        step.event(Some(agent()), said(&prompt))
            .agent(agent_record(0, AgentStatus::Live))
            .module(module("history", b"h0"))
            .hold(agent(), module_id("history"))
            .module(module("tasks", &[]))
            .hold(agent(), module_id("tasks"));
        for n in 1..=3 {
            step.inbox_push(agent(), item(n));
        }
        step
    };
    let mut acting = one(running());
    acting
        .inbox_drain(agent(), 2)
        .module(module("history", &[0, 159, 146, 150]))
        .call_intent(agent(), Turn(1), 0, call("x"), Effect::Acting)
        .call_intent(agent(), Turn(1), 1, call("y"), Effect::Deferred);
    let mut results = one(turn_started(1));
    // A read-only call has no intent; its result stands alone.
    results.call_result(agent(), Turn(1), 2, result("z")).call_result(agent(), Turn(1), 0, result("x"));
    let mut end = Step::new();
    end.let_go(agent(), module_id("tasks"))
        .declarations(agent(), Turn(1), declared())
        .agent(agent_record(1, AgentStatus::Ended(Ending::TurnLimit { limit: 1 })));

    let history = |bytes: &[u8]| module("history", bytes);
    let started = || vec![agent_record(0, AgentStatus::Live)];
    let x_done = || CallRecord { result: Some(result("x")), ..intent(0, "x", Effect::Acting) };
    let y_open = || intent(1, "y", Effect::Deferred);
    let z_done = || CallRecord { turn: Turn(1), index: 2, intent: None, result: Some(result("z")) };
    vec![
        (
            start(),
            Found {
                agents: started(),
                modules: vec![history(b"h0"), module("tasks", &[])],
                inbox: (1..=3).map(item).collect(),
                ..Found::default()
            },
        ),
        (
            acting,
            Found {
                agents: started(),
                modules: vec![history(&[0, 159, 146, 150]), module("tasks", &[])],
                inbox: vec![item(3)],
                calls: vec![intent(0, "x", Effect::Acting), y_open()],
                open: vec![intent(0, "x", Effect::Acting), y_open()],
                declarations: vec![],
            },
        ),
        (
            results,
            Found {
                agents: started(),
                modules: vec![history(&[0, 159, 146, 150]), module("tasks", &[])],
                inbox: vec![item(3)],
                calls: vec![x_done(), y_open(), z_done()],
                open: vec![y_open()],
                declarations: vec![],
            },
        ),
        (
            end,
            Found {
                agents: vec![agent_record(1, AgentStatus::Ended(Ending::TurnLimit { limit: 1 }))],
                modules: vec![history(&[0, 159, 146, 150])],
                inbox: vec![item(3)],
                calls: vec![x_done(), y_open(), z_done()],
                open: vec![y_open()],
                declarations: declared(),
            },
        ),
    ]
}

#[tokio::test]
async fn a_copy_taken_at_any_commit_reopens_with_exactly_what_was_acknowledged() {
    let (runs, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = create(runs.path());
    let mut events = Vec::new();
    let mut taken = Vec::new();
    for (n, (step, expected)) in turn(&store).into_iter().enumerate() {
        events.extend(owned(store.commit(step).await.unwrap()));
        let to = copies.path().join(n.to_string());
        copy(store.dir(), &to);
        taken.push((to, events.clone(), expected));
    }
    for (dir, events, expected) in &taken {
        let reader = RunReader::open(dir).unwrap();
        assert_eq!(read(&reader), *expected);
        assert_eq!(all_events(&reader), *events);
        assert_eq!(reader.status().unwrap(), RunStatus::Interrupted);
        assert_eq!(reader.meta().unwrap(), meta());
    }
    // The live record reads the same, and so does the closed one, whose log is in the database by then.
    let (_, events, expected) = taken.last().unwrap();
    let reader = RunReader::open(store.dir()).unwrap();
    assert_eq!((read(&reader), all_events(&reader)), (read_last(&taken), events.clone()));
    drop(reader);
    store.close().await.unwrap();
    assert!(!store.dir().join("run.db-wal").exists());
    let reader = RunReader::open(store.dir()).unwrap();
    assert_eq!(read(&reader), *expected);
    assert_eq!(all_events(&reader), *events);
}

fn read_last(taken: &[(std::path::PathBuf, Vec<gg_core::Recorded>, Found)]) -> Found {
    read(&RunReader::open(&taken.last().unwrap().0).unwrap())
}

#[tokio::test]
async fn a_reopened_run_goes_on_counting_where_it_ended() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let (id, dir) = (store.run_id().clone(), store.dir().to_owned());
    let sha256 = store.config_sha256().to_owned();
    let message = user(store.next_message_id(), "first");
    let mut step = one(said(&message));
    let record = AgentRecord { id: store.next_agent_id(), ..agent_record(1, AgentStatus::Live) };
    step.agent(record).inbox_push(agent(), item(store.next_inbox_number()));
    store.commit(step).await.unwrap();
    // An empty inbox must not make its numbers start over.
    let mut step = Step::new();
    step.inbox_drain(agent(), 1);
    store.commit(step).await.unwrap();

    let owned_still = RunStore::open(&dir, Options::default()).unwrap_err();
    assert!(matches!(owned_still, StoreError::Owned { .. }), "{owned_still}");
    store.close().await.unwrap();

    let store = RunStore::open(&dir, Options::default()).unwrap();
    assert_eq!((store.run_id(), store.config_sha256()), (&id, sha256.as_str()));
    let next = (store.next_message_id().0, store.next_agent_id(), store.next_inbox_number());
    assert_eq!(next, (2, AgentId::nth(2), 2));
    assert_eq!(store.message(message.id).await.unwrap(), message);
    assert_eq!(store.commit(one(run_ended("done"))).await.unwrap()[0].seq, Seq(2));
    let reader = RunReader::open(&dir).unwrap();
    assert_eq!(all_events(&reader).len(), 2);
    let ended = RunStatus::Ended { ending: Ending::Text { text: "done".into() }, elapsed_ms: 1234 };
    assert_eq!(reader.status().unwrap(), ended);
}

#[tokio::test]
async fn events_are_read_in_pages() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let mut step = Step::new();
    for turn in 1..=2500 {
        step.event(Some(agent()), turn_started(turn));
    }
    let events = owned(store.commit(step).await.unwrap());
    let reader = RunReader::open(store.dir()).unwrap();
    assert_eq!(all_events(&reader), events);
    assert_eq!(reader.events(Seq(7), 3).unwrap(), events[6..9]);
    assert_eq!(reader.events(Seq(1), usize::MAX).unwrap(), events[..gg_store::MAX_PAGE]);
    assert_eq!(reader.events(Seq(2501), 10).unwrap(), []);
    assert_eq!(reader.last_event().unwrap().as_ref(), events.last());
}

#[tokio::test]
async fn an_agent_that_never_was_is_not_one_without_modules() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let reader = RunReader::open(store.dir()).unwrap();
    let nobody = AgentId::nth(5);
    assert!(matches!(reader.modules(&nobody), Err(StoreError::NoAgent(id)) if id == nobody));
    assert!(matches!(reader.open_calls(&nobody), Err(StoreError::NoAgent(id)) if id == nobody));
}
