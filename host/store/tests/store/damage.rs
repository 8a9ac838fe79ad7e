//! Files that gg did not write, or that something else has changed: errors that say so, and no panic.

use crate::fixture::{agent, agent_record, call, create, module, module_id, one, said, user};
use gg_core::{Effect, Event, Seq, Turn};
use gg_store::{
    AgentStatus, InboxItem, InboxKind, Options, RunReader, RunStore, SCHEMA_VERSION, Step, StoreError,
    list_runs,
};
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A closed run with something in every table.
async fn closed_run(runs: &Path) -> PathBuf {
    let store = create(runs);
    let mut step = one(said(&user(store.next_message_id(), "hello")));
    step.agent(agent_record(1, AgentStatus::Live))
        .module(module("notes", b"state"))
        .hold(agent(), module_id("notes"))
        .inbox_push(agent(), InboxItem { n: 1, kind: InboxKind::Message, from: None, text: "hi".into() })
        .call_intent(agent(), Turn(1), 0, call("x"), Effect::Acting)
        .declarations(agent(), Turn(1), Vec::new());
    store.commit(step).await.unwrap();
    store.close().await.unwrap();
    store.dir().to_owned()
}

fn sql(dir: &Path, text: &str) {
    Connection::open(dir.join("run.db")).unwrap().execute_batch(text).unwrap();
}

/// Reads everything there is; the first error ends it.
fn read_all(dir: &Path) -> Result<(), StoreError> {
    let reader = RunReader::open(dir)?;
    reader.meta()?;
    reader.summary()?;
    for event in reader.events_from(Seq(0)) {
        if let Event::Message { message, .. } = event?.event {
            reader.message(message.id)?;
        }
    }
    for record in reader.agents()? {
        reader.modules(&record.id)?;
        reader.inbox(&record.id)?;
        reader.calls(&record.id, Turn(1))?;
        reader.open_calls(&record.id)?;
        reader.declarations(&record.id, Turn(1))?;
    }
    Ok(())
}

fn damage(dir: &Path) -> String {
    match read_all(dir) {
        Err(StoreError::Damaged { what, .. }) => what,
        other => panic!("not found damaged: {other:?}"),
    }
}

fn not_a_run(dir: &Path) -> String {
    let why = |error| match error {
        StoreError::NotARun { why, .. } => why,
        other => panic!("taken for a run: {other:?}"),
    };
    let read = why(RunReader::open(dir).unwrap_err());
    assert_eq!(why(RunStore::open(dir, Options::default()).unwrap_err()), read);
    read
}

#[tokio::test]
async fn what_is_not_a_run_is_not_taken_for_one_and_not_touched() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("20261130-131502-k3f9");
    assert_eq!(not_a_run(&dir), "there is no such folder");
    fs::create_dir(&dir).unwrap();
    assert_eq!(not_a_run(&dir), "it holds no run.db");
    let file = dir.join("run.db");
    assert_eq!(not_a_run(&dir.join("..").join("20261130-131502-k3f9")), "it holds no run.db");
    fs::write(&file, "").unwrap();
    assert_eq!(not_a_run(&dir), "run.db is a database of something else");
    let text = "no database at all, ".repeat(500);
    fs::write(&file, &text).unwrap();
    assert_eq!(not_a_run(&dir), "run.db is not an SQLite database");
    assert_eq!(not_a_run(&file), "it is not a folder");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    fs::remove_file(&file).unwrap();
    sql(&dir, "CREATE TABLE birds (name TEXT); INSERT INTO birds VALUES ('wren')");
    let before = fs::read(&file).unwrap();
    assert_eq!(not_a_run(&dir), "run.db is a database of something else");
    assert_eq!(fs::read(&file).unwrap(), before);
    assert!(!dir.join("lock").exists());
}

#[tokio::test]
async fn a_record_of_a_newer_gg_says_so() {
    let runs = tempfile::tempdir().unwrap();
    let dir = closed_run(runs.path()).await;
    sql(&dir, "PRAGMA user_version = 4");
    let newer = RunReader::open(&dir).unwrap_err();
    assert!(matches!(newer, StoreError::Newer { found: 4, known: SCHEMA_VERSION, .. }), "{newer}");
    assert!(matches!(RunStore::open(&dir, Options::default()), Err(StoreError::Newer { .. })));
    assert!(matches!(list_runs(runs.path(), 9).unwrap()[0].summary, Err(StoreError::Newer { .. })));
    sql(&dir, "PRAGMA user_version = 0");
    assert_eq!(damage(&dir), "run.db says it has version 0");
}

#[tokio::test]
async fn each_kind_of_damage_is_named() {
    let runs = tempfile::tempdir().unwrap();
    for (change, expected) in [
        ("UPDATE modules SET state = x'00'", "the state of module 3, notes, is not what was stored"),
        ("UPDATE inboxes SET kind = 'song'", "item 1 of an inbox cannot be read"),
        ("UPDATE messages SET body = '{'", "event 1 cannot be read"),
        ("DELETE FROM messages", "event 1 lacks its message"),
        ("UPDATE events SET type = 'call'", "event 1 cannot be read"),
        ("UPDATE events SET type = 'music', body = '{\"type\":\"music\"}'", "event 1 cannot be read"),
        ("UPDATE agents SET ending = 'x'", "agent a1 cannot be read"),
        ("UPDATE agents SET depth = -1", "out of range"),
        ("UPDATE calls SET call = 'x'", "call 0 of turn 1 cannot be read"),
        ("UPDATE declarations SET body = 'x'", "the declarations of a1 in turn 1 cannot be read"),
        ("DELETE FROM run", "it does not say what run it is of"),
        ("DROP TABLE inboxes", "no such table"),
        ("UPDATE run SET config_sha256 = ''", "config.json was changed after the run began"),
    ] {
        let dir = closed_run(runs.path()).await;
        sql(&dir, change);
        let error = read_all(&dir).unwrap_err().to_string();
        assert!(error.contains(expected), "{change}: {error}");
    }
    let dir = closed_run(runs.path()).await;
    fs::write(dir.join("config.json"), "{}").unwrap();
    assert_eq!(damage(&dir), "config.json was changed after the run began");
}

#[tokio::test]
async fn garbled_and_cut_databases_never_panic() {
    let (runs, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dir = closed_run(runs.path()).await;
    let whole = fs::read(dir.join("run.db")).unwrap();
    let to = copies.path().join("20261130-131502-k3f9");
    fs::create_dir(&to).unwrap();
    fs::copy(dir.join("config.json"), to.join("config.json")).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut failed = 0;
    for round in 0..300 {
        let mut bytes = whole.clone();
        if round % 3 == 0 {
            bytes.truncate(random.usize(..whole.len()));
        } else {
            for _ in 0..random.usize(1..200) {
                let at = random.usize(..whole.len());
                bytes[at] = random.u8(..);
            }
        }
        fs::write(to.join("run.db"), &bytes).unwrap();
        failed += usize::from(read_all(&to).is_err());
        // Going on from it may succeed or not, but it must not panic either.
        if let Ok(store) = RunStore::open(&to, Options::default()) {
            let mut step = Step::new();
            step.module(module("notes", b"more")).event(None, Event::TurnStarted { turn: Turn(2) });
            let _ = store.commit(step).await;
            let _ = store.close().await;
        }
        for name in ["run.db-wal", "run.db-shm", "lock"] {
            let _ = fs::remove_file(to.join(name));
        }
    }
    assert!(failed > 100, "only {failed} of 300 garbled databases were found out");
}
