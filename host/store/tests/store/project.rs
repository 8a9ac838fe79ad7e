//! What the runs on one workspace share: a change is made only to the version it was worked out from.

use gg_core::ProfileId;
use gg_store::{Kept, ProjectError, ProjectModule, ProjectStore, Saved, list_runs};
use std::{fs, path::Path, thread};

fn module(state: &str) -> ProjectModule {
    ProjectModule {
        component_sha256: "c0ffee".into(),
        state_format: "notes/1".into(),
        state: state.as_bytes().into(),
    }
}

fn profile() -> ProfileId {
    "coder".into()
}

fn state(store: &ProjectStore, known: u64) -> Option<(u64, String)> {
    match store.load(&profile(), "notes", known).unwrap() {
        Kept::Changed { version, module } => {
            Some((version, String::from_utf8(module.state.to_vec()).unwrap()))
        }
        Kept::Nothing | Kept::AsKnown => None,
    }
}

#[test]
fn a_change_to_another_version_is_refused() {
    let (runs, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open = || ProjectStore::of(runs.path(), workspace.path()).unwrap();
    let (one, other) = (open(), open());
    assert!(!one.path().exists(), "nothing is made before it is needed");
    assert_eq!(state(&one, 0), None);
    let save = |store: &ProjectStore, expected: u64, text: &str| {
        store.save(&profile(), "notes", expected, &module(text)).unwrap()
    };
    assert_eq!(save(&one, 0, "first"), Saved::As(1));
    assert_eq!(save(&other, 0, "lost"), Saved::Conflict);
    assert_eq!(state(&other, 0), Some((1, "first".into())));
    assert_eq!(save(&other, 1, "second"), Saved::As(2));
    assert_eq!(save(&one, 1, "lost"), Saved::Conflict);
    assert_eq!(state(&one, 1), Some((2, "second".into())));
    assert_eq!(one.load(&profile(), "notes", 2).unwrap(), Kept::AsKnown);
    assert_eq!(one.load(&"critic".into(), "notes", 0).unwrap(), Kept::Nothing);
    assert_eq!(one.load(&profile(), "tasks", 0).unwrap(), Kept::Nothing);
    assert_eq!(list_runs(runs.path(), 9).unwrap().len(), 0, "it is not a run");
}

#[test]
fn the_same_workspace_is_found_by_any_path_and_another_is_another() {
    let (runs, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let workspace = folder.path().join("project");
    fs::create_dir_all(workspace.join("src")).unwrap();
    let path = |workspace: &Path| ProjectStore::of(runs.path(), workspace).unwrap().path().to_owned();
    assert_eq!(path(&workspace.join("src/..")), path(&workspace));
    assert_ne!(path(&workspace.join("src")), path(&workspace));
    let missing = ProjectStore::of(runs.path(), &folder.path().join("none"));
    assert!(matches!(missing, Err(ProjectError::Io { .. })), "{missing:?}");
}

#[test]
fn writers_that_compare_and_try_again_lose_nothing() {
    const WRITERS: usize = 4;
    const EACH: usize = 25;
    let (runs, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (runs, workspace) = (runs.path(), workspace.path());
            scope.spawn(move || {
                // A connection of its own, as another process would have.
                let store = ProjectStore::of(runs, workspace).unwrap();
                for n in 0..EACH {
                    loop {
                        let (version, text) = state(&store, 0).unwrap_or_default();
                        let next = module(&format!("{text}{writer}:{n}\n"));
                        if store.save(&profile(), "notes", version, &next).unwrap() != Saved::Conflict {
                            break;
                        }
                    }
                }
            });
        }
    });
    let store = ProjectStore::of(runs.path(), workspace.path()).unwrap();
    let (version, text) = state(&store, 0).unwrap();
    assert_eq!(version, (WRITERS * EACH) as u64);
    for writer in 0..WRITERS {
        let own: Vec<String> =
            text.lines().filter(|line| line.starts_with(&format!("{writer}:"))).map(str::to_owned).collect();
        assert_eq!(own, (0..EACH).map(|n| format!("{writer}:{n}")).collect::<Vec<_>>());
    }
}

#[test]
fn a_file_that_was_removed_is_made_again_and_a_foreign_one_is_refused() {
    let (runs, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = ProjectStore::of(runs.path(), workspace.path()).unwrap();
    store.save(&profile(), "notes", 0, &module("first")).unwrap();
    fs::remove_file(store.path()).unwrap();
    assert_eq!(store.load(&profile(), "notes", 1).unwrap(), Kept::Nothing);
    assert_eq!(store.save(&profile(), "notes", 0, &module("anew")).unwrap(), Saved::As(1));

    let sql = |text: &str| rusqlite::Connection::open(store.path()).unwrap().execute_batch(text).unwrap();
    let refused = || {
        // A new one, because a connection that was looked at is not looked at again.
        let store = ProjectStore::of(runs.path(), workspace.path()).unwrap();
        store.load(&profile(), "notes", 0).unwrap_err().to_string()
    };
    sql("UPDATE modules SET state = x'00'");
    assert!(refused().contains("the state of coder's module notes is not what was stored"), "{}", refused());
    sql("PRAGMA user_version = 2");
    assert!(refused().contains("it has version 2, and this gg knows version 1"), "{}", refused());
    sql("PRAGMA application_id = 7");
    assert!(refused().contains("it is a database of something else"), "{}", refused());
    fs::write(store.path(), "no database at all, ".repeat(500)).unwrap();
    assert!(refused().contains("it is not an SQLite database"), "{}", refused());
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let (runs, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = ProjectStore::of(&runs.path().join("runs"), workspace.path()).unwrap();
    store.save(&profile(), "notes", 0, &module("first")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(store.path()), 0o600);
    assert_eq!(mode(store.path().parent().unwrap()), 0o700);
}
