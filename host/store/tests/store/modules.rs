//! Who holds a module: one agent, or several; at every instant somebody, or a profile.

use crate::fixture::{agent, agent_record, create, module, module_id, one, running};
use gg_core::{AgentId, ModuleId};
use gg_store::{
    AgentRecord, AgentStatus, InboxKind, ModuleRecord, Options, RunReader, RunStore, Step, StoreError,
};
use rusqlite::Connection;
use std::path::Path;

/// All modules of the run, each as its id, its state and its holders.
fn all(store: &RunStore) -> Vec<(u64, String, Vec<String>)> {
    let reader = RunReader::open(store.dir()).unwrap();
    let told = |(module, holders): (ModuleRecord, Vec<AgentId>)| {
        let state =
            module.state.map_or_else(|| "-".to_owned(), |state| String::from_utf8_lossy(&state).into());
        (module.id.0, state, holders.iter().map(ToString::to_string).collect())
    };
    reader.all_modules().unwrap().into_iter().map(told).collect()
}

fn row(id: u64, state: &str, holders: &[&str]) -> (u64, String, Vec<String>) {
    (id, state.into(), holders.iter().map(|holder| (*holder).into()).collect())
}

fn step(change: impl FnOnce(&mut Step)) -> Step {
    let mut step = Step::new();
    change(&mut step);
    step
}

async fn done(store: &RunStore, change: impl FnOnce(&mut Step)) {
    store.commit(step(change)).await.unwrap();
}

async fn refused(store: &RunStore, change: impl FnOnce(&mut Step)) -> String {
    let mut step = one(running());
    change(&mut step);
    match store.commit(step).await {
        Err(StoreError::Conflict(why)) => why,
        other => panic!("not refused as a conflict: {other:?}"),
    }
}

/// A run with three agents, of which the first holds notes and tasks.
async fn run(runs: &Path) -> RunStore {
    let store = create(runs);
    done(&store, |step| {
        for n in 1..=3 {
            step.agent(AgentRecord { id: AgentId::nth(n), ..agent_record(0, AgentStatus::Live) });
        }
        step.module(module("notes", b"n0"))
            .hold(agent(), module_id("notes"))
            .module(module("tasks", b"t0"))
            .hold(agent(), module_id("tasks"));
    })
    .await;
    store
}

#[tokio::test]
async fn several_hold_one_state_and_it_is_deleted_with_the_last() {
    let runs = tempfile::tempdir().unwrap();
    let store = run(runs.path()).await;
    let notes = module_id("notes");
    done(&store, |step| {
        step.hold(AgentId::nth(2), notes).hold(AgentId::nth(3), notes);
    })
    .await;
    done(&store, |step| {
        step.module(module("notes", b"n1"));
    })
    .await;
    assert_eq!(all(&store), [row(2, "t0", &["a1"]), row(3, "n1", &["a1", "a2", "a3"])]);
    let reader = RunReader::open(store.dir()).unwrap();
    assert_eq!(reader.modules(&AgentId::nth(2)).unwrap(), [module("notes", b"n1")]);
    assert_eq!(reader.modules(&agent()).unwrap(), [module("notes", b"n1"), module("tasks", b"t0")]);

    done(&store, |step| {
        step.let_go(agent(), notes).let_go(AgentId::nth(3), notes);
    })
    .await;
    assert_eq!(all(&store), [row(2, "t0", &["a1"]), row(3, "n1", &["a2"])]);
    done(&store, |step| {
        step.module(module("notes", b"n2")).let_go(AgentId::nth(2), notes);
    })
    .await;
    assert_eq!(all(&store), [row(2, "t0", &["a1"])]);
}

#[tokio::test]
async fn a_hold_moves_within_one_step_in_whichever_order() {
    let runs = tempfile::tempdir().unwrap();
    let store = run(runs.path()).await;
    done(&store, |step| {
        step.let_go(agent(), module_id("notes")).hold(AgentId::nth(2), module_id("notes"));
        step.hold(AgentId::nth(2), module_id("tasks")).let_go(agent(), module_id("tasks"));
    })
    .await;
    assert_eq!(all(&store), [row(2, "t0", &["a2"]), row(3, "n0", &["a2"])]);
    // The whole of a succession: one is moved, one is dropped, and a fresh one of its kind comes in its place.
    done(&store, |step| {
        let fresh = ModuleRecord { id: ModuleId(4), ..module("tasks", b"t1") };
        step.let_go(AgentId::nth(2), module_id("notes"))
            .hold(AgentId::nth(3), module_id("notes"))
            .let_go(AgentId::nth(2), module_id("tasks"))
            .module(fresh)
            .hold(AgentId::nth(3), ModuleId(4));
    })
    .await;
    assert_eq!(all(&store), [row(3, "n0", &["a3"]), row(4, "t1", &["a3"])]);
}

#[tokio::test]
async fn a_profile_s_module_stays_without_a_holder() {
    let runs = tempfile::tempdir().unwrap();
    let store = run(runs.path()).await;
    let shared = ModuleRecord { id: ModuleId(9), profile: Some("coder".into()), ..module("memories", b"m0") };
    let kept = ModuleRecord { id: ModuleId(8), state: None, ..shared.clone() };
    done(&store, |step| {
        step.module(shared.clone()).module(kept);
    })
    .await;
    done(&store, |step| {
        step.hold(AgentId::nth(2), ModuleId(9));
    })
    .await;
    done(&store, |step| {
        step.let_go(AgentId::nth(2), ModuleId(9));
    })
    .await;
    assert_eq!(
        all(&store),
        [row(2, "t0", &["a1"]), row(3, "n0", &["a1"]), row(8, "-", &[]), row(9, "m0", &[])]
    );
    let reader = RunReader::open(store.dir()).unwrap();
    assert_eq!(reader.all_modules().unwrap()[3].0, shared);
}

#[tokio::test]
async fn what_would_leave_a_module_in_two_minds_is_refused_whole() {
    let runs = tempfile::tempdir().unwrap();
    let store = run(runs.path()).await;
    let before = all(&store);
    let notes = module_id("notes");
    let unheld = refused(&store, |step| {
        step.module(ModuleRecord { id: ModuleId(4), ..module("notes", b"") });
    });
    assert_eq!(unheld.await, "nobody holds the new module 4");
    let twice = refused(&store, |step| {
        step.hold(agent(), notes);
    });
    assert_eq!(twice.await, "a1 holds a module notes already, and so cannot hold module 3");
    let second = refused(&store, |step| {
        let other = ModuleRecord { id: ModuleId(4), ..module("notes", b"") };
        step.module(other).hold(agent(), ModuleId(4));
    });
    assert_eq!(second.await, "a1 holds a module notes already, and so cannot hold module 4");
    let none = refused(&store, |step| {
        step.hold(AgentId::nth(2), ModuleId(7));
    });
    assert_eq!(none.await, "there is no module 7 for a2 to hold");
    let not_held = refused(&store, |step| {
        step.let_go(agent(), notes).let_go(AgentId::nth(2), notes);
    });
    assert_eq!(not_held.await, "a2 holds no module 3 to let go of");
    let other_kind = refused(&store, |step| {
        step.module(ModuleRecord { kind: "songs".into(), ..module("notes", b"") });
    });
    assert_eq!(other_kind.await, "module 3 is recorded as one of another kind or profile");
    assert_eq!(all(&store), before);
}

#[tokio::test]
async fn a_module_s_id_is_never_given_twice() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let id = store.next_module_id();
    assert_eq!(id, ModuleId(1));
    let fleeting = ModuleRecord { id, ..module("notes", b"") };
    done(&store, |step| {
        step.module(fleeting).hold(agent(), id);
    })
    .await;
    done(&store, |step| {
        step.let_go(agent(), id);
    })
    .await;
    store.close().await.unwrap();
    let store = RunStore::open(store.dir(), Options::default()).unwrap();
    assert_eq!(store.next_module_id(), ModuleId(2));
}

/// The tables that changed since version 1, as they were then.
const AS_IN_VERSION_1: &str = "
ALTER TABLE agents DROP COLUMN lineage; ALTER TABLE agents DROP COLUMN successor;
DROP TABLE modules; DROP TABLE holds; DROP TABLE inboxes;
CREATE TABLE modules (
    agent TEXT NOT NULL, kind TEXT NOT NULL, component_sha256 TEXT NOT NULL, state_format TEXT NOT NULL,
    state BLOB NOT NULL, state_sha256 TEXT NOT NULL, PRIMARY KEY (agent, kind)
) STRICT;
CREATE TABLE inboxes (
    n INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, sender TEXT, body TEXT NOT NULL
) STRICT;
CREATE INDEX inboxes_agent ON inboxes (agent, n);
INSERT INTO modules VALUES
    ('a1', 'tasks', 'c0ffee', 'tasks-1', x'7430', '8d1d43e8c8c3b0d9a5d0b1bb4d4a05c6'),
    ('a2', 'notes', 'c0ffee', 'notes-1', x'', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
INSERT INTO inboxes VALUES (4, 'a1', 'a2', 'hi');
PRAGMA user_version = 1;
";

#[tokio::test]
async fn a_record_of_the_first_version_is_read_as_it_is_and_brought_up_to_date_by_its_next_owner() {
    let runs = tempfile::tempdir().unwrap();
    let store = run(runs.path()).await;
    store.close().await.unwrap();
    let dir = store.dir().to_owned();
    let digest = module("tasks", b"t0").digest().unwrap();
    let old = AS_IN_VERSION_1.replace("8d1d43e8c8c3b0d9a5d0b1bb4d4a05c6", &digest);
    Connection::open(dir.join("run.db")).unwrap().execute_batch(&old).unwrap();

    let expected = [row(1, "t0", &["a1"]), row(2, "", &["a2"])];
    let read = || {
        let reader = RunReader::open(&dir).unwrap();
        let agents = reader.agents().unwrap();
        assert!(!agents.is_empty() && agents.iter().all(|agent| agent.lineage == agent.id), "{agents:?}");
        let tasks = ModuleRecord { id: ModuleId(1), ..module("tasks", b"t0") };
        assert_eq!(reader.modules(&agent()).unwrap(), [tasks]);
        let inbox = reader.inbox(&agent()).unwrap();
        assert_eq!(inbox.len(), 1);
        assert_eq!((inbox[0].n, inbox[0].kind, inbox[0].text.as_str()), (4, InboxKind::Message, "hi"));
    };
    read();
    assert_eq!(all(&store), expected);
    let version = || -> i64 {
        let connection = Connection::open(dir.join("run.db")).unwrap();
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(version(), 1, "reading changes nothing");

    let store = RunStore::open(&dir, Options::default()).unwrap();
    assert_eq!((store.next_module_id(), store.next_inbox_number()), (ModuleId(3), 5));
    done(&store, |step| {
        step.hold(AgentId::nth(3), ModuleId(2));
    })
    .await;
    store.close().await.unwrap();
    assert_eq!(version(), gg_store::SCHEMA_VERSION);
    read();
    assert_eq!(all(&store), [row(1, "t0", &["a1"]), row(2, "", &["a2", "a3"])]);
}
