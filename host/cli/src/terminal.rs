//! What gg knows of the terminal it may be on, and the only writers to stdout and stderr.

use crate::{
    json,
    styled::{Colour, Line},
};
use anstream::{AutoStream, ColorChoice};
use crossterm::{QueueableCommand, cursor::Show, style::Print, terminal::EndSynchronizedUpdate};
use serde::Serialize;
use std::{
    io::{self, BufWriter, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

/// The size that is assumed where the terminal does not tell.
const ASSUMED: (u16, u16) = (80, 24);

/// Whether a live area stands on the terminal now, so that an exit on the spot knows what to put back.
static IS_LIVE: AtomicBool = AtomicBool::new(false);

/// Whether stdout is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether stderr is a terminal that can move its cursor.
pub(crate) fn stderr_is_live() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term.is_empty() || term == "dumb");
    io::stderr().is_terminal() && !is_dumb
}

/// Whether to colour stdout. Heeds `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE`.
pub(crate) fn stdout_colour() -> Colour {
    colour(AutoStream::choice(&io::stdout()))
}

/// Whether to colour stderr.
pub(crate) fn stderr_colour() -> Colour {
    colour(AutoStream::choice(&io::stderr()))
}

fn colour(choice: ColorChoice) -> Colour {
    match choice {
        ColorChoice::Never => Colour::Off,
        ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => Colour::On,
    }
}

/// The terminal's columns and rows now.
pub(crate) fn size() -> (u16, u16) {
    match crossterm::terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => (columns, rows),
        _ => ASSUMED,
    }
}

/// How wide lines on stdout may be: as wide as the terminal; unbounded in a file or a pipe.
pub(crate) fn stdout_columns() -> usize {
    if stdout_is_terminal() { usize::from(size().0) } else { usize::MAX }
}

/// How wide lines on stderr may be; unbounded in a file or a pipe.
pub(crate) fn stderr_columns() -> usize {
    if io::stderr().is_terminal() { usize::from(size().0) } else { usize::MAX }
}

/// Writes a line to stderr. There is nobody to tell if that fails.
pub(crate) fn say(line: &Line, colour: Colour) {
    let _ = writeln!(io::stderr(), "{}", line.render(colour));
}

/// Writes the lines of a command's result to stdout.
pub(crate) struct Printer<'a> {
    out: Box<dyn Write + 'a>,
    colour: Colour,
}

impl<'a> Printer<'a> {
    /// A printer that has printed nothing yet. What it prints may wait in memory until [`Printer::flush`].
    pub(crate) fn new() -> Self {
        Self { out: Box::new(BufWriter::new(io::stdout().lock())), colour: stdout_colour() }
    }

    /// One that prints into memory.
    #[cfg(test)]
    pub(crate) fn into_memory(memory: &'a mut Vec<u8>) -> Self {
        Self { out: Box::new(memory), colour: Colour::Off }
    }

    /// Prints one line.
    pub(crate) fn line(&mut self, line: &Line) -> io::Result<()> {
        writeln!(self.out, "{}", line.render(self.colour))
    }

    /// Prints lines.
    pub(crate) fn lines<'l>(&mut self, lines: impl IntoIterator<Item = &'l Line>) -> io::Result<()> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Prints a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        writeln!(self.out, "{}", json::line(value)?)?;
        Ok(())
    }

    /// Sends what waits in memory on its way.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes a text to stdout as the result of a command: byte for byte into a file or a pipe, and cleaned on a
/// terminal. It ends with a line break in any case.
pub(crate) fn print_text(text: &str) -> io::Result<()> {
    let cleaned;
    let text = if stdout_is_terminal() {
        cleaned = crate::clean::text(text);
        &cleaned
    } else {
        text
    };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// From now on a live area stands on the terminal, until [`forget_live`].
pub(crate) fn remember_live() {
    if !IS_LIVE.swap(true, Ordering::SeqCst) {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            previous(panic);
        }));
    }
}

/// The live area is gone.
pub(crate) fn forget_live() {
    IS_LIVE.store(false, Ordering::SeqCst);
}

/// Leaves the terminal usable when gg is about to end on the spot: the cursor shows, on a line of its own.
pub(crate) fn give_back() {
    if IS_LIVE.swap(false, Ordering::SeqCst) {
        let mut out = io::stderr();
        let _ = out
            .queue(EndSynchronizedUpdate)
            .and_then(|out| out.queue(Print("\n")))
            .and_then(|out| out.queue(Show));
        let _ = out.flush();
    }
}
