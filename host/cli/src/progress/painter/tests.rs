//! The painter against a terminal that wraps anew when its width changes, as terminals do.

use super::Painter;
use crate::styled::{Colour, Line};
use std::{cell::RefCell, io, rc::Rc};

/// As much of a terminal as the painter asks for. Lines are kept whole, and wrapped for the width of the day.
struct Terminal {
    columns: usize,
    lines: Vec<Vec<char>>,
    /// The cursor: a line, and a place in it.
    at: (usize, usize),
    cursor_shows: bool,
}

impl Terminal {
    fn new(columns: usize) -> Self {
        Self { columns, lines: vec![Vec::new()], at: (0, 0), cursor_shows: true }
    }

    /// The rows of the terminal: which line each is a part of, and where it begins.
    fn rows(&self) -> Vec<(usize, usize)> {
        let rows = |(line, text): (usize, &Vec<char>)| {
            let starts = (0..text.len().max(1)).step_by(self.columns);
            starts.map(move |start| (line, start)).collect::<Vec<_>>()
        };
        self.lines.iter().enumerate().flat_map(rows).collect()
    }

    fn cursor_row(&self) -> usize {
        let (line, place) = self.at;
        // Behind a full row the cursor stays on it until something follows.
        let is_behind = place == self.lines[line].len() && place > 0 && place.is_multiple_of(self.columns);
        let place = if is_behind { place - 1 } else { place };
        self.rows().iter().rposition(|(l, start)| *l == line && *start <= place).unwrap()
    }

    fn put(&mut self, c: char) {
        let (line, place) = self.at;
        match self.lines[line].get_mut(place) {
            Some(under) => *under = c,
            None => self.lines[line].push(c),
        }
        self.at.1 += 1;
    }

    fn obey(&mut self, sequence: &str) {
        match sequence {
            "?25h" => self.cursor_shows = true,
            "?25l" => self.cursor_shows = false,
            "?2026h" | "?2026l" => {}
            "1G" => self.at.1 = self.rows()[self.cursor_row()].1,
            "J" => {
                assert!(self.cursor_row() > 0 || self.at.1 > 0, "some terminals scroll then");
                self.lines.truncate(self.at.0 + 1);
                self.lines[self.at.0].truncate(self.at.1);
            }
            "K" => self.clear_row(),
            "1B" => self.at = self.rows()[self.cursor_row() + 1],
            up if up.ends_with('A') => {
                let up: usize = up[..up.len() - 1].parse().unwrap();
                self.at = self.rows()[self.cursor_row().saturating_sub(up)];
            }
            other => panic!("the painter sent {other:?}"),
        }
    }

    /// From the cursor, which stands at a row's start, to the row's end. The row is then no longer a part of
    /// the line that was wrapped into it.
    fn clear_row(&mut self) {
        let (line, place) = self.at;
        assert!(place.is_multiple_of(self.columns));
        let mut row = self.lines[line].split_off(place);
        let after = row.split_off(row.len().min(self.columns));
        if !after.is_empty() {
            self.lines.insert(line + 1, after);
        }
        if place > 0 {
            self.lines.insert(line + 1, Vec::new());
            self.at = (line + 1, 0);
        }
    }

    fn feed(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\u{1b}' => {
                    let sequence = rest.strip_prefix('[').unwrap();
                    let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap() + 1;
                    self.obey(&sequence[..end]);
                    rest = &sequence[end..];
                }
                '\n' => {
                    self.at = (self.at.0 + 1, 0);
                    if self.at.0 == self.lines.len() {
                        self.lines.push(Vec::new());
                    }
                }
                c => self.put(c),
            }
        }
    }

    fn text(&self) -> Vec<String> {
        self.lines.iter().map(|line| line.iter().collect()).collect()
    }
}

#[derive(Clone)]
struct Wire(Rc<RefCell<Terminal>>);

impl io::Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().feed(std::str::from_utf8(bytes).unwrap());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn line(text: &str) -> Line {
    Line::new().plain(text)
}

#[test]
fn nothing_is_left_over_whatever_the_width_becomes() {
    let terminal = Rc::new(RefCell::new(Terminal::new(40)));
    let mut painter =
        Painter::new(io::BufWriter::with_capacity(64 * 1024, Wire(terminal.clone())), Colour::Off);
    let mut finished: Vec<String> = Vec::new();
    for (frame, columns) in [40, 40, 11, 11, 7, 3, 25, 80, 80, 5, 60].into_iter().enumerate() {
        terminal.borrow_mut().columns = columns;
        let above: Vec<String> = (0..frame % 3).map(|n| format!("finished {frame}.{n}")).collect();
        let area: Vec<String> = (0..=frame % 4).map(|n| "x".repeat((columns - 1).min(3 + 9 * n))).collect();
        let lines = |texts: &[String]| texts.iter().map(|text| line(text)).collect::<Vec<_>>();
        painter.paint(&lines(&above), &lines(&area), columns as u16).unwrap();
        finished.extend(above);
        let expected: Vec<String> = finished.iter().chain(&area).cloned().collect();
        assert_eq!(terminal.borrow().text(), expected, "at {columns} columns");
        assert!(!terminal.borrow().cursor_shows);
    }
    painter.close(60).unwrap();
    let mut left = terminal.borrow().text();
    while left.last().is_some_and(String::is_empty) {
        left.pop();
    }
    assert_eq!(left, finished);
    assert_eq!(terminal.borrow().at, (finished.len(), 0), "what comes next stands right below");
    assert!(terminal.borrow().cursor_shows);
}

#[test]
fn a_painter_that_drew_nothing_has_nothing_to_take_away() {
    let mut out = Vec::new();
    Painter::new(&mut out, Colour::On).close(80).unwrap();
    assert_eq!(out, b"");
}
