//! Runs, steps and messages for tests.

use gg_core::{
    AgentId, AgentState, Arguments, Call, CallResult, CallStatus, Ending, Event, Message, MessageId,
    ModuleId, Origin, Recorded, Turn, event::ProfileRollup, usage::Usage,
};
use gg_store::{
    AgentRecord, AgentStatus, ModuleRecord, Options, RunMeta, RunReader, RunStore, Step, StoreError,
};
use serde_json::json;
use std::{fs, path::Path, sync::Arc};

pub(crate) fn meta() -> RunMeta {
    RunMeta {
        config: json!({ "maxParallel": 2, "agents": [{ "id": "coder" }] }),
        prompt: "Mend the bug.\nThen stop.".into(),
        workspace: "/home/ada/project".into(),
        root: "coder".into(),
        gg: "0.1.0".into(),
    }
}

pub(crate) fn create(runs: &Path) -> RunStore {
    RunStore::create(runs, meta()).unwrap()
}

pub(crate) fn create_with(runs: &Path, options: Options) -> RunStore {
    RunStore::create_with(runs, meta(), options).unwrap()
}

pub(crate) fn agent() -> AgentId {
    AgentId::nth(1)
}

pub(crate) fn user(id: MessageId, text: &str) -> Arc<Message> {
    Arc::new(Message::user(id, Origin::Prompt, text))
}

pub(crate) fn call(id: &str) -> Call {
    Call { id: id.into(), name: "write_file".into(), arguments: Arguments::parse(r#"{"path":"a"}"#) }
}

pub(crate) fn result(id: &str) -> CallResult {
    CallResult::new(&call(id), CallStatus::Ok, "written")
}

pub(crate) fn said(message: &Arc<Message>) -> Event {
    Event::Message { turn: Turn(1), message: Arc::clone(message) }
}

pub(crate) fn turn_started(turn: u32) -> Event {
    Event::TurnStarted { turn: Turn(turn) }
}

pub(crate) fn running() -> Event {
    Event::AgentState { state: AgentState::Running, on: Vec::new() }
}

pub(crate) fn run_ended(text: &str) -> Event {
    Event::RunEnded {
        ending: Ending::Text { text: text.into() },
        elapsed_ms: 1234,
        profiles: vec![ProfileRollup {
            profile: "coder".into(),
            model: "m".into(),
            agents: 1,
            turns: 2,
            requests: 3,
            usage: Usage { input: 10, cached: 0, output: 5, reasoning: 0 },
            cost: None,
        }],
    }
}

pub(crate) fn agent_record(progress: u32, status: AgentStatus) -> AgentRecord {
    AgentRecord {
        id: agent(),
        lineage: agent(),
        profile: "coder".into(),
        parent: None,
        depth: 0,
        status,
        progress: json!({ "turn": progress }),
    }
}

/// The id of the one module of a kind that a test's agent `a1` has.
pub(crate) fn module_id(kind: &str) -> ModuleId {
    ModuleId(match kind {
        "history" => 1,
        "tasks" => 2,
        _ => 3,
    })
}

pub(crate) fn module(kind: &str, state: &[u8]) -> ModuleRecord {
    ModuleRecord {
        id: module_id(kind),
        kind: kind.into(),
        profile: None,
        component_sha256: "c0ffee".into(),
        state_format: format!("{kind}-1"),
        state: Some(state.into()),
    }
}

/// A step with just this event of agent `a1`.
pub(crate) fn one(event: Event) -> Step {
    let mut step = Step::new();
    step.event(Some(agent()), event);
    step
}

/// All recorded events, which are also checked to be numbered from 1 without gaps.
pub(crate) fn all_events(reader: &RunReader) -> Vec<Recorded> {
    let events: Vec<Recorded> =
        reader.events_from(gg_core::Seq(0)).collect::<Result<_, StoreError>>().unwrap();
    let numbers: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    events
}

pub(crate) fn owned(events: Vec<Arc<Recorded>>) -> Vec<Recorded> {
    events.into_iter().map(Arc::unwrap_or_clone).collect()
}

/// Copies a run's files as they stand, as a crash would leave them.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in ["config.json", "run.db", "run.db-wal"] {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}
