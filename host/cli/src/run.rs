//! `gg run`: one run, shown while it goes on.

use crate::{
    exit::{Exit, Refusal, is_broken_pipe},
    feed::{self, Feed},
    launch::{self, Checked},
    progress::{
        Progress, Show,
        area::WHEEL_STEP,
        plan::Plan,
        view::{RunEnd, View},
    },
    refusals, signals,
    styled::{Line, Tone},
    summary,
    terminal::{self, Printer},
};
use anyhow::Context;
use clap::ValueHint;
use gg_core::Live;
use gg_runtime::{Launch, RunError, RunHandle, RunSummary};
use std::{
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
    pin::{Pin, pin},
};
use tokio::{
    sync::oneshot,
    time::{MissedTickBehavior, interval},
};

const EXAMPLES: &str = "\
Examples:
  gg run agents.jsonc \"What does this project do?\"
  gg run agents.jsonc --workspace ~/src/site \"Fix the broken links\"
  gg run agents.jsonc < task.md > result.md
  gg run agents.jsonc \"…\" --json | jq -r 'select(.type == \"call\").name'
  gg run agents.jsonc \"…\" --record exchange.jsonl   for the api \"replay\"

On a terminal gg shows what the agents do while they do it. The root agent's final text goes to stdout, all \
else to stderr. Ctrl-C ends the run cleanly, and it stays on record (gg show last); a second one exits at once.";

/// The longest prompt that is read from a pipe, in bytes: more than any model's window.
const MAX_PROMPT_BYTES: u64 = 16 * 1024 * 1024;

/// Run a configuration's first agent on a prompt
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The configuration
    #[arg(value_name = "CONFIG", value_hint = ValueHint::FilePath)]
    config: PathBuf,
    /// What the agent is asked for [default: what is piped in]
    #[arg(value_name = "PROMPT", value_hint = ValueHint::Other)]
    prompt: Option<String>,
    /// The folder that the agents' file calls work in, and cannot leave [default: the working directory]
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true, value_hint = ValueHint::DirPath)]
    workspace: PathBuf,
    #[command(flatten)]
    runs: crate::args::RunsDir,
    /// Print every event on stdout, one JSON object a line (`gg schema events`)
    #[arg(long)]
    json: bool,
    /// Record every exchange with model servers in FILE, to be played back by the api "replay"
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    record: Option<PathBuf>,
    /// Show nothing of the run but its result, and what went wrong
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
}

impl Args {
    fn show(&self) -> Show {
        if self.json || self.quiet {
            Show::Nothing
        } else if terminal::stderr_is_live() {
            Show::Live
        } else {
            Show::Lines
        }
    }
}

/// Carries out a run.
pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    let prompt = prompt(args.prompt.as_deref())?;
    let workspace = workspace(&args.workspace)?;
    let runs_dir = args.runs.path()?;
    let clean = match launch::check(&args.config)? {
        Checked::Clean(clean) => *clean,
        Checked::Refused { name, text, refusals } => {
            refusals::print(&name, &text, &refusals);
            return Ok(Exit::Refused);
        }
    };
    if clean.configuration.agents.iter().any(|profile| profile.workspace().is_some()) {
        keep_apart(&workspace, &runs_dir)?;
    }
    let plan = Plan::of(&clean.configuration);
    let launch = Launch {
        configuration: clean.configuration,
        components: clean.components,
        base: clean.base,
        workspace,
        runs_dir,
        prompt,
        record: args.record.clone(),
        observer: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start gg's threads")?;
    let outcome = runtime.block_on(drive(launch, &args, plan));
    // A thread that is stuck in a file system must not keep gg from ending.
    runtime.shutdown_background();
    outcome
}

/// The argument, else what is piped in.
fn prompt(argument: Option<&str>) -> anyhow::Result<String> {
    const HELP: &str = "give it as the second argument, or pipe it in:\n  \
                        gg run CONFIG \"what to do\"\n  gg run CONFIG < task.md";
    let prompt = match argument {
        Some(text) => text.to_owned(),
        None if io::stdin().is_terminal() => return Err(Refusal::new("there is no prompt", HELP).into()),
        None => piped()?,
    };
    if prompt.trim().is_empty() {
        return Err(Refusal::new("the prompt is empty", HELP).into());
    }
    Ok(prompt)
}

fn piped() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin()
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes)
        .context("cannot read the prompt from stdin")?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        let message = format!("the prompt on stdin is longer than {MAX_PROMPT_BYTES} bytes");
        return Err(Refusal::new(message, "put long material into files of the workspace").into());
    }
    String::from_utf8(bytes).map_err(|_| {
        Refusal::new("the prompt on stdin is not UTF-8 text", "pipe text, encoded as UTF-8").into()
    })
}

/// The workspace's root, as a path that means the same everywhere.
fn workspace(dir: &Path) -> anyhow::Result<PathBuf> {
    let help = "name a folder that exists: --workspace DIR";
    let root = dir.canonicalize().map_err(|error| {
        Refusal::new(format!("cannot use the workspace {}: {error}", dir.display()), help)
    })?;
    if !root.is_dir() {
        return Err(Refusal::new(format!("the workspace {} is not a folder", dir.display()), help).into());
    }
    Ok(root)
}

/// Refuses a runs folder inside the workspace: no agent may reach the record of what it does.
fn keep_apart(workspace: &Path, runs_dir: &Path) -> anyhow::Result<()> {
    let runs_dir = std::path::absolute(runs_dir).context("cannot find the runs folder")?;
    // What does not exist yet will be made below what does.
    let place = runs_dir.ancestors().find_map(|folder| folder.canonicalize().ok());
    if place.is_none_or(|place| !place.starts_with(workspace)) {
        return Ok(());
    }
    let message = format!(
        "the runs folder {} lies inside the workspace {}, where an agent could change its own record",
        runs_dir.display(),
        workspace.display()
    );
    Err(Refusal::new(
        message,
        "name a smaller workspace (--workspace DIR) or another runs folder (--runs DIR)",
    )
    .into())
}

/// Starts the run, shows it, and says how it ended.
async fn drive(launch: Launch, args: &Args, plan: Plan) -> anyhow::Result<Exit> {
    let mut interrupt = signals::first()?;
    let handle = tokio::select! {
        started = gg_runtime::start(launch) => started.map_err(|error| Refusal::plain(error.to_string()))?,
        _ = &mut interrupt => return Ok(Exit::Interrupted),
    };
    let run = handle.run_id().clone();
    let dir = handle.dir().to_owned();
    let mut watch = Watch::new(&handle, args, plan);
    let failed = watch.until_the_end(handle, interrupt).await.err();
    let Watch { progress, was_interrupted, .. } = watch;
    let view = progress.close();
    if let Some(error) = failed {
        return Err(error.context(format!(
            "the run {run} stopped without an ending; its record is in {}",
            dir.display()
        )));
    }
    let Some(end) = view.end.clone() else {
        anyhow::bail!("the run {run} has no last event; its record is in {}", dir.display());
    };
    conclude(args, &view, &end, &dir, run.as_str())?;
    Ok(match (end.ending.is_good(), was_interrupted) {
        (true, _) => Exit::Well,
        (false, true) => Exit::Interrupted,
        (false, false) => Exit::NotWell,
    })
}

/// Ends the run that is being watched, for this reason.
type Cancel<'a> = &'a dyn Fn(&str);

/// A run and those who watch it.
struct Watch<'a> {
    args: &'a Args,
    feed: Feed,
    progress: Progress,
    was_interrupted: bool,
    /// Why no more events are printed.
    unread: Option<anyhow::Error>,
}

impl<'a> Watch<'a> {
    fn new(handle: &RunHandle, args: &'a Args, plan: Plan) -> Self {
        Self {
            args,
            feed: Feed::new(handle.subscribe(feed::CAPACITY), handle.dir()),
            progress: Progress::new(args.show(), plan),
            was_interrupted: false,
            unread: None,
        }
    }

    /// Shows the run until it is over and everything was shown. Whatever fails here ends the run first.
    async fn until_the_end(
        &mut self,
        handle: RunHandle,
        interrupt: oneshot::Receiver<&'static str>,
    ) -> anyhow::Result<()> {
        let canceller = handle.canceller();
        let cancel = |reason: &str| canceller.cancel(reason);
        let mut join = pin!(handle.join());
        let mut summary = None;
        let shown = self.show_all(&cancel, &mut join, &mut summary, interrupt).await;
        if shown.is_err() {
            cancel("its events cannot be read back from its record");
        }
        match summary {
            Some(summary) => summary?,
            None => join.await?,
        };
        shown?;
        match self.unread.take() {
            Some(error) if !is_broken_pipe(&error) => Err(error.context("cannot write the events to stdout")),
            _ => Ok(()),
        }
    }

    async fn show_all(
        &mut self,
        cancel: Cancel<'_>,
        join: &mut Pin<&mut impl Future<Output = Result<RunSummary, RunError>>>,
        summary: &mut Option<Result<RunSummary, RunError>>,
        mut interrupt: oneshot::Receiver<&'static str>,
    ) -> anyhow::Result<()> {
        let mut tick = interval(WHEEL_STEP);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                item = self.feed.next() => match item? {
                    Some(item) => self.show(&item, cancel),
                    None => return Ok(()),
                },
                ended = join.as_mut(), if summary.is_none() => {
                    let failed = ended.is_err();
                    *summary = Some(ended);
                    // Its record may never be closed then, so there may be no end to wait for.
                    if failed {
                        return Ok(());
                    }
                }
                signal = &mut interrupt, if !self.was_interrupted => {
                    self.interrupt(signal.unwrap_or("a signal"), cancel);
                }
                _ = tick.tick() => self.progress.tick(),
            }
        }
    }

    fn interrupt(&mut self, signal: &str, cancel: Cancel<'_>) {
        self.was_interrupted = true;
        self.progress.stopping();
        let says = format!("{signal}: ending the run; once more exits at once");
        self.progress.say(&[Line::new().with(Tone::Warn, says)]);
        cancel(&format!("interrupted by {signal}"));
    }

    fn show(&mut self, item: &Live, cancel: Cancel<'_>) {
        self.progress.observe(item);
        let (true, None, Live::Event(event)) = (self.args.json, &self.unread, item) else {
            return;
        };
        let mut out = Printer::new();
        if let Err(error) = out.json(event).and_then(|()| Ok(out.flush()?)) {
            self.unread = Some(error);
            cancel("nobody reads its events any more");
        }
    }
}

/// The final text on stdout, and on stderr how the run ended and where to read more.
fn conclude(args: &Args, view: &View, end: &RunEnd, dir: &Path, run: &str) -> anyhow::Result<()> {
    if args.json {
        return Ok(());
    }
    let colour = terminal::stderr_colour();
    let text = end.ending.text().filter(|text| !text.trim().is_empty());
    let is_side_by_side = !args.quiet && terminal::stdout_is_terminal();
    if let Some(text) = text {
        if is_side_by_side {
            terminal::say(&Line::new(), colour);
        }
        // The run is over and on record, whether or not somebody reads its text here.
        match terminal::print_text(text) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            printed => printed.context("cannot write the result to stdout; `gg show` has it")?,
        }
        if is_side_by_side {
            terminal::say(&Line::new(), colour);
        }
    }
    if args.quiet && end.ending.is_good() {
        return Ok(());
    }
    terminal::say(&summary::line(view, end), colour);
    let runs = match args.runs.given() {
        Some(dir) => format!(" --runs {}", dir.display()),
        None => String::new(),
    };
    let hint = Line::new()
        .with(Tone::Faint, format!("record: {} · ", dir.display()))
        .plain(format!("gg show {run}{runs}"));
    terminal::say(&hint, colour);
    Ok(())
}
