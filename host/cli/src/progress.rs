//! What `gg run` shows on stderr while a run goes on: a live area on a terminal, plain lines elsewhere.

pub(crate) mod area;
pub(crate) mod item;
mod painter;
pub(crate) mod view;

use crate::{
    styled::{Colour, Line},
    terminal,
};
use area::{Size, area};
use gg_core::{Live, ProfileId};
use painter::Painter;
use std::{
    collections::BTreeMap,
    io::{self, BufWriter, Stderr},
    time::Instant,
};
use view::View;

/// Room for a whole frame, so that it reaches the terminal in one write.
const FRAME_BYTES: usize = 256 * 1024;

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    /// Finished lines scroll by, and below them stands what goes on now.
    Live,
    /// Finished lines only.
    Lines,
    /// Nothing: something else is on stdout, or nobody wants to know.
    Nothing,
}

/// A run as it is being shown.
pub(crate) struct Progress {
    view: View,
    show: Show,
    colour: Colour,
    started: Instant,
    painter: Painter<BufWriter<Stderr>>,
}

impl Progress {
    /// Begins to show a run whose profiles may take so many turns.
    pub(crate) fn new(show: Show, limits: BTreeMap<ProfileId, u32>) -> Self {
        let colour = terminal::stderr_colour();
        if show == Show::Live {
            terminal::remember_live();
        }
        Self {
            view: View::new(limits),
            show,
            colour,
            started: Instant::now(),
            painter: Painter::new(BufWriter::with_capacity(FRAME_BYTES, io::stderr()), colour),
        }
    }

    /// Takes in what happened, and shows what is finished by it.
    pub(crate) fn observe(&mut self, live: &Live) {
        let items = self.view.observe(live, self.started.elapsed());
        // One column stays free, so that no line is ever wrapped.
        let columns = match self.show {
            Show::Nothing => return,
            Show::Live => usize::from(terminal::size().0).saturating_sub(1),
            Show::Lines => usize::MAX,
        };
        let lines: Vec<Line> = items.iter().flat_map(|item| item.lines(columns)).collect();
        if !lines.is_empty() {
            self.say(&lines);
        }
    }

    /// Shows lines of the command itself.
    pub(crate) fn say(&mut self, lines: &[Line]) {
        match self.show {
            Show::Live => self.paint(lines),
            Show::Lines | Show::Nothing => {
                lines.iter().for_each(|line| terminal::say(line, self.colour));
            }
        }
    }

    /// The run is being ended early.
    pub(crate) fn stopping(&mut self) {
        self.view.stopping = true;
    }

    /// Draws the live area anew, where there is one.
    pub(crate) fn tick(&mut self) {
        if self.show == Show::Live {
            self.paint(&[]);
        }
    }

    fn paint(&mut self, above: &[Line]) {
        let (columns, rows) = terminal::size();
        let area = area(&self.view, Size { columns, rows }, self.started.elapsed());
        let above: Vec<Line> =
            above.iter().map(|line| line.clone().fit(usize::from(columns).saturating_sub(1))).collect();
        // A terminal that cannot be written to any more is no reason to end a run.
        let _ = self.painter.paint(&above, &area, columns);
    }

    /// Takes the live area away, and says what is known of the run by then.
    pub(crate) fn close(mut self) -> View {
        if self.show == Show::Live {
            let _ = self.painter.close(terminal::size().0);
            terminal::forget_live();
        }
        self.view
    }
}

#[cfg(test)]
mod tests;
