//! A process that is killed keeps everything that it was told is recorded.

use crate::fixture::{all_events, create, module, said, user};
use gg_core::{AgentId, Event, ModuleId};
use gg_store::{AgentRecord, AgentStatus, Options, RunReader, RunStatus, RunStore, Step};
use serde_json::json;
use std::{
    env,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

/// Tells this test binary to be the process that gets killed, and where its runs go.
const CHILD: &str = "GG_STORE_TEST_CRASH_IN";
/// How many agents commit at once in it.
const AGENTS: u64 = 4;

/// Commits for ever, and says on standard output what was acknowledged: `agent step`.
fn commit_for_ever(runs: &Path) {
    let store = create(runs);
    println!("dir {}", store.dir().display());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let agents = (1..=AGENTS).map(|n| {
        let store = store.clone();
        runtime.spawn(async move {
            for step in 1_u64.. {
                store.commit(nth_step(&store, n, step)).await.unwrap();
                println!("{n} {step}");
            }
        })
    });
    for agent in agents.collect::<Vec<_>>() {
        runtime.block_on(agent).unwrap();
    }
}

/// A step whose parts all say its number, so that a torn one would show.
fn nth_step(store: &RunStore, n: u64, number: u64) -> Step {
    let id = AgentId::nth(n);
    let text = format!("{n} {number}");
    let mut step = Step::new();
    step.event(Some(id.clone()), said(&user(store.next_message_id(), &text)))
        .module(gg_store::ModuleRecord { id: ModuleId(n), ..module("notes", text.as_bytes()) })
        .agent(AgentRecord {
            lineage: id.clone(),
            id,
            profile: "coder".into(),
            parent: None,
            depth: 0,
            status: AgentStatus::Live,
            progress: json!(number),
        });
    if number == 1 {
        step.hold(AgentId::nth(n), ModuleId(n));
    }
    step
}

#[test]
fn a_killed_process_keeps_every_acknowledged_step_whole() {
    if let Some(runs) = env::var_os(CHILD) {
        return commit_for_ever(Path::new(&runs));
    }
    let runs = tempfile::tempdir().unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "crash::a_killed_process_keeps_every_acknowledged_step_whole", "--nocapture"])
        .env(CHILD, runs.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut dir = None;
    let mut acknowledged = [0_u64; AGENTS as usize + 1];
    let mut lines = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        // The test harness may have begun this line with the test's name.
        if let Some((_, path)) = line.split_once("dir ") {
            dir = Some(path.to_owned());
        } else if let Some((n, step)) =
            line.split_once(' ').and_then(|(n, step)| n.parse().ok().zip(step.parse().ok()))
        {
            let n: usize = n;
            acknowledged[n] = acknowledged[n].max(step);
            lines += 1;
        }
        // Killed in the middle of its work; what it had written out by then is read to the end.
        if lines == 300 {
            let live = RunReader::open(Path::new(dir.as_ref().unwrap())).unwrap();
            assert_eq!(live.status().unwrap(), RunStatus::Running);
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(lines >= 300, "the child ended by itself after {lines} steps");

    let dir = dir.unwrap();
    let reader = RunReader::open(Path::new(&dir)).unwrap();
    assert_eq!(reader.status().unwrap(), RunStatus::Interrupted);
    let events = all_events(&reader);
    for record in reader.agents().unwrap() {
        let n: usize = record.id.as_str()[1..].parse().unwrap();
        let last = record.progress.as_u64().unwrap();
        // One step of each agent may have been on disk before its answer was read here.
        assert!((acknowledged[n]..=acknowledged[n] + 1).contains(&last), "{n}: {last} of {acknowledged:?}");
        let own = events.iter().filter(|event| event.agent.as_ref() == Some(&record.id));
        let texts: Vec<String> = own
            .map(|event| match &event.event {
                Event::Message { message, .. } => message.text(),
                other => panic!("only messages were recorded: {other:?}"),
            })
            .collect();
        assert_eq!(texts, (1..=last).map(|step| format!("{n} {step}")).collect::<Vec<_>>());
        let states = reader.modules(&record.id).unwrap();
        assert_eq!(states[0].state.as_deref(), Some(format!("{n} {last}").as_bytes()));
    }
    drop(reader);
    // The next owner goes on.
    let store = RunStore::open(Path::new(&dir), Options::default()).unwrap();
    assert_eq!(store.next_message_id().0, 1 + events.iter().map(message_id).max().unwrap());
}

fn message_id(event: &gg_core::Recorded) -> u64 {
    match &event.event {
        Event::Message { message, .. } => message.id.0,
        _ => 0,
    }
}
