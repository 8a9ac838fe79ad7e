//! `gg show`: a run from its record.

use crate::{
    amounts,
    args::RunsDir,
    exit::{Exit, Refusal},
    progress::{
        item::What,
        view::{RunEnd, View},
    },
    styled::{Line, Tone},
    summary,
    terminal::{self, Printer},
    transcript::Transcript,
};
use gg_core::{Live, ProfileId, Seq, text::glance};
use gg_store::{RunReader, RunStatus, StoreError};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

const EXAMPLES: &str = "\
Examples:
  gg show last                    what the latest run did, turn by turn
  gg show k3f9                    the run whose name ends so; the start of a name does too
  gg show last --transcript       every message, whole
  gg show last --json | jq -c 'select(.type == \"usage\")'";

/// The most of the prompt that the heading repeats, in characters.
const MAX_PROMPT_CHARS: usize = 200;

/// Show a run from its record: what it did, what was said, or its events
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run: its name as `gg runs` lists it, the start or the end of that, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    runs: RunsDir,
    /// Show every message whole
    #[arg(long, conflicts_with = "json")]
    transcript: bool,
    /// Print the run's events, one JSON object a line (`gg schema events`)
    #[arg(long)]
    json: bool,
}

/// Shows the run.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let dir = find(&args.runs.path()?, &args.run)?;
    let reader = RunReader::open(&dir).map_err(refuse)?;
    let mut out = Printer::new();
    if args.json {
        for event in reader.events_from(Seq(1)) {
            out.json(&event?)?;
        }
    } else {
        story(&reader, args.transcript, &mut out)?;
    }
    out.flush()?;
    Ok(Exit::Well)
}

fn find(runs_dir: &Path, wanted: &str) -> anyhow::Result<PathBuf> {
    if wanted != "last" {
        return gg_store::find_run(runs_dir, wanted).map_err(refuse);
    }
    match gg_store::list_runs(runs_dir, 1)?.into_iter().next() {
        Some(listed) => Ok(listed.dir),
        None => {
            let message = format!("there are no runs in {}", runs_dir.display());
            Err(Refusal::new(message, "make one with `gg run`, or name another folder: --runs DIR").into())
        }
    }
}

/// Naming another run mends some errors.
fn refuse(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::NoSuchRun { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::NotARun { .. }
        | StoreError::Newer { .. } => Refusal::plain(error.to_string()).into(),
        error => error.into(),
    }
}

/// What happened in the run, from its first event to how it stands.
fn story(reader: &RunReader, whole: bool, out: &mut Printer) -> anyhow::Result<()> {
    // Asked for first: what is recorded by then is shown below.
    let status = reader.status()?;
    out.lines(&heading(reader))?;
    let mut view = View::new(turn_limits(reader));
    let columns = terminal::stdout_columns();
    let mut transcript = Transcript::default();
    for event in reader.events_from(Seq(1)) {
        let event = Arc::new(event?);
        if whole {
            out.lines(&transcript.observe(&event))?;
        }
        for item in view.observe(&Live::Event(event), Duration::ZERO) {
            if !whole && !matches!(item.what, What::Started { .. }) {
                out.lines(&item.lines(columns))?;
            }
        }
    }
    out.line(&Line::new())?;
    match (&view.end, status) {
        (Some(end), _) => ending(&view, end, columns, out)?,
        (None, RunStatus::Running) => {
            out.line(&Line::new().with(Tone::Strong, "running").plain(so_far(&view)))?;
        }
        (None, _) => {
            let says = "interrupted: gg ended before the run did";
            out.line(&Line::new().with(Tone::Bad, says).plain(so_far(&view)))?;
        }
    }
    Ok(())
}

fn so_far(view: &View) -> String {
    let about = if view.estimated { "~" } else { "" };
    format!(" · {} so far", amounts::usage(&view.usage, about))
}

fn heading(reader: &RunReader) -> Vec<Line> {
    let started = reader.started();
    let row = |name: &str, value: String| Line::new().with(Tone::Faint, format!("  {name:<10}")).plain(value);
    vec![
        Line::new().with(Tone::Strong, "run ").with(Tone::Strong, started.id.as_str()),
        row("started", format!("{}, gg {}", amounts::time(started.started_ms), started.gg)),
        row("workspace", started.workspace.clone()),
        row("record", reader.dir().display().to_string()),
        row("prompt", glance(&started.prompt, MAX_PROMPT_CHARS)),
        Line::new(),
    ]
}

/// How many turns each profile may take; none where the configuration can no longer be read.
fn turn_limits(reader: &RunReader) -> BTreeMap<ProfileId, u32> {
    let Ok(meta) = reader.meta() else {
        return BTreeMap::new();
    };
    let limit = |profile: &Value| {
        let turns = profile["maxTurns"].as_u64().and_then(|turns| u32::try_from(turns).ok())?;
        Some((ProfileId::new(profile["id"].as_str()?), turns))
    };
    meta.config["agents"].as_array().into_iter().flatten().filter_map(limit).collect()
}

fn ending(view: &View, end: &RunEnd, columns: usize, out: &mut Printer) -> anyhow::Result<()> {
    out.line(&summary::line(view, end).fit(columns))?;
    if end.profiles.len() > 1 {
        out.lines(&summary::profiles(end))?;
    }
    if let Some(text) = end.ending.text().filter(|text| !text.trim().is_empty()) {
        out.line(&Line::new())?;
        for line in crate::clean::text(text).lines() {
            out.line(&Line::new().plain(line))?;
        }
    }
    if let gg_core::Ending::Finished { data: Some(data), .. } = &end.ending {
        out.line(&Line::new())?;
        for line in serde_json::to_string_pretty(data)?.lines() {
            out.line(&Line::new().with(Tone::Faint, line))?;
        }
    }
    Ok(())
}
