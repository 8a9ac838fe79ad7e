//! What modules cost, and whether strangers' modules can slow the others.
//!
//! `cargo xtask bench modules`. Times are wall time on whatever else the machine does, so compare the ratios.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot be made has to stop")]

use gg_core::{
    id::{AgentId, MessageId, Turn},
    message::Role,
    window::Entry,
};
use gg_modules::{Access, Component, Context, History, LentMessage, Messages, Module, Phase, Registry};
use gg_sandbox::{Sandbox, SandboxOptions};
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// The looping strangers.
const STRANGERS: usize = 4;

/// Turns of the agent whose latency is measured, in each round; three steps each.
const TURNS: usize = 2000;

/// Rounds without and with strangers, in turns, so that a change in the machine's load falls on both.
const ROUNDS: usize = 10;

/// Instances that are alive at once in the last measurement: about as many as Linux has mappings for.
const POPULATION: usize = 12_000;

struct Nothing;

impl Messages for Nothing {
    fn text(&self, _: MessageId, _: usize) -> Result<String, String> {
        Ok("nothing".into())
    }

    fn note(&self, _: String) -> Result<Entry, String> {
        Err("no notes here".into())
    }
}

fn main() {
    let runtime = Runtime::new().unwrap();
    let cache = tempfile::tempdir().unwrap();
    for how in ["without", "with"] {
        let start = Instant::now();
        drop(registry(Some(cache.path())));
        println!("start {how} compiled code in the cache: {:.1} ms", ms(start.elapsed()));
    }
    let registry = registry(Some(cache.path()));
    costs(&runtime, &registry);
    isolation(&runtime, &registry);
    population(&runtime, &registry);
}

fn registry(cache_dir: Option<&Path>) -> Registry {
    let options = SandboxOptions { cache_dir: cache_dir.map(Path::to_owned), ..SandboxOptions::default() };
    Registry::new(Sandbox::new(options).unwrap()).unwrap()
}

fn context(turn: u32) -> Context {
    Context {
        agent: AgentId::nth(1),
        turn: Turn(turn),
        now_ms: 1_700_000_000_000,
        access: Access::ReadWrite,
        phase: Phase::Now,
        salt: 1,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn message(id: u64, turn: u32) -> LentMessage {
    LentMessage::plain(Entry {
        id: MessageId(id),
        turn: Turn(turn),
        tokens: 100,
        calls: 0,
        pinned: false,
        role: Role::User,
    })
}

/// An agent's modules, as far as a step of its turn touches them.
struct Agent {
    tasks: Module,
    history: History,
    turn: u32,
}

impl Agent {
    async fn new(registry: &Registry) -> Self {
        let tasks = registry.builtin("tasks").unwrap();
        let history = registry.builtin("history").unwrap();
        let mut tasks = Module::open(&tasks, &json!({})).await.unwrap();
        let add = object(json!({ "title": "measure" }));
        for _ in 0..10 {
            tasks.call(&context(1), "add_task", &add).await.unwrap();
        }
        let history = History::open(&history, &json!({}), Arc::new(Nothing)).await.unwrap();
        Self { tasks, history, turn: 0 }
    }

    /// What one turn asks of its modules: a change of the tasks, the system prompt, and a message for the
    /// window. Each of them is a step, and adds how long it took.
    async fn turn(&mut self, taken: &mut Vec<Duration>) {
        self.turn += 1;
        let context = context(self.turn);
        let status = if self.turn.is_multiple_of(2) { "done" } else { "in_progress" };
        let update = object(json!({ "id": 1, "status": status }));
        let message = message(u64::from(self.turn), self.turn);

        let start = Instant::now();
        self.tasks.call(&context, "update_task", &update).await.unwrap();
        let called = Instant::now();
        self.tasks.prompt(&context).await.unwrap();
        let rendered = Instant::now();
        self.history.append(&context, vec![message]).await.unwrap();
        taken.extend([called - start, rendered - called, rendered.elapsed()]);
        // A window of a few hundred messages, as agents have.
        if self.turn.is_multiple_of(300) {
            self.history.reset(&context).await.unwrap();
        }
    }
}

fn costs(runtime: &Runtime, registry: &Registry) {
    let guest = stranger(registry);
    runtime.block_on(async {
        let tasks = registry.builtin("tasks").unwrap();
        let state = Agent::new(registry).await.tasks.state().clone();
        report("built-in: restore a hibernated module, one read", 2000, async || {
            let mut module = Module::restore(&tasks, state.clone()).await.unwrap();
            module.prompt(&context(1)).await.unwrap();
        })
        .await;
        let mut module = Module::restore(&tasks, state.clone()).await.unwrap();
        report("built-in: a read (prompt)", 20_000, async || {
            module.prompt(&context(1)).await.unwrap();
        })
        .await;
        let update = object(json!({ "id": 1, "status": "done" }));
        report("built-in: a change (update_task), state written out", 20_000, async || {
            module.call(&context(1), "update_task", &update).await.unwrap();
        })
        .await;
        let mut module = Module::open(&guest, &json!({})).await.unwrap();
        report("stranger: a read (prompt)", 5000, async || {
            module.prompt(&context(1)).await.unwrap();
        })
        .await;
        let mut agent = Agent::new(registry).await;
        let mut steps = Vec::new();
        report("built-in: a turn's three steps together", 5000, async || agent.turn(&mut steps).await).await;
    });
}

async fn report(what: &str, times: usize, mut work: impl AsyncFnMut()) {
    let mut taken = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        work().await;
        taken.push(start.elapsed());
    }
    let (p50, p99) = percentiles(&mut taken);
    println!("{what}: p50 {:.1} µs, p99 {:.1} µs", us(p50), us(p99));
}

fn stranger(registry: &Registry) -> Arc<Component> {
    let path = gg_tests::root().join("bin/guests/hostile.wasm");
    let bytes = fs::read(path).expect("`cargo xtask build` makes the guests");
    registry.load_bytes("hostile", &bytes, None).unwrap()
}

/// The latency of one agent's steps, alone and beside strangers that loop.
fn isolation(runtime: &Runtime, registry: &Registry) {
    let guest = stranger(registry);
    let mut agent = runtime.block_on(Agent::new(registry));
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        turns(runtime, &mut agent, &mut alone);
        let stop = Arc::new(AtomicBool::new(false));
        let loops: Vec<_> =
            (0..STRANGERS).map(|_| runtime.spawn(loop_until(guest.clone(), stop.clone()))).collect();
        // Let them get going.
        thread::sleep(Duration::from_millis(100));
        turns(runtime, &mut agent, &mut beside);
        stop.store(true, Ordering::Relaxed);
        for running in loops {
            // Dropped in the middle of a call, which is what cancelling an agent does.
            running.abort();
        }
    }
    let (alone_p50, alone_p99) = percentiles(&mut alone);
    let (beside_p50, beside_p99) = percentiles(&mut beside);
    println!("a step alone:                      p50 {:.1} µs, p99 {:.1} µs", us(alone_p50), us(alone_p99));
    println!(
        "a step beside {STRANGERS} looping strangers: p50 {:.1} µs, p99 {:.1} µs",
        us(beside_p50),
        us(beside_p99)
    );
    println!(
        "ratio of the p99s: {:.2} (goal: 2 or less)",
        beside_p99.as_secs_f64() / alone_p99.as_secs_f64()
    );
}

fn turns(runtime: &Runtime, agent: &mut Agent, taken: &mut Vec<Duration>) {
    runtime.block_on(async {
        for _ in 0..TURNS {
            agent.turn(taken).await;
        }
    });
}

async fn loop_until(component: Arc<Component>, stop: Arc<AtomicBool>) {
    let mut module = Module::open(&component, &json!({})).await.unwrap();
    let strike = object(json!({ "how": "loop" }));
    while !stop.load(Ordering::Relaxed) {
        // It ends at its deadline, every time.
        let _ = module.call(&context(1), "strike", &strike).await;
    }
}

/// As many live instances as a process may have, and what each of them takes.
fn population(runtime: &Runtime, registry: &Registry) {
    let tasks = registry.builtin("tasks").unwrap();
    let before = resident();
    let start = Instant::now();
    let modules: Vec<Module> = runtime.block_on(async {
        let mut modules = Vec::with_capacity(POPULATION);
        for _ in 0..POPULATION {
            modules.push(Module::open(&tasks, &json!({})).await.unwrap());
        }
        modules
    });
    let taken = start.elapsed();
    assert!(modules.iter().all(Module::is_live));
    let each = us(taken) / POPULATION as f64;
    println!("{POPULATION} live modules: {:.0} ms, {each:.1} µs each", ms(taken));
    if let (Some(before), Some(after)) = (before, resident()) {
        println!("resident memory: {:.1} KiB each", (after - before) as f64 / POPULATION as f64 / 1024.0);
    }
}

/// The process's resident memory in bytes, where the system says so.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn percentiles(taken: &mut [Duration]) -> (Duration, Duration) {
    taken.sort_unstable();
    let at = |share: f64| taken[((taken.len() - 1) as f64 * share) as usize];
    (at(0.50), at(0.99))
}

fn us(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
