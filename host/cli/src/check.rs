//! `gg check`: the launch check, and nothing else.

use crate::{
    amounts,
    exit::Exit,
    launch::{self, Checked, Clean},
    refusals,
    styled::{Line, Tone},
    terminal,
};
use clap::{ValueEnum, ValueHint};
use gg_config::{Note, Report};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  gg check agents.jsonc
  gg check agents.jsonc --format json | jq '.refusals[].code'";

/// Say everything that is wrong with a configuration, and where
///
/// Runs the same check as `gg run` does before anything starts: keys, types, limits that contradict each
/// other, environment keys, and components, which are loaded and compared with the contract of modules.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The configuration
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As a compiler would say it
    Text,
    /// One JSON object on stdout: {"refusals":[{"code","message","pointer","line","column",…}]}
    Json,
}

/// Checks the configuration.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let text = match (launch::read(&args.file), args.format) {
        (Ok(text), _) => text,
        (Err(unread), Format::Text) => return Err(unread.into()),
        (Err(unread), Format::Json) => {
            print_json(&Report { refusals: vec![unread.refusal()], notes: Vec::new() })?;
            return Ok(Exit::Refused);
        }
    };
    match (launch::check_text(&args.file, text)?, args.format) {
        (Checked::Clean(clean), Format::Json) => {
            print_json(&Report { refusals: Vec::new(), notes: notes(&clean) })?;
            Ok(Exit::Well)
        }
        (Checked::Clean(clean), Format::Text) => {
            let mut out = terminal::Printer::new();
            out.lines(&clean_lines(&clean))?;
            out.flush()?;
            Ok(Exit::Well)
        }
        (Checked::Refused { refusals, .. }, Format::Json) => {
            print_json(&Report { refusals, notes: Vec::new() })?;
            Ok(Exit::Refused)
        }
        (Checked::Refused { name, text, refusals }, Format::Text) => {
            refusals::print(&name, &text, &refusals);
            Ok(Exit::Refused)
        }
    }
}

fn print_json(report: &Report) -> anyhow::Result<()> {
    let mut out = terminal::Printer::new();
    out.json(report)?;
    Ok(out.flush()?)
}

fn notes(clean: &Clean) -> Vec<Note> {
    gg_config::notes(&clean.source, &clean.catalogue, &clean.configuration)
}

/// What was checked, and what is allowed and worth knowing.
fn clean_lines(clean: &Clean) -> Vec<Line> {
    let count = |n: usize, one: &str, many: &str| amounts::count(n as u64, one, many);
    let configuration = &clean.configuration;
    let checked = [
        count(configuration.agents.len(), "agent", "agents"),
        count(configuration.providers.len(), "provider", "providers"),
        count(configuration.components.len(), "component", "components"),
    ];
    let first = Line::new()
        .with(Tone::Good, "ok ")
        .plain(clean.source.name())
        .with(Tone::Faint, format!("  {}", checked.join(", ")));
    let notes = notes(clean);
    let notes = notes.iter().map(|note| {
        Line::new()
            .with(Tone::Warn, "note ")
            .plain(format!("{}:{}:{} ", clean.source.name(), note.line, note.column))
            .plain(&note.message)
    });
    std::iter::once(first).chain(notes).collect()
}
