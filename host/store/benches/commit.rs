//! How many steps a second are committed, alone and together: `cargo bench -p gg-store --bench commit --profile dev`.
//!
//! Each step is what a turn's typical one is: a message, three events, a module's state and the agent's
//! progress. The ratio shows what committing together is worth on this disk.

#![allow(clippy::unwrap_used)]

use gg_core::{AgentId, AgentState, Event, Message, ModuleId, Origin, Turn};
use gg_store::{AgentRecord, AgentStatus, ModuleRecord, RunMeta, RunStore, Step};
use serde_json::json;
use std::{
    env,
    sync::Arc,
    time::{Duration, Instant},
};

/// Committers that wait for each other's disk syncs.
const TOGETHER: u64 = 64;
/// How long each measurement takes.
const TIME: Duration = Duration::from_secs(3);

fn main() {
    // Somewhere on a real disk: the temporary folder is often memory.
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    std::fs::create_dir_all(&target).unwrap();
    let runs = tempfile::tempdir_in(target).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let alone = runtime.block_on(measure(runs.path(), 1));
    let together = runtime.block_on(measure(runs.path(), TOGETHER));
    println!("ratio: {:.1}", together / alone);
}

/// Steps a second with so many committers.
async fn measure(runs: &std::path::Path, committers: u64) -> f64 {
    let meta = RunMeta {
        config: json!({}),
        prompt: "bench".into(),
        workspace: "/".into(),
        root: "coder".into(),
        gg: "bench".into(),
    };
    let store = RunStore::create(runs, meta).unwrap();
    let begin = Instant::now();
    let tasks: Vec<_> = (0..committers)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let (agent, module) = (store.next_agent_id(), store.next_module_id());
                let mut latencies = Vec::new();
                while begin.elapsed() < TIME {
                    let step = step(&store, &agent, module, latencies.len() as u32);
                    let asked = Instant::now();
                    store.commit(step).await.unwrap();
                    latencies.push(asked.elapsed());
                }
                latencies
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    let rate = latencies.len() as f64 / begin.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    println!("{committers:>3} committers: {rate:>7.0} steps/s, p50 {:.2?}, p99 {:.2?}", at(0.5), at(0.99));
    store.close().await.unwrap();
    rate
}

fn step(store: &RunStore, agent: &AgentId, module: ModuleId, turn: u32) -> Step {
    let message = Message::user(store.next_message_id(), Origin::Notice, "word ".repeat(200));
    let mut step = Step::new();
    step.event(Some(agent.clone()), Event::TurnStarted { turn: Turn(turn) })
        .event(Some(agent.clone()), Event::Message { turn: Turn(turn), message: Arc::new(message) })
        .event(Some(agent.clone()), Event::AgentState { state: AgentState::Running, on: Vec::new() })
        .module(ModuleRecord {
            id: module,
            kind: "history".into(),
            profile: None,
            component_sha256: "0".repeat(64),
            state_format: "history-1".into(),
            state: Some(vec![7; 4096].into()),
        })
        .agent(AgentRecord {
            id: agent.clone(),
            lineage: agent.clone(),
            profile: "coder".into(),
            parent: None,
            depth: 0,
            status: AgentStatus::Live,
            progress: json!({ "turn": turn }),
        });
    if turn == 0 {
        step.hold(agent.clone(), module);
    }
    step
}
