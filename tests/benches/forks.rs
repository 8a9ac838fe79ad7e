//! What a fork costs: a copy of a short window, of a window of a million tokens, and 64 copies at once; beside the same
//! windows in LangGraph.
//!
//! `cargo xtask bench forks`. An agent whose window is filled forks in one turn, once or once more than the forks that
//! are measured; what the larger turn takes beyond the smaller is the forks', their calls and results included. The
//! copies stay queued and never run: each states its window when its first turn begins, and none of that is in the
//! figures. Each turn is measured in a process of its own, from the moment at which its reply is on record until its
//! copies are.
//!
//! Instructions are those of the whole process in user space. Many virtual machines do not count them: there they are
//! counted by single steps, in turns of fewer forks whose other figures do not matter. CPU time has the kernel's part in it, which is mostly the writing of the record. The bytes on record are
//! those of all rows that a fork adds, with the few by which its copy ends when the run is cancelled.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a measurement that cannot be made has to stop")]

use gg_core::{Event, Live, Turn};
use gg_sandbox::Limits;
use gg_tests::{
    Scenario,
    meter::{Meter, Spent},
    registry_with, steps,
    team::{call, fork, forker},
};
use rusqlite::Connection;
use serde_json::json;
use std::{
    collections::BTreeMap, env, fs::OpenOptions, path::Path, process::Command, sync::Arc, time::Duration,
};
use tokio::task::JoinSet;

/// The windows, by their messages, and how many forks of each are measured at once.
const CASES: [(usize, usize); 3] = [(4, 32), (4000, 32), (400, 64)];

/// The forks by which the memory of a copy is measured: enough that what the process had free before does not matter.
const MANY: usize = 256;

/// The forks whose single steps are counted.
const STEPPED: usize = 3;

/// The word after a job's numbers where its single steps are counted.
const BY_STEPS: &str = "steps";

/// The time for what a module does: enough where it takes single steps.
const DEADLINE: Duration = Duration::from_secs(600);

/// The text of one message, in bytes: about 250 tokens.
const TEXT_BYTES: usize = 738;

/// How often each is measured; the medians are printed.
const ROUNDS: usize = 3;

/// What a message may add to the record with a fork of the largest window, in bytes.
const BYTES_GOAL: f64 = 24.0;

/// How many times the instructions of a fork of the smallest window one of the largest may take.
const INSTRUCTIONS_GOAL: f64 = 3.0;

/// The variable that names the Python to run the peer with; `cargo xtask bench` sets it.
const PYTHON: &str = "GG_BENCH_PYTHON";

/// What forks cost: all those of a turn, or one.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Cost {
    /// Nothing where the system does not count them.
    instructions: Option<f64>,
    cpu_us: f64,
    resident: f64,
    /// Of the record.
    record_bytes: f64,
    /// Of one copy's history in the record.
    state_bytes: f64,
}

fn main() {
    let arguments: Vec<String> = env::args().skip_while(|argument| argument != "--job").skip(1).collect();
    if let [messages, forks, by @ ..] = &arguments[..] {
        let meter = Meter::open();
        let stepped = by.iter().any(|word| word == BY_STEPS);
        let cost = job(meter, messages.parse().unwrap(), forks.parse().unwrap(), stepped);
        println!("{}", serde_json::to_string(&cost).unwrap());
        return;
    }
    let mut costs: BTreeMap<usize, Cost> =
        CASES.into_iter().map(|(messages, forks)| (messages, one_fork(messages, forks))).collect();
    let counted = count_where_missing(&mut costs);
    for (messages, forks) in CASES {
        show(messages, forks, costs[&messages], &counted);
    }
    goals(costs[&4], costs[&4000], &counted);
    compare(&costs);
}

/// Counts the instructions where the system has not, and says how they were counted.
fn count_where_missing(costs: &mut BTreeMap<usize, Cost>) -> String {
    let mut counted = "the system's counter".to_owned();
    for (messages, cost) in costs {
        if cost.instructions.is_none() {
            cost.instructions = Some(steps_of_one(*messages));
            counted = format!("single steps, {STEPPED} forks");
        }
    }
    counted
}

/// What one of so many forks costs.
fn one_fork(messages: usize, forks: usize) -> Cost {
    let rounds: Vec<Cost> = (0..ROUNDS)
        .map(|_| {
            let (one, more) = (run(messages, 1), run(messages, 1 + forks));
            let each = |of: fn(&Cost) -> f64| (of(&more) - of(&one)) / forks as f64;
            Cost {
                instructions: more.instructions.map(|_| each(|cost| cost.instructions.unwrap_or_default())),
                cpu_us: each(|cost| cost.cpu_us),
                resident: each(|cost| cost.resident),
                record_bytes: each(|cost| cost.record_bytes),
                state_bytes: more.state_bytes,
            }
        })
        .collect();
    let median = |of: &dyn Fn(&Cost) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[ROUNDS / 2]
    };
    Cost {
        instructions: rounds[0].instructions.map(|_| median(&|cost| cost.instructions.unwrap_or_default())),
        cpu_us: median(&|cost| cost.cpu_us),
        resident: median(&|cost| cost.resident),
        record_bytes: median(&|cost| cost.record_bytes),
        state_bytes: median(&|cost| cost.state_bytes),
    }
}

/// The instructions of one fork, by single steps.
fn steps_of_one(messages: usize) -> f64 {
    let [one, more] = [1, 1 + STEPPED].map(|forks| steps::count(apart(messages, forks).arg(BY_STEPS)) as f64);
    (more - one) / STEPPED as f64
}

/// A process that measures one turn.
fn apart(messages: usize, forks: usize) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg("--job").args([messages, forks].map(|n| n.to_string()));
    command
}

/// Measures one turn, in a process of its own.
fn run(messages: usize, forks: usize) -> Cost {
    let output = apart(messages, forks).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn show(messages: usize, forks: usize, cost: Cost, counted: &str) {
    println!(
        "a fork of {messages} messages, {} tokens ({forks} measured): {:.0} us CPU",
        messages * 250,
        cost.cpu_us
    );
    let instructions = cost.instructions.unwrap() / 1e3;
    println!("    {instructions:.0} thousand instructions ({counted})");
    println!(
        "    on record {:.0} bytes, of which the history has {:.0}",
        cost.record_bytes, cost.state_bytes
    );
}

/// The figures that have goals.
fn goals(short: Cost, long: Cost, counted: &str) {
    let messages = 4000.0;
    let bytes = long.state_bytes / messages;
    println!("on record, 4,000 messages: {bytes:.1} bytes a message (goal: at most {BYTES_GOAL})");
    let whole = (long.record_bytes - short.record_bytes) / (messages - 4.0);
    println!("    all rows that a fork adds: {whole:.1}");
    let resident = |messages| one_fork(messages, MANY).resident;
    let in_memory = (resident(4000) - resident(4)) / (messages - 4.0);
    println!("    in memory, while it is queued: {in_memory:.1}");
    let ratio = long.instructions.unwrap() / short.instructions.unwrap();
    println!(
        "4,000 messages / 4 messages: {ratio:.2} times the instructions (goal: at most {INSTRUCTIONS_GOAL}; {counted})"
    );
    println!("    {:.2} times the CPU time", long.cpu_us / short.cpu_us);
}

/// The same windows in LangGraph.
fn compare(costs: &BTreeMap<usize, Cost>) {
    let Some(python) = env::var_os(PYTHON) else {
        println!("{PYTHON} is not set: no peer was run. Use `cargo xtask bench forks`.");
        return;
    };
    let script = gg_tests::package().join("benches/peers/langgraph_forks.py");
    let cases = CASES.map(|(messages, forks)| format!("{messages}:{forks}"));
    let peer = || -> Vec<f64> {
        let mut command = Command::new(&python);
        let output = command.arg(&script).arg(TEXT_BYTES.to_string()).args(&cases).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let rounds: Vec<Vec<f64>> = (0..ROUNDS).map(|_| peer()).collect();
    for (case, (messages, _)) in CASES.into_iter().enumerate() {
        let mut all: Vec<f64> = rounds.iter().map(|round| round[case]).collect();
        all.sort_by(f64::total_cmp);
        let (peer, gg) = (all[ROUNDS / 2], costs[&messages].cpu_us);
        println!(
            "{messages} messages: LangGraph {peer:.0} us CPU a fork, in memory; gg {gg:.0}, on disk: {:.1} times",
            peer / gg
        );
    }
}

/// One turn with so many forks, of a window with so many messages.
fn job(meter: Meter, messages: usize, forks: usize, stepped: bool) -> Cost {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(measure(meter, messages, forks, stepped))
}

async fn measure(mut meter: Meter, messages: usize, forks: usize, stepped: bool) -> Cost {
    // Each command lasts until the gate that it reads is opened and shut. The first turn waits for the messages; the
    // second's forks come to be after its command.
    let held = |gate: &str| call("run_command", json!({ "command": format!("cat {gate}") }));
    let copies = (0..forks).map(|n| fork(&format!("Do part {n}.")));
    let replies = json!([
        { "agent": "root", "turn": 1, "calls": [held("fill")] },
        { "agent": "root", "turn": 2, "calls": std::iter::once(held("fork")).chain(copies).collect::<Vec<_>>() },
        { "agent": "root", "turn": 3, "text": "done", "delayMs": 600_000 },
    ]);
    let mut root = forker("root", &[("shell", json!({}))]);
    root["model"]["contextWindow"] = json!(10_000_000);
    let limits = Limits { hook_deadline: DEADLINE, call_deadline: DEADLINE, ..Limits::default() };
    let configuration = json!({ "maxParallel": 1, "agents": [root] });
    let scenario = Scenario::scripted_with(&configuration, &replies, &registry_with(limits));
    let gate = |name: &str| scenario.workspace.join(name);
    for name in ["fill", "fork"] {
        assert!(Command::new("mkfifo").arg(gate(name)).status().unwrap().success());
    }
    let (fill, fork) = (gate("fill"), gate("fork"));

    let handle = gg_runtime::start(scenario.launch).await.unwrap();
    let dir = handle.dir().to_owned();
    let mut seen = handle.subscribe(100_000);
    let mut next = async || match seen.recv().await {
        Some(Live::Event(recorded)) => recorded.event.clone(),
        Some(Live::Missed(_)) | None => panic!("the run ended, or was not read in time"),
        Some(_) => Event::TurnStarted { turn: Turn(0) },
    };
    let is_held =
        |event: &Event| matches!(event, Event::Call { turn: Turn(2), name, .. } if name == "run_command");
    // There is a reader once the first turn's command runs, and that turn has read the inbox.
    let gate = OpenOptions::new().write(true).open(&fill).unwrap();
    let handle = Arc::new(handle);
    let mut sending = JoinSet::new();
    for n in 0..messages {
        let handle = handle.clone();
        sending.spawn(async move {
            let text = format!("{n:06} ");
            assert!(handle.send(&format!("{text:x<TEXT_BYTES$}")).await.unwrap());
        });
    }
    sending.join_all().await;
    drop(gate);

    while !is_held(&next().await) {}
    let before = meter.read();
    if stepped {
        steps::begin();
    }
    drop(OpenOptions::new().write(true).open(&fork).unwrap());
    let mut copied = 0;
    while copied < forks {
        copied += usize::from(matches!(next().await, Event::AgentTransition { .. }));
    }
    if stepped {
        steps::end();
    }
    let spent = meter.read().since(before);
    handle.cancel("measured");
    Arc::into_inner(handle).unwrap().join().await.unwrap();
    let (record_bytes, state_bytes) = on_record(&dir);
    let Spent { instructions, cpu_us, resident } = spent;
    Cost { instructions, cpu_us, resident, record_bytes, state_bytes }
}

/// The bytes of all rows of the record, and of the first copy's history among them.
fn on_record(dir: &Path) -> (f64, f64) {
    let database = Connection::open(dir.join("run.db")).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = database.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let number = |sql: &str| -> f64 { database.query_row(sql, [], |row| row.get(0)).unwrap() };
    let bytes = texts("SELECT name FROM sqlite_schema WHERE type = 'table'").into_iter().map(|table| {
        let columns = texts(&format!("SELECT name FROM pragma_table_info('{table}')"));
        let lengths: Vec<String> =
            columns.iter().map(|column| format!("total(length(CAST({column} AS BLOB)))")).collect();
        number(&format!("SELECT {} FROM {table}", lengths.join(" + ")))
    });
    let state = "SELECT CAST(length(state) AS REAL) FROM modules JOIN holds ON module = id \
                 WHERE agent = 'a2' AND modules.kind = 'history'";
    (bytes.sum(), number(state))
}
