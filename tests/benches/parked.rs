//! Ten thousand agents that wait: what each takes in memory while it does nothing.
//!
//! `cargo xtask bench parked`. Each has four modules with something in them, has taken a turn, and is blocked on a child
//! that is queued. Both numbers are of this process, so the queued children and the run itself are in them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot be made has to stop")]

use gg_core::{AgentState, Event, Live};
use gg_tests::{Scenario, profile, registry};
use serde_json::{Value, json};
use std::{env, fs};

/// The agents that wait.
const AGENTS: usize = 10_000;

/// How many run at once.
const WIDTH: u32 = 64;

fn main() {
    let count = env::var("GG_BENCH_PARKED").ok().and_then(|count| count.parse().ok()).unwrap_or(AGENTS);
    let modules = |more: Vec<Value>| {
        let mut all = vec![
            json!({ "id": "tasks", "enabled": true }),
            json!({ "id": "notebook", "enabled": true }),
            json!({ "id": "memories", "enabled": true }),
        ];
        all.extend(more);
        all
    };
    let subagents = json!({ "id": "subagents", "enabled": true, "params": { "maxDepth": 2 } });
    let lead = |id: &str, target: &str| {
        let roster = json!([{ "agentId": target, "scopes": ["subagent"] }]);
        let mut lead =
            profile(id, json!({ "roster": roster, "capabilities": modules(vec![subagents.clone()]) }));
        lead["model"]["contextWindow"] = json!(10_000_000);
        lead
    };
    let spawn = |agent: &str| json!({ "name": "spawn_subagent", "arguments": { "agent": agent, "prompt": "Do your part." } });
    let wait = json!({ "name": "wait_for_subagents" });
    let task = json!({ "name": "add_task", "arguments": { "title": "wait for the child" } });
    let replies = json!([
        { "agent": "root", "turn": 1, "calls": vec![spawn("mid"); count] },
        { "agent": "root", "turn": 2, "calls": [wait] },
        { "agent": "mid", "turn": 1, "times": count, "calls": [task, spawn("leaf"), wait] },
        { "agent": "leaf", "times": count, "text": "done", "delayMs": 600_000 },
    ]);
    let agents = [
        lead("root", "mid"),
        lead("mid", "leaf"),
        profile("leaf", json!({ "capabilities": modules(vec![]) })),
    ];
    let configuration = json!({ "maxParallel": WIDTH, "agents": agents });
    let scenario = Scenario::scripted(&configuration, &replies);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let before = resident();
        let handle = gg_runtime::start(scenario.launch).await.unwrap();
        let mut seen = handle.subscribe(100_000);
        let mut blocked = 0;
        let mut missed = 0;
        while blocked + missed <= count {
            match seen.recv().await {
                Some(Live::Event(recorded)) => {
                    let is_blocked =
                        matches!(recorded.event, Event::AgentState { state: AgentState::Blocked, .. });
                    blocked += usize::from(is_blocked);
                }
                Some(Live::Missed(some)) => missed += usize::try_from(some).unwrap(),
                Some(_) => {}
                None => panic!("the run ended"),
            }
        }
        assert_eq!(missed, 0, "the benchmark was too slow a reader");
        let after = resident();
        let agents = count * 2;
        println!(
            "{count} agents blocked and as many queued: {:.1} KiB resident each, {} live instances, {} MiB in all",
            (after - before) as f64 / 1024.0 / count as f64,
            registry().sandbox().live_guests(),
            after >> 20,
        );
        println!("{:.1} KiB for each of all {agents} agents", (after - before) as f64 / 1024.0 / agents as f64);
        handle.cancel("measured");
        handle.join().await.unwrap();
    });
}

/// The memory of this process that is resident, in bytes.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}
