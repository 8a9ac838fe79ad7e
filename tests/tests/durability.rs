//! What is on disk after each step is what was in memory: a run's database, copied as a crash would leave it and
//! opened again, gives the same window, the same module states and the same inbox.

use gg_core::{AgentId, Entry, Event, Message, MessageId, Origin, Turn, window::Keep};
use gg_modules::{Access, Context, History, LentMessage, Messages, Phase};
use gg_runtime::AgentSnapshot;
use gg_store::RunReader;
use gg_tests::{
    Scenario, profile, registry,
    team::{call, changeable, enabled, exec, fork, good, machine, step_to, team, wait},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

/// A copy of the run's files, taken while they are open for writing, as a crash would leave them.
fn crashed_copy(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
    }
    copy
}

/// The agent as the record alone tells it. The window is what the history module says after it was restored
/// from its recorded bytes.
fn from_disk(snapshot: &AgentSnapshot) -> AgentSnapshot {
    let copy = crashed_copy(&snapshot.dir);
    let reader = RunReader::open(copy.path()).unwrap();
    let records = reader.modules(&snapshot.agent).unwrap();
    let history = records.iter().find(|record| record.kind == "history").unwrap();
    let messages: Vec<(Turn, Arc<Message>)> = reader
        .events_from(gg_core::Seq(1))
        .filter_map(|recorded| match recorded.unwrap().event {
            Event::Message { turn, message } => Some((turn, message)),
            _ => None,
        })
        .collect();
    let window = window_of(history.state.clone().unwrap(), &messages, &snapshot.agent);
    AgentSnapshot { window, ..states_on_disk(&reader, snapshot) }
}

/// The same but for the window, which is the history's state anyway.
fn states_on_disk(reader: &RunReader, snapshot: &AgentSnapshot) -> AgentSnapshot {
    let records = reader.modules(&snapshot.agent).unwrap();
    let modules: BTreeMap<String, String> =
        records.iter().filter_map(|record| Some((record.kind.clone(), record.digest()?))).collect();
    AgentSnapshot { modules, inbox: reader.inbox(&snapshot.lineage).unwrap(), ..snapshot.clone() }
}

fn window_of(state: Arc<[u8]>, messages: &[(Turn, Arc<Message>)], agent: &AgentId) -> Vec<MessageId> {
    let component = registry().builtin("history").unwrap();
    let context = Context {
        agent: agent.clone(),
        turn: Turn(0),
        now_ms: 0,
        access: Access::ReadWrite,
        phase: Phase::Now,
        salt: 0,
    };
    let lent = messages.iter().map(|(turn, message)| lent(*turn, message)).collect();
    let restored = History::restore(&component, state, Arc::new(NoMessages), lent, &context);
    let history =
        futures_util::FutureExt::now_or_never(restored).expect("a built-in component never waits").unwrap();
    history.window().entries.iter().map(|entry| entry.id).collect()
}

/// The facts of a message, as the runtime would have lent them.
fn lent(turn: Turn, message: &Message) -> LentMessage {
    let keep = match message.origin {
        Origin::Prompt | Origin::Opening => Keep::Pinned,
        _ => Keep::Foldable,
    };
    LentMessage {
        entry: Entry::of(message, turn, gg_core::tokens::of_message(message), keep),
        calls: message.calls().map(|call| call.id.clone()).collect(),
        answers: message.call_results().map(|result| result.call.clone()).collect(),
    }
}

struct NoMessages;

impl Messages for NoMessages {
    fn text(&self, _: MessageId, _: usize) -> Result<String, String> {
        Err("nothing is lent here".into())
    }

    fn note(&self, _: String) -> Result<Entry, String> {
        Err("nothing is noted here".into())
    }
}

type Steps = Arc<Mutex<Vec<(AgentSnapshot, AgentSnapshot)>>>;

/// A scenario with what is in memory and on disk after each of its steps.
fn observed(name: &str) -> (Scenario, Steps) {
    let steps = Steps::default();
    let seen = steps.clone();
    let scenario = Scenario::named(name).observed(Arc::new(move |snapshot| {
        seen.lock().unwrap().push((snapshot.clone(), from_disk(snapshot)));
    }));
    (scenario, steps)
}

#[test]
fn memories_that_two_hold_are_on_disk_as_they_are_in_memory() {
    let (scenario, steps) = observed("memories-inherited");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let played = runtime.block_on(scenario.play());
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let steps = steps.lock().unwrap();
    for (at, (memory, disk)) in steps.iter().enumerate() {
        assert_eq!(memory, disk, "step {at}");
    }
    let of = |agent: u64| {
        let of_agent = steps.iter().filter(move |(memory, _)| memory.agent == AgentId::nth(agent));
        of_agent.filter_map(|(memory, _)| memory.modules.get("memories").cloned()).collect::<BTreeSet<_>>()
    };
    // Empty, then with one memory, then with two; the heir never saw it empty.
    assert_eq!((of(1).len(), of(2).len()), (3, 2));
    assert!(of(2).is_subset(&of(1)));
    let last =
        |agent: u64| steps.iter().rev().find(|(memory, _)| memory.agent == AgentId::nth(agent)).unwrap();
    assert!(![1, 2].iter().any(|agent| last(*agent).0.modules.contains_key("memories")));
}

#[test]
fn every_step_of_a_run_can_be_read_back() {
    let (scenario, steps) = observed("everything");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let played = runtime.block_on(async {
        let handle = gg_runtime::start(scenario.launch).await.unwrap();
        let dir = handle.dir().to_owned();
        assert!(handle.send("A message while you work.").await.unwrap());
        let summary = handle.join().await.unwrap();
        (dir, summary)
    });
    assert!(played.1.ending.is_good(), "{:?}", played.1);
    let steps = steps.lock().unwrap();
    assert!(steps.len() > 10, "only {} steps were seen", steps.len());
    for (at, (memory, disk)) in steps.iter().enumerate() {
        assert_eq!(memory, disk, "step {at}");
    }
    assert!(steps.iter().any(|(memory, _)| !memory.inbox.is_empty()), "no step had an unread message");
}

/// The switch, on disk as in memory: at every step of every incarnation, and of a copy.
#[test]
fn successions_are_on_disk_as_they_are_in_memory() {
    let add = call("add_task", json!({ "title": "dig" }));
    let replies = json!([
        { "agent": "a1", "calls": [add, fork("Look.")] },
        { "agent": "a1", "calls": [exec("process", "On you go.")] },
        { "agent": "a2", "calls": [call("add_task", json!({ "title": "of the copy" })), good("looked")] },
        { "agent": "a3", "calls": [step_to("two", "")] },
        { "agent": "a4", "calls": [call("add_task", json!({ "title": "last" }))] },
        { "agent": "a4", "calls": [wait()] },
        { "agent": "a4", "text": "done" },
    ]);
    let tasks = ("tasks", json!({}));
    let own =
        [tasks.clone(), ("memories", json!({ "scope": "shared" })), ("exec", json!({})), ("fork", json!({}))];
    let subagents = ("subagents", json!({ "maxDepth": 2 }));
    let mut first = changeable("first", &["process"], &[]);
    first["capabilities"] = enabled(&[&own[..], std::slice::from_ref(&subagents)].concat());
    let process = machine("process", &[("one", "second", &[("two", &["tasks"])]), ("two", "third", &[])]);
    let second =
        profile("second", json!({ "capabilities": enabled(&[tasks.clone(), ("notebook", json!({}))]) }));
    let roster = json!([{ "agentId": "second", "scopes": ["subagent"] }]);
    let third = profile("third", json!({ "capabilities": enabled(&[tasks, subagents]), "roster": roster }));
    let steps = Steps::default();
    let seen = steps.clone();
    let scenario =
        team(1, vec![first, process, second, third], replies).observed(Arc::new(move |snapshot| {
            let copy = crashed_copy(&snapshot.dir);
            let reader = RunReader::open(copy.path()).unwrap();
            seen.lock().unwrap().push((snapshot.clone(), states_on_disk(&reader, snapshot)));
        }));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let played = runtime.block_on(scenario.play());
    assert!(played.summary.ending.is_good(), "{}", played.story());
    let steps = steps.lock().unwrap();
    for (at, (memory, disk)) in steps.iter().enumerate() {
        assert_eq!(memory, disk, "step {at}\n{}", played.story());
    }
    let agents: BTreeSet<&str> = steps.iter().map(|(memory, _)| memory.agent.as_str()).collect();
    assert_eq!(agents, BTreeSet::from(["a1", "a2", "a3", "a4"]));
    // Who became another is on record as that, and holds nothing.
    let reader = gg_store::RunReader::open(&played.dir).unwrap();
    let status: Vec<String> = reader
        .agents()
        .unwrap()
        .into_iter()
        .map(|agent| match agent.status {
            gg_store::AgentStatus::Live => "live".into(),
            gg_store::AgentStatus::Ended(_) => format!("{} ended", agent.lineage),
            gg_store::AgentStatus::Became(next) => format!("{} became {next}", agent.lineage),
        })
        .collect();
    assert_eq!(status, ["a1 became a3", "a2 ended", "a1 became a4", "a1 ended"]);
    for gone in [1, 3] {
        assert_eq!(reader.modules(&AgentId::nth(gone)).unwrap(), []);
    }
}
