//! The one place that turns what happened into an exit code and says why on stderr.

use crate::{
    clean,
    styled::{Line, Tone},
    terminal,
};
use std::{error::Error, fmt, io, process::ExitCode};

/// How the command as a whole came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It did what was asked; of a run: the root ended well.
    Well,
    /// It was begun, and did not end well.
    NotWell,
    /// The command or the configuration was refused; nothing was begun.
    Refused,
    /// Somebody ended the run early.
    Interrupted,
}

impl Exit {
    /// The code that the shell sees. `gg --help` documents them.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Well => 0,
            Self::NotWell => 1,
            Self::Refused => 2,
            // What a shell reports for a process that SIGINT ended.
            Self::Interrupted => 130,
        }
    }
}

/// A command that cannot be carried out as it was given: the operator can mend it.
#[derive(Debug)]
pub(crate) struct Refusal {
    message: String,
    help: Option<String>,
}

impl Refusal {
    /// What is wrong, and what to do next.
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()) }
    }

    /// What is wrong, where that says by itself what to do.
    pub(crate) fn plain(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Refusal {}

/// Says on stderr what went wrong, and gives the code of the whole.
pub(crate) fn conclude(outcome: anyhow::Result<Exit>) -> ExitCode {
    let exit = match outcome {
        Ok(exit) => exit,
        // Whoever read the output has seen enough.
        Err(error) if is_broken_pipe(&error) => Exit::Well,
        Err(error) => explain(&error),
    };
    ExitCode::from(exit.code())
}

fn explain(error: &anyhow::Error) -> Exit {
    if let Some(error) = error.downcast_ref::<clap::Error>() {
        // Also how clap answers `--help` and `--version`, which are no errors.
        let asked_for = !error.use_stderr();
        let _ = error.print();
        return if asked_for { Exit::Well } else { Exit::Refused };
    }
    let colour = terminal::stderr_colour();
    for line in error_lines(error) {
        terminal::say(&line, colour);
    }
    match error.downcast_ref::<Refusal>() {
        Some(_) => Exit::Refused,
        None => Exit::NotWell,
    }
}

/// `error: what: why`, and what to do next.
fn error_lines(error: &anyhow::Error) -> Vec<Line> {
    let mut message = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        // Some libraries repeat their cause in their own text.
        if message.contains(&cause) {
            continue;
        }
        if !message.is_empty() {
            message.push_str(": ");
        }
        message.push_str(&cause);
    }
    let mut lines = headed(Tone::Bad, "error: ", &message);
    if let Some(help) = error.downcast_ref::<Refusal>().and_then(|refusal| refusal.help.as_deref()) {
        lines.extend(headed(Tone::Good, " help: ", help));
    }
    lines
}

/// The text's lines, the first behind a heading and the others indented as far.
fn headed(tone: Tone, heading: &str, text: &str) -> Vec<Line> {
    let text = clean::text(text);
    text.lines()
        .enumerate()
        .map(|(at, line)| match at {
            0 => Line::new().with(tone, heading).plain(line),
            _ => Line::new().plain(" ".repeat(heading.len())).plain(line),
        })
        .collect()
}

/// Whether the error says that the reader of a pipe is gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    fn text_of(error: &anyhow::Error) -> String {
        error_lines(error).iter().map(|line| line.text() + "\n").collect()
    }

    #[test]
    fn an_error_says_why_and_what_to_do() {
        let refused = anyhow::Error::new(Refusal::new("no run \u{1b}]x", "list them:\n  gg runs"));
        assert_eq!(text_of(&refused), "error: no run ␛]x\n help: list them:\n         gg runs\n");
        let failed = Err::<(), _>(io::Error::other("disk full")).context("cannot write x").unwrap_err();
        assert_eq!(text_of(&failed), "error: cannot write x: disk full\n");
        // What names its cause, and goes on, says it once as well.
        let listed = gg_store::list_runs(std::path::Path::new("/dev/null"), 1).unwrap_err();
        let text = text_of(&anyhow::Error::new(listed));
        assert_eq!(text.matches("os error").count(), 1, "{text}");
    }

    #[test]
    fn a_gone_reader_is_no_error() {
        let gone = anyhow::Error::new(io::Error::from(io::ErrorKind::BrokenPipe)).context("cannot write");
        assert!(is_broken_pipe(&gone));
        assert!(!is_broken_pipe(&anyhow::Error::new(io::Error::other("x"))));
    }
}
