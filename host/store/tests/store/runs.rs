//! Where runs are, what they are called, who may read them and how they stand.

use crate::fixture::{agent, agent_record, create, meta, one, run_ended, turn_started};
use gg_core::{Cost, Ending, Event, Purpose, Seq, Turn, Usage};
use gg_store::{
    AgentStatus, Listed, Options, RunStatus, RunStore, Step, StoreError, default_runs_dir, find_run,
    list_runs,
};
use std::{env, fs, path::Path, process::Command};

fn statuses(listed: &[Listed]) -> Vec<(&str, Option<RunStatus>)> {
    let status = |run: &Listed| run.summary.as_ref().ok().map(|summary| summary.status.clone());
    listed.iter().map(|run| (run.id.as_str(), status(run))).collect()
}

/// A run that starts at this second of 2026-11-30, 13:15.
fn at(runs: &Path, now_ms: fn() -> u64) -> RunStore {
    RunStore::create_with(runs, meta(), Options { now_ms, ..Options::default() }).unwrap()
}

#[tokio::test]
async fn runs_are_listed_newest_first_with_how_they_stand() {
    let runs = tempfile::tempdir().unwrap();
    let ended = at(runs.path(), || 1_796_044_502_000);
    ended.commit(one(run_ended("done"))).await.unwrap();
    ended.close().await.unwrap();
    let interrupted = at(runs.path(), || 1_796_044_503_000);
    interrupted.commit(one(turn_started(1))).await.unwrap();
    interrupted.close().await.unwrap();
    let running = at(runs.path(), || 1_796_044_504_000);
    let foreign = runs.path().join("20261130-131505-abcd");
    fs::create_dir(&foreign).unwrap();
    // What is not named like a run is left alone.
    fs::create_dir(runs.path().join("notes")).unwrap();
    fs::write(runs.path().join("README"), "x").unwrap();

    let end = Ending::Text { text: "done".into() };
    let listed = list_runs(runs.path(), 10).unwrap();
    assert_eq!(
        statuses(&listed),
        [
            ("20261130-131505-abcd", None),
            (running.run_id().as_str(), Some(RunStatus::Running)),
            (interrupted.run_id().as_str(), Some(RunStatus::Interrupted)),
            (ended.run_id().as_str(), Some(RunStatus::Ended { ending: end, elapsed_ms: 1234 })),
        ]
    );
    assert!(matches!(&listed[0].summary, Err(StoreError::NotARun { .. })));
    assert!(running.run_id().as_str().starts_with("20261130-131504-"), "{}", running.run_id());
    assert_eq!(fs::canonicalize(&listed[1].dir).unwrap(), running.dir());
    assert_eq!(list_runs(runs.path(), 2).unwrap().len(), 2);
    assert_eq!(list_runs(&runs.path().join("absent"), 2).unwrap().len(), 0);
}

#[tokio::test]
async fn a_summary_adds_up_what_was_used_whether_or_not_the_run_ended() {
    let runs = tempfile::tempdir().unwrap();
    let store = create(runs.path());
    let used = |input, cost| Event::Usage {
        turn: Turn(1),
        purpose: Purpose::Turn,
        usage: Usage { input, cached: 1, output: 2, reasoning: 0 },
        estimated: false,
        cost,
    };
    let mut step = Step::new();
    step.agent(agent_record(1, AgentStatus::Live))
        .event(Some(agent()), used(100, Some(Cost(0.5))))
        .event(Some(agent()), turn_started(1))
        .event(Some(agent()), used(50, None))
        .event(Some(agent()), used(7, Some(Cost(0.25))));
    store.commit(step).await.unwrap();
    let summary = |runs: &Path| list_runs(runs, 1).unwrap().remove(0).summary.unwrap();
    let going_on = summary(runs.path());
    assert_eq!(going_on.usage, Usage { input: 157, cached: 3, output: 6, reasoning: 0 });
    assert_eq!((going_on.cost, going_on.agents, going_on.last_seq), (Some(Cost(0.75)), 1, Seq(4)));
    assert_eq!(going_on.started.prompt, meta().prompt);
    assert_eq!(going_on.started.config_sha256, store.config_sha256());

    store.commit(one(run_ended("done"))).await.unwrap();
    let ended = summary(runs.path());
    assert_eq!((ended.usage.input, ended.cost, ended.last_seq), (10, None, Seq(5)));
}

#[test]
fn a_run_is_found_by_its_name_its_start_or_its_end() {
    let runs = tempfile::tempdir().unwrap();
    let names = ["20261130-131502-k3f9", "20261130-131502-m7tt", "20261201-080000-zz22"];
    for name in names {
        fs::create_dir(runs.path().join(name)).unwrap();
    }
    let find = |wanted: &str| find_run(runs.path(), wanted);
    assert_eq!(find(names[1]).unwrap(), runs.path().join(names[1]));
    assert_eq!(find("k3f9").unwrap(), runs.path().join(names[0]));
    assert_eq!(find("202612").unwrap(), runs.path().join(names[2]));
    assert!(matches!(find("2026"), Err(StoreError::Ambiguous { count: 3, .. })));
    for absent in ["", "..", "../x", "/", "3f9", "20261130-131502-k3f90"] {
        assert!(matches!(find(absent), Err(StoreError::NoSuchRun { .. })), "{absent:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_can_read_a_run() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let runs = home.path().join("state/gg/runs");
    let store = create(&runs);
    store.commit(one(turn_started(1))).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in [&home.path().join("state"), &runs, store.dir()] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    let mut files: Vec<_> = fs::read_dir(store.dir()).unwrap().map(|entry| entry.unwrap()).collect();
    files.sort_by_key(|file| file.file_name());
    let names: Vec<_> = files.iter().map(|file| file.file_name().into_string().unwrap()).collect();
    assert_eq!(names, ["config.json", "lock", "run.db", "run.db-shm", "run.db-wal"]);
    for file in files {
        assert_eq!(mode(&file.path()), 0o600, "{}", file.path().display());
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = RunStore::create(&file.join("runs"), meta()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, StoreError::Io { .. }), "{text}");
    assert!(text.contains("file/runs") && text.contains("--runs"), "{text}");
}

#[test]
fn the_default_place_follows_the_users_state_folder() {
    const CHILD: &str = "GG_STORE_TEST_DEFAULT_DIR";
    if env::var_os(CHILD).is_some() {
        return println!("found {:?}", default_runs_dir().ok());
    }
    let found = |state: Option<&str>| {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .args(["--exact", "runs::the_default_place_follows_the_users_state_folder", "--nocapture"])
            .env(CHILD, "1")
            .env("HOME", "/home/ada")
            .env_remove("XDG_STATE_HOME");
        if let Some(state) = state {
            command.env("XDG_STATE_HOME", state);
        }
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        output.lines().find_map(|line| line.split("found ").nth(1)).unwrap().to_owned()
    };
    assert_eq!(found(Some("/var/state")), r#"Some("/var/state/gg/runs")"#);
    assert_eq!(found(None), r#"Some("/home/ada/.local/state/gg/runs")"#);
}

#[test]
fn a_run_that_is_being_made_is_not_listed_until_it_is() {
    let runs = tempfile::tempdir().unwrap();
    let dir = runs.path().join("20261130-131502-k3f9");
    fs::create_dir(&dir).unwrap();
    let lock = fs::File::create(dir.join("lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(list_runs(runs.path(), 9).unwrap().len(), 0);
    drop(lock);
    assert_eq!(statuses(&list_runs(runs.path(), 9).unwrap()), [("20261130-131502-k3f9", None)]);
}
