//! The schema of the events holds for every event there is, and for nothing that is a little different.

use super::events;
use gg_core::{
    AgentId, AgentState, Arguments, BudgetLimit, BudgetScope, Call, CallId, CallResult, CallStatus,
    CompactionReason, Cost, Effect, Ending, Event, HookOutcome, HookPoint, Message, MessageId, Origin,
    Outcome, Part, Purpose, Recorded, Role, Seq, SuccessionKind, Turn, Usage,
    event::{ProfileRollup, Spent},
    succession::{Arrives, Fate, Leaves},
};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

fn usage() -> Usage {
    Usage { input: 10, cached: 4, output: 3, reasoning: 1 }
}

fn endings() -> Vec<Ending> {
    let text = || "done".to_owned();
    vec![
        Ending::Text { text: text() },
        Ending::Finished { outcome: Outcome::Success, text: text(), data: Some(json!({ "n": 1 })) },
        Ending::Finished { outcome: Outcome::Failure, text: text(), data: None },
        Ending::TurnLimit { limit: 3 },
        Ending::Budget { scope: BudgetScope::Run, limit: BudgetLimit::Cost, max: 0.5 },
        Ending::Budget { scope: BudgetScope::Agent, limit: BudgetLimit::WallTimeMs, max: 1000.0 },
        Ending::Loop { repeats: 3, call: "read_file".into() },
        Ending::Cancelled { reason: "Ctrl-C".into() },
        Ending::Failed { error: "no key".into(), turn: Turn(1) },
    ]
}

fn message() -> Message {
    let call =
        Call { id: "c1".into(), name: "read_file".into(), arguments: Arguments::parse(r#"{"path":"x"}"#) };
    let malformed = Call { arguments: Arguments::Malformed("{".into()), ..call.clone() };
    let parts = vec![
        Part::Text { text: "hello".into() },
        Part::Reasoning { provider: "local".into(), data: json!("…") },
        Part::Result(CallResult::new(&call, CallStatus::Failed, "gone")),
        Part::Call(call),
        Part::Call(malformed),
    ];
    Message { id: MessageId(1), role: Role::Assistant, origin: Origin::Reply, parts }
}

/// Every way for a module to leave and to arrive, and for both to be absent.
fn fates() -> Vec<Fate> {
    let pairs = [
        (Some(Leaves::Moved), Some(Arrives::Transferred)),
        (Some(Leaves::Cloned), Some(Arrives::Cloned)),
        (Some(Leaves::Linked), Some(Arrives::Linked)),
        (Some(Leaves::Dropped), None),
        (None, Some(Arrives::Initialized)),
    ];
    pairs.map(|(leaves, arrives)| Fate { kind: "tasks".into(), leaves, arrives }).into()
}

/// What is recorded where agents become others.
fn successions() -> Vec<Event> {
    let turn = Turn(2);
    let (to, profile) = (AgentId::nth(2), "writer");
    let failed = |kind, copy| Event::SuccessionFailed {
        turn,
        kind,
        profile: profile.into(),
        copy,
        error: "its window is too small".into(),
    };
    let state = |from: Option<&str>| Event::FsmState {
        machine: "feature".into(),
        state: "build".into(),
        profile: profile.into(),
        from: from.map(str::to_owned),
    };
    let mut events = vec![
        failed(SuccessionKind::Exec, None),
        failed(SuccessionKind::Fsm, None),
        failed(SuccessionKind::Fork, Some(to.clone())),
        state(None),
        state(Some("explore")),
    ];
    let spent = |cost| Some(Spent { turns: 2, usage: usage(), cost });
    for (kind, spent) in [
        (SuccessionKind::Exec, spent(None)),
        (SuccessionKind::Fsm, spent(Some(Cost(0.5)))),
        (SuccessionKind::Fork, None),
    ] {
        let (to, profile) = (to.clone(), profile.into());
        events.push(Event::AgentTransition { turn, kind, to, profile, modules: fates(), spent });
    }
    events
}

/// At least one of every variant. The match has no other purpose than to stop compiling when there is a new
/// one.
fn samples() -> Vec<Event> {
    let turn = Turn(1);
    let call = CallId::from("c1");
    let rollup = |cost| ProfileRollup {
        profile: "lead".into(),
        model: "qwen".into(),
        agents: 1,
        turns: 2,
        requests: 3,
        usage: usage(),
        cost,
    };
    let mut samples = vec![
        Event::RunStarted {
            run: "20260101-000000-abcd".into(),
            root: "lead".into(),
            gg: "0.1.0".into(),
            config_sha256: "0".repeat(64),
            workspace: "/w".into(),
            prompt: "do it".into(),
        },
        Event::AgentSpawned { profile: "lead".into(), model: "qwen".into(), parent: None, depth: 0 },
        Event::AgentSpawned {
            profile: "lead".into(),
            model: "qwen".into(),
            parent: Some(AgentId::nth(1)),
            depth: 1,
        },
        Event::AgentState { state: AgentState::Queued, on: Vec::new() },
        Event::AgentState { state: AgentState::Running, on: Vec::new() },
        Event::AgentState { state: AgentState::Blocked, on: vec![AgentId::nth(2)] },
        Event::TurnStarted { turn },
        Event::Message { turn, message: message().into() },
        Event::Request {
            turn,
            purpose: Purpose::Turn,
            model: "qwen".into(),
            system_sha256: "0".repeat(64),
            messages: vec![MessageId(1)],
            calls: vec!["finish".into()],
            attempts: 1,
        },
        Event::Usage { turn, purpose: Purpose::Summary, usage: usage(), estimated: true, cost: None },
        Event::Call {
            turn,
            call: call.clone(),
            name: "read_file".into(),
            arguments: Arguments::parse("{}"),
            effect: Some(Effect::ReadOnly),
        },
        Event::Call {
            turn,
            call: call.clone(),
            name: "nothing".into(),
            arguments: Arguments::Malformed("{".into()),
            effect: None,
        },
        Event::Hook {
            turn,
            on: HookPoint::BeforeCall,
            call: Some(call.clone()),
            name: Some("read_file".into()),
            command: "./gate.sh".into(),
            outcome: HookOutcome::Refused,
            elapsed_ms: 3,
        },
        Event::Hook {
            turn,
            on: HookPoint::BeforeEnd,
            call: None,
            name: None,
            command: "./gate.sh".into(),
            outcome: HookOutcome::Late,
            elapsed_ms: 3,
        },
        Event::CallResult {
            turn,
            call,
            name: "read_file".into(),
            status: CallStatus::Unknown,
            elapsed_ms: 1,
            bytes: 2,
        },
        Event::ModuleFailed { turn, module: "tasks".into(), hook: "prompt".into(), error: "deadline".into() },
        Event::LoopNudge { turn, repeats: 3 },
        Event::RunEnded {
            ending: Ending::TurnLimit { limit: 1 },
            elapsed_ms: 5,
            profiles: vec![rollup(None), rollup(Some(Cost(0.5)))],
        },
    ];
    for reason in [CompactionReason::Threshold, CompactionReason::Asked, CompactionReason::TooLong] {
        let summaries = vec![MessageId(4)];
        samples.push(Event::CompactionFailed {
            turn,
            reason,
            error: "the summarizer answered nothing".into(),
        });
        samples.push(Event::Compaction {
            turn,
            reason,
            before_tokens: 9,
            after_tokens: 3,
            folded: 2,
            summaries,
        });
    }
    samples.extend(successions());
    for (n, ending) in endings().into_iter().enumerate() {
        let said = Some("so far".to_owned());
        samples.push(Event::AgentEnded {
            ending,
            state: (n % 2 == 0).then(|| "build".to_owned()),
            turns: 2,
            usage: usage(),
            cost: Some(Cost(0.1)),
            said,
            unread: 1,
        });
    }
    for sample in &samples {
        match sample {
            Event::RunStarted { .. }
            | Event::AgentSpawned { .. }
            | Event::AgentState { .. }
            | Event::TurnStarted { .. }
            | Event::Message { .. }
            | Event::Request { .. }
            | Event::Usage { .. }
            | Event::Call { .. }
            | Event::CallResult { .. }
            | Event::Hook { .. }
            | Event::Compaction { .. }
            | Event::CompactionFailed { .. }
            | Event::ModuleFailed { .. }
            | Event::LoopNudge { .. }
            | Event::AgentTransition { .. }
            | Event::SuccessionFailed { .. }
            | Event::FsmState { .. }
            | Event::AgentEnded { .. }
            | Event::RunEnded { .. } => {}
        }
    }
    samples
}

fn recorded(event: Event) -> Map<String, Value> {
    let agent = match event {
        Event::RunStarted { .. } | Event::RunEnded { .. } => None,
        _ => Some(AgentId::nth(1)),
    };
    match serde_json::to_value(Recorded { seq: Seq(1), time_ms: 2, agent, event }).unwrap() {
        Value::Object(map) => map,
        other => panic!("an event is no object: {other}"),
    }
}

/// The keys that this very event might go without.
fn optional(event: &Event) -> &'static [&'static str] {
    match event {
        Event::AgentSpawned { .. } => &["parent"],
        Event::Usage { .. } => &["cost"],
        Event::AgentEnded { .. } => &["state", "cost", "said", "unread"],
        Event::AgentTransition { .. } => &["spent"],
        Event::SuccessionFailed { .. } => &["copy"],
        Event::FsmState { .. } => &["from"],
        Event::Call { .. } => &["effect"],
        Event::Hook { .. } => &["call", "name"],
        Event::AgentState { .. } => &["on"],
        _ => &[],
    }
}

#[test]
fn every_event_fits_and_nothing_near_it_does() {
    let validator = jsonschema::validator_for(&events().unwrap()).unwrap();
    for event in samples() {
        let map = recorded(event.clone());
        let whole = Value::Object(map.clone());
        assert!(validator.is_valid(&whole), "{whole}");
        for key in map.keys().filter(|key| !optional(&event).contains(&key.as_str())) {
            let mut less = map.clone();
            less.remove(key);
            assert!(!validator.is_valid(&Value::Object(less)), "{key} is not required in {whole}");
        }
        for key in map.keys().filter(|key| *key != "type") {
            let mut wrong = map.clone();
            wrong.insert(key.clone(), json!([[true]]));
            assert!(!validator.is_valid(&Value::Object(wrong)), "{key} may be anything in {whole}");
        }
        let mut more = map.clone();
        more.insert("surprise".into(), json!(1));
        assert!(!validator.is_valid(&Value::Object(more)), "unknown keys are let through in {whole}");
    }
}

#[test]
fn what_became_of_a_module_is_said_in_known_words_alone() {
    let validator = jsonschema::validator_for(&events().unwrap()).unwrap();
    let transition = |modules: Value, spent: Value| {
        json!({
            "type": "agent_transition", "seq": 1, "time_ms": 2, "agent": "a1", "turn": 2, "kind": "exec",
            "to": "a2", "profile": "writer", "modules": modules, "spent": spent,
        })
    };
    let usage = serde_json::to_value(usage()).unwrap();
    let spent = || json!({ "turns": 1, "usage": usage });
    let good = transition(json!([{ "kind": "tasks", "leaves": "moved" }]), spent());
    assert!(validator.is_valid(&good), "{good}");
    for wrong in [
        transition(json!([{ "leaves": "moved" }]), spent()),
        transition(json!([{ "kind": "tasks", "leaves": "transferred" }]), spent()),
        transition(json!([{ "kind": "tasks", "arrives": "moved" }]), spent()),
        transition(json!([{ "kind": "tasks", "stays": true }]), spent()),
        transition(json!([]), json!({ "turns": 1 })),
        transition(json!([]), json!({ "turns": 1, "usage": usage, "more": 1 })),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn the_schema_names_exactly_the_events_there_are() {
    let schema = events().unwrap();
    let listed: BTreeSet<&str> = schema["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["properties"]["type"]["const"].as_str().unwrap())
        .collect();
    let known: BTreeSet<&str> = samples().iter().map(Event::name).collect();
    assert_eq!(listed, known);
}
