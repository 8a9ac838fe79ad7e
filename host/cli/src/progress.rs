//! What `gg run` shows on stderr while a run goes on: a live area on a terminal, plain lines elsewhere.

pub(crate) mod agent;
pub(crate) mod area;
mod detail;
pub(crate) mod fold;
pub(crate) mod incarnations;
pub(crate) mod item;
pub(crate) mod lineage;
mod painter;
pub(crate) mod passage;
pub(crate) mod plan;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod view;

use crate::{
    styled::{Colour, Line},
    terminal,
};
use area::{Size, area};
use detail::Detail;
use gg_core::Live;
use item::Item;
use painter::Painter;
use plan::Plan;
use std::{
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

/// The most finished items that wait for the next frame. A frame prints them all, so this bounds its size too.
const MAX_WAITING: usize = 1000;

/// A run as it is being shown.
pub(crate) struct Progress {
    view: View,
    show: Show,
    colour: Colour,
    started: Instant,
    painter: Painter<BufWriter<Stderr>>,
    /// What is finished since the last frame, in as much detail as was right then.
    waiting: Vec<(Detail, Item)>,
}

impl Progress {
    /// Begins to show a run of such a configuration.
    pub(crate) fn new(show: Show, plan: Plan) -> Self {
        let colour = terminal::stderr_colour();
        if show == Show::Live {
            terminal::remember_live();
        }
        Self {
            view: View::new(plan),
            show,
            colour,
            started: Instant::now(),
            painter: Painter::new(BufWriter::with_capacity(FRAME_BYTES, io::stderr()), colour),
            waiting: Vec::new(),
        }
    }

    /// Takes in what happened. What is finished by it is shown at once as plain lines, and with the next frame
    /// on a terminal: however much happens, a frame is drawn a few times a second.
    pub(crate) fn observe(&mut self, live: &Live) {
        let items = self.view.observe(live, self.started.elapsed());
        let detail = self.view.detail();
        match self.show {
            Show::Nothing => {}
            Show::Live => {
                self.waiting.extend(items.into_iter().map(|item| (detail, item)));
                if self.waiting.len() >= MAX_WAITING {
                    self.paint(&[]);
                }
            }
            Show::Lines => {
                for line in items.iter().flat_map(|item| detail.lines(item, usize::MAX)) {
                    terminal::say(&line, self.colour);
                }
            }
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

    /// Draws the live area anew, where there is one, below what is finished by now.
    pub(crate) fn tick(&mut self) {
        if self.show == Show::Live {
            self.paint(&[]);
        }
    }

    fn paint(&mut self, above: &[Line]) {
        let (columns, rows) = terminal::size();
        let area = area(&self.view, Size { columns, rows }, self.started.elapsed());
        // One column stays free, so that no line is ever wrapped.
        let room = usize::from(columns).saturating_sub(1);
        let finished = std::mem::take(&mut self.waiting);
        let mut lines: Vec<Line> =
            finished.iter().flat_map(|(detail, item)| detail.lines(item, room)).collect();
        lines.extend(above.iter().map(|line| line.clone().fit(room)));
        // A terminal that cannot be written to any more is no reason to end a run.
        let _ = self.painter.paint(&lines, &area, columns);
    }

    /// Takes the live area away, and says what is known of the run by then.
    pub(crate) fn close(mut self) -> View {
        if self.show == Show::Live {
            self.paint(&[]);
            let _ = self.painter.close(terminal::size().0);
            terminal::forget_live();
        }
        self.view
    }
}

#[cfg(test)]
pub(crate) mod tests;
