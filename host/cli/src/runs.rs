//! `gg runs`: what runs there are.

use crate::{
    amounts,
    args::RunsDir,
    exit::Exit,
    styled::{Line, Tone},
    terminal::{self, Printer},
};
use gg_core::{Ending, Outcome, text::glance};
use gg_store::{Listed, RunStatus, RunSummary};
use serde_json::{Value, json};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  gg runs
  gg runs --newest 200 --json | jq -r 'select(.status == \"interrupted\") | .run'";

/// The most characters of a prompt; a terminal cuts further.
const MAX_PROMPT_CHARS: usize = 120;

/// List the runs on record, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    runs: RunsDir,
    /// How many to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    newest: usize,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// Lists the runs.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let runs_dir = args.runs.path()?;
    let listed = gg_store::list_runs(&runs_dir, args.newest)?;
    let mut out = Printer::new();
    if args.json {
        for run in &listed {
            out.json(&as_json(run))?;
        }
    } else if listed.is_empty() {
        let says = format!("no runs in {}; `gg run` makes one", runs_dir.display());
        terminal::say(&Line::new().plain(says), terminal::stderr_colour());
    } else {
        let columns = terminal::stdout_columns();
        for run in &listed {
            out.line(&as_line(run).fit(columns))?;
        }
    }
    out.flush()?;
    Ok(Exit::Well)
}

fn as_line(run: &Listed) -> Line {
    let line = Line::new().with(Tone::Name, run.id.as_str()).plain("  ");
    let summary = match &run.summary {
        Ok(summary) => summary,
        Err(error) => return line.with(Tone::Bad, format!("{:<12}", "unreadable")).plain(error.to_string()),
    };
    let (tone, word) = status(&summary.status);
    let time = match &summary.status {
        RunStatus::Ended { elapsed_ms, .. } => amounts::elapsed(Duration::from_millis(*elapsed_ms)),
        RunStatus::Running | RunStatus::Interrupted => String::new(),
    };
    let cost = summary.cost.map_or_else(String::new, |cost| format!("cost {}", amounts::cost(cost)));
    line.with(tone, format!("{word:<12}"))
        .plain(format!("{time:>11}  {:>7} tokens  ", amounts::tokens(tokens(summary))))
        .plain(format!("{cost:<13}"))
        .plain(glance(&summary.started.prompt, MAX_PROMPT_CHARS))
}

fn tokens(summary: &RunSummary) -> u64 {
    summary.usage.input.saturating_add(summary.usage.output)
}

fn status(status: &RunStatus) -> (Tone, &'static str) {
    match status {
        RunStatus::Running => (Tone::Strong, "running"),
        RunStatus::Interrupted => (Tone::Warn, "interrupted"),
        RunStatus::Ended { ending, .. } => match ending {
            Ending::Text { .. } | Ending::Finished { outcome: Outcome::Success, .. } => (Tone::Good, "well"),
            Ending::Finished { outcome: Outcome::Failure, .. } => (Tone::Bad, "failure"),
            Ending::TurnLimit { .. } => (Tone::Bad, "turn limit"),
            Ending::Budget { .. } => (Tone::Bad, "budget"),
            Ending::Loop { .. } => (Tone::Bad, "loop"),
            Ending::Cancelled { .. } => (Tone::Warn, "cancelled"),
            Ending::Failed { .. } => (Tone::Bad, "failed"),
        },
    }
}

fn as_json(run: &Listed) -> Value {
    let summary = match &run.summary {
        Ok(summary) => summary,
        Err(error) => return json!({ "run": run.id, "dir": run.dir, "error": error.to_string() }),
    };
    let (status, ending, elapsed_ms) = match &summary.status {
        RunStatus::Running => ("running", None, None),
        RunStatus::Interrupted => ("interrupted", None, None),
        RunStatus::Ended { ending, elapsed_ms } => ("ended", Some(ending), Some(elapsed_ms)),
    };
    let started = &summary.started;
    let mut value = json!({
        "run": run.id,
        "dir": run.dir,
        "started_ms": started.started_ms,
        "status": status,
        "root": started.root,
        "prompt": started.prompt,
        "workspace": started.workspace,
        "agents": summary.agents,
        "events": summary.last_seq,
        "usage": summary.usage,
    });
    let known = [
        ("ending", ending.map(|ending| json!(ending))),
        ("elapsed_ms", elapsed_ms.map(|ms| json!(ms))),
        ("cost", summary.cost.map(|cost| json!(cost))),
    ];
    for (key, fact) in known {
        if let Some(fact) = fact {
            value[key] = fact;
        }
    }
    value
}
