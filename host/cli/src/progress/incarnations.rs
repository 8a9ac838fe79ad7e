//! What an agent was before it became what it is: in a row, and as a table.

use super::{
    agent::Agent,
    lineage::{Incarnation, Lineage},
    table::{Cells, Style, lay_out, of_used},
};
use crate::styled::{Line, Tone};
use gg_core::AgentId;

/// The most incarnations that are shown of a lineage, unless all are asked for: a machine may go round for long.
const MAX_SHOWN: usize = 24;

/// How many of those are the first ones.
const MAX_FIRST: usize = 4;

/// How far lines are indented, in columns; those that follow a first one twice as far.
const INDENT: usize = 2;

/// Some incarnations of a lineage, in order; `Err` stands for so many that are left out.
fn shown(lineage: &Lineage, all: bool) -> Vec<Result<&Incarnation, usize>> {
    let count = lineage.len();
    if all || count <= MAX_SHOWN {
        return lineage.all().map(Ok).collect();
    }
    let left_out = count - MAX_SHOWN;
    let first = lineage.all().take(MAX_FIRST).map(Ok);
    let last = lineage.all().skip(MAX_FIRST + left_out).map(Ok);
    first.chain([Err(left_out)]).chain(last).collect()
}

/// `write-tests (tester)`: the state where there is one, and the profile.
fn role(incarnation: &Incarnation) -> String {
    match &incarnation.state {
        Some(state) => format!("{state} ({})", incarnation.profile),
        None => incarnation.profile.to_string(),
    }
}

/// A lineage of several in as few lines as fit: `a1 write-tests (tester) → a2 implement (coder)`.
pub(crate) fn chain(lineage: &Lineage, columns: usize, all: bool) -> Vec<Line> {
    if !lineage.has_changed() {
        return Vec::new();
    }
    let shown = shown(lineage, all);
    let last = shown.len() - 1;
    let mut lines = Vec::new();
    let mut line = Line::new().plain(" ".repeat(INDENT));
    let mut begins = true;
    for (at, incarnation) in shown.into_iter().enumerate() {
        let link = match incarnation {
            Ok(it) => Line::new().with(Tone::Name, it.id.as_str()).plain(format!(" {}", role(it))),
            Err(left_out) => Line::new().with(Tone::Faint, format!("… {left_out} more")),
        };
        let link = if at < last { link.with(Tone::Faint, " →") } else { link };
        if !begins && line.width() + 1 + link.width() > columns {
            lines.push(line);
            line = Line::new().plain(" ".repeat(2 * INDENT));
            begins = true;
        }
        line = if begins { line.and(link) } else { line.plain(" ").and(link) };
        begins = false;
    }
    lines.push(line);
    lines.into_iter().map(|line| line.fit(columns)).collect()
}

/// What each of a lineage of several used, with a mark at one of them.
pub(crate) fn spent(agent: &Agent, marked: Option<&AgentId>, style: Style, all: bool) -> Vec<Line> {
    if !agent.lineage.has_changed() {
        return Vec::new();
    }
    let cells = shown(&agent.lineage, all).into_iter().map(|incarnation| match incarnation {
        Ok(it) => {
            let mark = if marked == Some(&it.id) { "› " } else { "  " };
            let name = Line::new().plain(mark).with(Tone::Name, it.id.as_str());
            let turns = if it.used.turns == 0 { String::new() } else { it.used.turns.to_string() };
            Cells {
                name: name.plain(format!(" {}", role(it))),
                amounts: of_used(&it.used, agent.estimated, turns),
                doing: Line::new(),
            }
        }
        Err(left_out) => Cells {
            name: Line::new().with(Tone::Faint, format!("  … {left_out} more")),
            amounts: Default::default(),
            doing: Line::new(),
        },
    });
    lay_out(cells, style)
}
