//! Draws finished lines with a live area below them, in the ordinary flow of the terminal.
//!
//! It asks the terminal nothing (no cursor position, no raw mode): only the rows that it has drawn itself are
//! drawn over, counted anew for the width the terminal has by then. So finished lines are ordinary scrollback,
//! a resize cannot leave it waiting for an answer, and a panic or a kill leaves nothing to put back but the
//! cursor.

use crate::styled::{Colour, Line};
use crossterm::{
    QueueableCommand,
    cursor::{Hide, MoveDown, MoveToColumn, MoveUp, Show},
    style::Print,
    terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate},
};
use std::io::{self, Write};

/// See the module's own text.
pub(crate) struct Painter<W: Write> {
    out: W,
    colour: Colour,
    /// The widths of the lines of the live area as it stands.
    drawn: Vec<usize>,
    hidden: bool,
}

impl<W: Write> Painter<W> {
    /// A painter that has drawn nothing yet. `out` should write a whole frame at once.
    pub(crate) fn new(out: W, colour: Colour) -> Self {
        Self { out, colour, drawn: Vec::new(), hidden: false }
    }

    /// Puts `above` where the live area stood, and `area` below them, on a terminal that is now so many
    /// columns wide. Every line must be narrower than that.
    pub(crate) fn paint(&mut self, above: &[Line], area: &[Line], columns: u16) -> io::Result<()> {
        self.out.queue(BeginSynchronizedUpdate)?;
        if !self.hidden {
            self.out.queue(Hide)?;
            self.hidden = true;
        }
        self.move_to_top(columns)?;
        for (at, line) in above.iter().chain(area).enumerate() {
            if at > 0 {
                self.out.queue(Print("\n"))?;
            }
            self.out.queue(Clear(ClearType::UntilNewLine))?.queue(Print(line.render(self.colour)))?;
        }
        // What is left of a larger area. Not cleared from its top, because some terminals move what is cleared
        // from their first row on into their scrollback.
        self.out.queue(Clear(ClearType::FromCursorDown))?.queue(EndSynchronizedUpdate)?;
        self.drawn = area.iter().map(Line::width).collect();
        self.out.flush()
    }

    /// Takes the live area away and gives the cursor back, for good or for what others have to write.
    pub(crate) fn close(&mut self, columns: u16) -> io::Result<()> {
        if !self.hidden {
            return Ok(());
        }
        let rows = self.move_to_top(columns)?;
        self.out.queue(Clear(ClearType::UntilNewLine))?;
        if rows > 1 {
            self.out.queue(MoveDown(1))?.queue(Clear(ClearType::FromCursorDown))?.queue(MoveUp(1))?;
        }
        self.out.queue(Show)?;
        self.hidden = false;
        self.drawn.clear();
        self.out.flush()
    }

    /// Goes to where the live area begins, and says how many rows it takes.
    fn move_to_top(&mut self, columns: u16) -> io::Result<usize> {
        let rows: usize = self.drawn.iter().map(|width| rows(*width, columns)).sum();
        self.out.queue(MoveToColumn(0))?;
        // To move up by 0 would move up by 1.
        if let Some(up) = u16::try_from(rows).ok().and_then(|rows| rows.checked_sub(1)).filter(|up| *up > 0) {
            self.out.queue(MoveUp(up))?;
        }
        Ok(rows)
    }
}

/// How many rows a line takes once a terminal of so many columns has wrapped it.
fn rows(width: usize, columns: u16) -> usize {
    width.div_ceil(usize::from(columns).max(1)).max(1)
}

#[cfg(test)]
mod tests;
