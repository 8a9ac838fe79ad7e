//! A thousand children of one parent: what a turn costs, and how much memory the whole takes, beside the same job in
//! two Python frameworks.
//!
//! `cargo xtask bench children`. Each side runs in a process of its own; CPU time is what the kernel counted for it.
//! gg keeps four modules for each agent and writes every step to disk; the others keep everything in memory.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot be made has to stop")]

use gg_tests::{
    profile,
    team::{call, good, lead, spawn, team, with_modules},
};
use serde_json::{Value, json};
use std::{env, fs, path::Path, process::Command, time::Instant};

/// The children.
const CHILDREN: u64 = 1000;

/// How many run at once.
const WIDTH: u32 = 64;

/// How many children one wait names.
const WAIT: u64 = 100;

/// How often each side runs; the medians are compared.
const ROUNDS: usize = 3;

/// The variable that names the Python to run the peers with; `cargo xtask bench` sets it.
const PYTHON: &str = "GG_BENCH_PYTHON";

#[derive(Clone, Copy)]
struct Cost {
    cpu_us_per_turn: f64,
    peak_mib: f64,
}

fn main() {
    if env::args().any(|argument| argument == "--job") {
        job();
        return;
    }
    let gg = median(|| run(Command::new(env::current_exe().unwrap()).arg("--job")));
    show("gg", gg, None);
    let Some(python) = env::var_os(PYTHON) else {
        println!("{PYTHON} is not set: no peer was run. Use `cargo xtask bench children`.");
        return;
    };
    let mut best: Option<f64> = None;
    for (name, script) in
        [("LangGraph", "langgraph_children.py"), ("OpenAI Agents SDK", "openai_agents_children.py")]
    {
        let script = gg_tests::package().join("benches/peers").join(script);
        let peer = median(|| {
            run(Command::new(&python).arg(&script).arg(CHILDREN.to_string()).arg(WIDTH.to_string()))
        });
        show(name, peer, Some(gg));
        let ratio = peer.cpu_us_per_turn / gg.cpu_us_per_turn;
        best = Some(best.map_or(ratio, |best| best.min(ratio)));
    }
    println!("CPU per turn, the better of the two / gg: {:.1}", best.unwrap_or_default());
}

fn median(measure: impl Fn() -> Cost) -> Cost {
    let mut costs: Vec<Cost> = (0..ROUNDS).map(|_| measure()).collect();
    costs.sort_by(|a, b| a.cpu_us_per_turn.total_cmp(&b.cpu_us_per_turn));
    costs[ROUNDS / 2]
}

fn show(name: &str, cost: Cost, gg: Option<Cost>) {
    let ratio = gg.map_or_else(String::new, |gg| {
        format!(
            "   ({:.1} times gg's CPU, {:.1} times its memory)",
            cost.cpu_us_per_turn / gg.cpu_us_per_turn,
            cost.peak_mib / gg.peak_mib
        )
    });
    println!(
        "{name:<18} {:>7.0} us CPU a turn, {:>6.1} MiB at most{ratio}",
        cost.cpu_us_per_turn, cost.peak_mib
    );
}

fn run(command: &mut Command) -> Cost {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().last().unwrap();
    let measured: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let number = |key: &str| measured[key].as_f64().unwrap();
    Cost { cpu_us_per_turn: number("cpu_s") * 1e6 / number("turns"), peak_mib: number("peak_kb") / 1024.0 }
}

/// The job in gg: the parent spawns all children in one turn and collects them, a hundred at a time; each child takes
/// three turns with one call each.
fn job() {
    let mut parent = with_modules(lead("parent", &["child"], 1));
    parent["model"]["contextWindow"] = json!(1_000_000);
    let child = with_modules(profile("child", json!({})));
    let mut replies = vec![json!({ "agent": "parent", "calls": vec![spawn("child"); CHILDREN as usize] })];
    for first in (2..CHILDREN + 2).step_by(WAIT as usize) {
        let ids: Vec<String> = (first..first + WAIT).map(|n| format!("a{n}")).collect();
        let wait = call("wait_for_subagents", json!({ "ids": ids }));
        replies.push(json!({ "agent": "parent", "calls": [wait] }));
    }
    replies.push(json!({ "agent": "parent", "text": "done" }));
    let note = |turn: u32| {
        let add = call("add_task", json!({ "title": format!("turn {turn}") }));
        json!({ "agent": "child", "turn": turn, "times": CHILDREN, "calls": [add] })
    };
    replies.extend([note(1), note(2)]);
    replies.push(json!({ "agent": "child", "turn": 3, "times": CHILDREN, "calls": [good("done")] }));
    let scenario = team(WIDTH, vec![parent, child], Value::Array(replies));

    let before = cpu_seconds();
    let clock = Instant::now();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (ending, turns) = runtime.block_on(async {
        let handle = gg_runtime::start(scenario.launch).await.unwrap();
        let summary = handle.join().await.unwrap();
        let turns: u64 = summary.profiles.iter().map(|sums| sums.turns).sum();
        (summary.ending, turns)
    });
    let cpu = cpu_seconds() - before;
    assert!(ending.is_good(), "{ending:?}");
    eprintln!("{turns} turns in {:.2} s", clock.elapsed().as_secs_f64());
    println!("{}", json!({ "cpu_s": cpu, "turns": turns, "peak_kb": peak_kb() }));
}

/// The CPU time of this process until now, in seconds, threads that have ended included. The kernel counts it in
/// hundredths.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // The name of the program comes before the last parenthesis, and may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = [11, 12].into_iter().map(|at: usize| fields[at].parse::<f64>().unwrap()).sum();
    ticks / 100.0
}

/// The most memory that this process ever had resident, in KiB.
fn peak_kb() -> u64 {
    let status = fs::read_to_string(Path::new("/proc/self/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
