//! `gg show`: a run from its record.

mod telling;

use crate::{
    amounts,
    args::RunsDir,
    exit::{Exit, Refusal},
    progress::{
        fold::{Entry, Folded, fold},
        incarnations::{chain, spent},
        plan::Plan,
        table::{Style, Tense, names, table},
        tree::RowId,
        view::{RunEnd, View},
    },
    styled::{Line, Tone},
    summary,
    terminal::{self, Printer},
};
use gg_core::{AgentId, Ending, Live, Seq, text::glance};
use gg_store::{RunReader, RunStatus, StoreError};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use telling::{Telling, Told};

const EXAMPLES: &str = "\
Examples:
  gg show last                     the latest run's agents; of a single one also what it did
  gg show k3f9                     the run whose name ends so; the start of a name does too
  gg show last --agent a3          all that one agent said and was told
  gg show last --agent a3 --turns  what it did, a line for each step
  gg show last --transcript        every message of every agent, whole
  gg show last --json | jq -c 'select(.type == \"usage\")'";

/// The most of the prompt that the heading repeats, in characters.
const MAX_PROMPT_CHARS: usize = 200;

/// The most lines of a tree, unless all are asked for: about as many as somebody scrolls through.
const MAX_TREE_LINES: usize = 200;

/// How many of an agent's children are named.
const MAX_CHILDREN: usize = 20;

/// Show a run from its record: its agents, what they did and said, or its events
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run: its name as `gg runs` lists it, the start or the end of that, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    runs: RunsDir,
    /// Show one agent alone: its transcript, or with --turns what it did
    #[arg(long, value_name = "ID", conflicts_with = "json")]
    agent: Option<String>,
    /// Show what agents did, turn by turn: a line for each call and reply
    #[arg(long, conflicts_with_all = ["json", "transcript"])]
    turns: bool,
    /// Show every message whole
    #[arg(long, conflicts_with = "json")]
    transcript: bool,
    /// Show a row for each agent, however many there are
    #[arg(long, conflicts_with_all = ["json", "agent"])]
    all: bool,
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
        Shown::read(&reader, terminal::stdout_columns())?.print(args, &mut out)?;
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

/// A run as its record has it now.
struct Shown<'a> {
    reader: &'a RunReader,
    /// How wide lines may be.
    columns: usize,
    view: View,
    status: RunStatus,
    /// The last event that was read.
    last: Seq,
    /// How long the run has taken.
    elapsed: Duration,
}

impl<'a> Shown<'a> {
    fn read(reader: &'a RunReader, columns: usize) -> anyhow::Result<Self> {
        // Asked for first: what is recorded by then is read below.
        let status = reader.status()?;
        let plan = reader.meta().map(|meta| Plan::of_record(&meta.config)).unwrap_or_default();
        let (mut view, mut last, mut elapsed) = (View::new(plan), Seq(0), Duration::ZERO);
        for event in reader.events_from(Seq(1)) {
            let event = event?;
            (last, elapsed) = (event.seq, since_start(reader, event.time_ms));
            view.observe(&Live::Event(Arc::new(event)), elapsed);
        }
        if status == RunStatus::Running {
            let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
            elapsed = elapsed.max(since_start(reader, now));
        }
        Ok(Self { reader, columns, view, status, last, elapsed })
    }

    fn print(&self, args: &Args, out: &mut Printer<'_>) -> anyhow::Result<()> {
        match &args.agent {
            Some(id) => self.print_agent(&AgentId::new(id), args, out),
            None => self.print_run(args, out),
        }
    }

    fn print_run(&self, args: &Args, out: &mut Printer<'_>) -> anyhow::Result<()> {
        let is_alone = self.view.tree().len() == 1;
        let told = match (args.transcript, args.turns || is_alone) {
            (true, _) => Told::Whole,
            (false, true) => Told::Turns,
            (false, false) => Told::Nothing,
        };
        out.lines(&heading(self.reader))?;
        let lines = fold(self.view.tree(), if args.all { usize::MAX } else { MAX_TREE_LINES });
        out.lines(&self.table(&lines))?;
        out.lines(&self.chains(&lines, args.all))?;
        out.lines(&hints(&lines, told))?;
        if is_alone {
            let root = self.view.tree().roots().first();
            out.lines(&root.map(|root| self.spent(*root, None, args.all)).unwrap_or_default())?;
        }
        out.line(&Line::new())?;
        if told != Told::Nothing {
            self.tell(told, None, out)?;
            out.line(&Line::new())?;
        }
        self.print_ending(out)
    }

    fn print_agent(&self, id: &AgentId, args: &Args, out: &mut Printer<'_>) -> anyhow::Result<()> {
        let Some(row) = self.view.tree().find(id) else {
            let run = &self.reader.started().id;
            let message = format!("the run {run} has no agent {:?}", id.as_str());
            return Err(Refusal::new(message, format!("gg show {run} --all lists its agents")).into());
        };
        out.lines(&heading(self.reader))?;
        let lines = [Folded { rails: Default::default(), entry: Entry::Row(row) }];
        out.lines(&self.table(&lines))?;
        out.lines(&self.chains(&lines, false))?;
        out.lines(&self.relatives(row))?;
        out.lines(&self.spent(row, Some(id), false))?;
        out.line(&Line::new())?;
        let told = if args.turns { Told::Turns } else { Told::Whole };
        if let Some(ending) = self.tell(told, Some(id), out)? {
            let tone = if ending.is_good() { Tone::Good } else { Tone::Bad };
            out.line(&Line::new())?;
            out.line(&Line::new().with(tone, ending.sentence()))?;
            print_result(&ending, out)?;
        }
        Ok(())
    }

    fn style(&self) -> Style {
        let tense = if self.status == RunStatus::Running { Tense::Now } else { Tense::Then };
        Style { columns: self.columns, now: self.elapsed, tense, headed: true }
    }

    fn table(&self, lines: &[Folded]) -> Vec<Line> {
        table(self.view.tree(), lines, self.style())
    }

    /// What the agents of a table were before, if anything else.
    fn chains(&self, lines: &[Folded], all: bool) -> Vec<Line> {
        let tree = self.view.tree();
        let rows = lines.iter().filter_map(|line| match line.entry {
            Entry::Row(row) => Some(tree.row(row)),
            Entry::More(_) => None,
        });
        rows.flat_map(|row| chain(&row.agent.lineage, self.columns, all)).collect()
    }

    /// What each incarnation of an agent used, if there are several.
    fn spent(&self, row: RowId, marked: Option<&AgentId>, all: bool) -> Vec<Line> {
        let lines = spent(&self.view.tree().row(row).agent, marked, self.style(), all);
        let gap = (!lines.is_empty()).then(Line::new);
        gap.into_iter().chain(lines).collect()
    }

    /// Whom an agent worked for, and who for it.
    fn relatives(&self, row: RowId) -> Vec<Line> {
        let tree = self.view.tree();
        let row = tree.row(row);
        let parent = row.parent.map(|parent| format!("  put to work by {}", names(tree, 1, &[parent])));
        let first = &row.children[..row.children.len().min(MAX_CHILDREN)];
        let children =
            (!first.is_empty()).then(|| format!("  put {} to work", names(tree, row.children.len(), first)));
        parent.into_iter().chain(children).map(|text| Line::new().with(Tone::Faint, text)).collect()
    }

    /// Tells what agents did, or one of them, and how that one ended.
    fn tell(
        &self,
        told: Told,
        only: Option<&AgentId>,
        out: &mut Printer<'_>,
    ) -> anyhow::Result<Option<Ending>> {
        let mut telling = Telling::new(&self.view, told, only, self.columns);
        for event in self.reader.events_from(Seq(1)) {
            let event = event?;
            if event.seq > self.last {
                break;
            }
            out.lines(&telling.observe(event))?;
        }
        let (lines, ending) = telling.finish();
        out.lines(&lines)?;
        Ok(ending)
    }

    fn print_ending(&self, out: &mut Printer<'_>) -> anyhow::Result<()> {
        match (&self.view.end, &self.status) {
            (Some(end), _) => self.print_end(end, out),
            (None, RunStatus::Running) => {
                let line = Line::new().with(Tone::Strong, "running").plain(self.so_far());
                out.line(&line)?;
                let waiting = self.view.waiting();
                Ok(out.lines(&waiting.map(|says| Line::new().with(Tone::Warn, says)))?)
            }
            (None, _) => {
                let says = "interrupted: gg ended before the run did";
                Ok(out.line(&Line::new().with(Tone::Bad, says).plain(self.so_far()))?)
            }
        }
    }

    fn print_end(&self, end: &RunEnd, out: &mut Printer<'_>) -> anyhow::Result<()> {
        out.line(&summary::line(&self.view, end).fit(self.columns))?;
        if end.profiles.len() > 1 {
            out.lines(&summary::profiles(&self.view, end))?;
        }
        print_result(&end.ending, out)
    }

    fn so_far(&self) -> String {
        let about = if self.view.estimated { "~" } else { "" };
        let cost =
            self.view.cost.map_or_else(String::new, |cost| format!(" · cost {about}{}", amounts::cost(cost)));
        format!(
            " · {} · {}{cost} · {} so far",
            amounts::count(self.view.tree().all().used.turns, "turn", "turns"),
            amounts::usage(&self.view.usage, about),
            amounts::elapsed(self.elapsed),
        )
    }
}

fn since_start(reader: &RunReader, time_ms: u64) -> Duration {
    Duration::from_millis(time_ms.saturating_sub(reader.started().started_ms))
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

/// What the tree does not show, and how to see it.
fn hints(lines: &[Folded], told: Told) -> Vec<Line> {
    let is_folded = lines.iter().any(|line| matches!(line.entry, Entry::More(_)));
    let folded = is_folded.then_some("  --all has a row for each agent").into_iter();
    let untold = [
        "  --agent ID has one agent's transcript",
        "  --turns has what all of them did, --transcript all that was said",
    ];
    let untold = untold.into_iter().filter(|_| told == Told::Nothing);
    folded.chain(untold).map(|hint| Line::new().with(Tone::Faint, hint)).collect()
}

/// What an agent's work came to.
fn print_result(ending: &Ending, out: &mut Printer<'_>) -> anyhow::Result<()> {
    if let Some(text) = ending.text().filter(|text| !text.trim().is_empty()) {
        out.line(&Line::new())?;
        for line in crate::clean::text(text).lines() {
            out.line(&Line::new().plain(line))?;
        }
    }
    if let Ending::Finished { data: Some(data), .. } = ending {
        out.line(&Line::new())?;
        for line in serde_json::to_string_pretty(data)?.lines() {
            out.line(&Line::new().with(Tone::Faint, line))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
