//! Ten thousand agents that wait: what each takes in memory while it does nothing.
//!
//! `cargo xtask bench parked`. Each has four modules with something in them, has taken a turn, and is blocked on a child
//! that is queued: the children are of a persistent profile, so that only one of them takes a slot. Both numbers are of this process, so the queued children and the run itself are in them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot be made has to stop")]

use gg_core::{AgentState, Event, Live};
use gg_tests::{
    profile, registry,
    team::{lead, spawn, team, wait, with_modules},
};
use serde_json::json;
use std::{env, fs};

/// The agents that wait.
const AGENTS: usize = 10_000;

/// How many run at once.
const WIDTH: u32 = 64;

fn main() {
    let count = env::var("GG_BENCH_PARKED").ok().and_then(|count| count.parse().ok()).unwrap_or(AGENTS);
    let waiting = |id: &str, target: &str| {
        let mut lead = with_modules(lead(id, &[target], 2));
        lead["model"]["contextWindow"] = json!(10_000_000);
        lead
    };
    let task = json!({ "name": "add_task", "arguments": { "title": "wait for the child" } });
    let replies = json!([
        { "agent": "root", "turn": 1, "calls": vec![spawn("mid"); count] },
        { "agent": "root", "turn": 2, "calls": [wait()] },
        { "agent": "mid", "turn": 1, "times": count, "calls": [task, spawn("leaf"), wait()] },
        { "agent": "leaf", "times": count, "text": "done", "delayMs": 600_000 },
    ]);
    let agents = vec![
        waiting("root", "mid"),
        waiting("mid", "leaf"),
        with_modules(profile("leaf", json!({ "persistent": true }))),
    ];
    let scenario = team(WIDTH, agents, replies);
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
