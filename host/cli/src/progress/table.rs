//! A tree's lines as a table: who, what it used, and what it does.

use super::{
    agent::{Activity, Agent, Standing},
    fold::{Entry, Folded, Rails},
    item::{id_list, reason_words, turn_of},
    lineage::{Incarnation, Used},
    tree::{Row, RowId, Sum, Tree},
};
use crate::{
    amounts,
    styled::{Line, Tone},
};
use std::time::Duration;

/// The least room for what an agent does, in columns: as much as "calling …" needs to tell calls apart. Where
/// there is less, columns are left out.
const MIN_DOING: usize = 20;

/// Below this many columns an agent in a machine goes by its state alone.
const NARROW: usize = 60;

/// Levels of a tree that are drawn, seen from the line itself. How many more there are above stands in a number:
/// they would take too much room.
const MAX_RAILS: usize = 12;

/// How many of the agents that one waits for are named.
pub(crate) const MAX_NAMED: usize = 4;

/// Whether the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tense {
    /// It does.
    Now,
    /// It does not, and whoever has not ended never will.
    Then,
}

/// How a table is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// How wide it may be.
    pub(crate) columns: usize,
    /// The time, counted like the `at` of [`super::view::View::observe`].
    pub(crate) now: Duration,
    /// Whether the run goes on.
    pub(crate) tense: Tense,
    /// Whether a line above names the columns.
    pub(crate) headed: bool,
}

/// One line before it is known how wide the columns are.
pub(super) struct Cells {
    /// Who.
    pub(super) name: Line,
    /// Turns, tokens, cost and time.
    pub(super) amounts: [String; AMOUNTS],
    /// What it does.
    pub(super) doing: Line,
}

const AMOUNTS: usize = 4;

/// What the columns of amounts are called.
const HEADS: [&str; AMOUNTS] = ["turns", "tokens", "cost", "time"];

/// Which of them is left out first where there is too little room, and so on: what the line above the tree has in
/// sum goes before what stands nowhere else.
const LEFT_OUT: [usize; AMOUNTS] = [3, 2, 1, 0];

/// The lines of a folded tree, each at most as wide as the style says.
pub(crate) fn table(tree: &Tree, folded: &[Folded], style: Style) -> Vec<Line> {
    let cells = folded.iter().map(|line| match line.entry {
        Entry::Row(row) => row_cells(tree, tree.row(row), line.rails, style),
        Entry::More(sum) => more_cells(&sum, line.rails),
    });
    lay_out(cells, style)
}

/// Lines below each other, and above them what the columns are called if the style wants that.
pub(super) fn lay_out(rows: impl Iterator<Item = Cells>, style: Style) -> Vec<Line> {
    let heads = Cells { name: Line::new(), amounts: HEADS.map(str::to_owned), doing: Line::new() };
    let cells: Vec<Cells> = style.headed.then_some(heads).into_iter().chain(rows).collect();
    let mut widths = [0; AMOUNTS];
    for (column, width) in widths.iter_mut().enumerate() {
        let shown = cells[usize::from(style.headed)..].iter().map(|cells| cells.amounts[column].len());
        // A column that has only its name is none.
        *width = shown
            .max()
            .filter(|width| *width > 0)
            .map_or(0, |width| if style.headed { width.max(HEADS[column].len()) } else { width });
    }
    let name = cells.iter().map(|cells| cells.name.width()).max().unwrap_or(0);
    let name = name.min((style.columns / 2).max(MIN_DOING));
    let doing = if cells.iter().any(|cells| cells.doing.width() > 0) { MIN_DOING + 2 } else { 0 };
    leave_out(&mut widths, style.columns.saturating_sub(name + doing));
    cells.into_iter().map(|cells| line(cells, name, &widths).fit(style.columns)).collect()
}

/// Sets the widths of columns for which there is no room to 0.
fn leave_out(widths: &mut [usize; AMOUNTS], room: usize) {
    for column in LEFT_OUT {
        let amounts: usize = widths.iter().filter(|width| **width > 0).map(|width| width + 2).sum();
        if amounts <= room {
            return;
        }
        widths[column] = 0;
    }
}

fn line(cells: Cells, name: usize, widths: &[usize; AMOUNTS]) -> Line {
    let mut line = cells.name.fit(name);
    let gap = name.saturating_sub(line.width());
    line = line.plain(" ".repeat(gap));
    for (amount, width) in cells.amounts.iter().zip(widths).filter(|(_, width)| **width > 0) {
        line = line.with(Tone::Faint, format!("  {amount:>width$}"));
    }
    if cells.doing.width() > 0 { line.plain("  ").and(cells.doing) } else { line }
}

fn row_cells(tree: &Tree, row: &Row, rails: Rails, style: Style) -> Cells {
    let agent = &row.agent;
    let lineage = &agent.lineage;
    let (tone, glyph) = glyph(agent.standing());
    let name = rail(rails).with(tone, glyph).plain(" ").with(Tone::Name, agent.id().as_str()).plain(" ");
    let name = name.and(role(&lineage.now, style.columns));
    let turn = match (lineage.turns(), lineage.turn_limit) {
        (0, _) => String::new(),
        (turns, Some(limit)) => format!("{turns}/{limit}"),
        (turns, None) => turns.to_string(),
    };
    let mut amounts = of_used(&lineage.used, agent.estimated, turn);
    amounts[3] = agent.took(style.now).map(amounts::short).unwrap_or_default();
    if tree.len() == 1 && !style.headed {
        // All that one agent uses stands in the line above it.
        amounts = Default::default();
        amounts[0] = turn_of(lineage.turns(), lineage.turn_limit);
    }
    Cells { name, amounts, doing: doing(tree, agent, style) }
}

/// `coder · implement`: the profile, and the state of a machine, which matters more where there is room for one of them.
fn role(incarnation: &Incarnation, columns: usize) -> Line {
    let profile = Line::new().plain(incarnation.profile.as_str());
    match &incarnation.state {
        None => profile,
        Some(state) if columns < NARROW => Line::new().with(Tone::Strong, state),
        Some(state) => profile.with(Tone::Faint, " · ").with(Tone::Strong, state),
    }
}

fn more_cells(sum: &Sum, rails: Rails) -> Cells {
    let name = rail(rails).with(Tone::Faint, format!("… {} more", sum.count()));
    let turns = match sum.used.turns {
        0 => String::new(),
        turns => turns.to_string(),
    };
    Cells {
        name,
        amounts: of_used(&sum.used, false, turns),
        doing: Line::new().with(Tone::Faint, sum_words(sum)),
    }
}

/// Amounts but for the time.
pub(super) fn of_used(used: &Used, estimated: bool, turns: String) -> [String; AMOUNTS] {
    let about = if estimated { "~" } else { "" };
    let tokens = match used.tokens {
        0 => String::new(),
        tokens => format!("{about}{}", amounts::tokens(tokens)),
    };
    let cost = used.cost.filter(|cost| cost.0 > 0.0);
    let cost = cost.map_or_else(String::new, |cost| format!("{about}{}", amounts::cost(cost)));
    [turns, tokens, cost, String::new()]
}

/// `3 running, 60 queued, 27 ended well`.
pub(crate) fn sum_words(sum: &Sum) -> String {
    let words = Standing::ALL.into_iter().filter(|standing| sum.of(*standing) > 0).map(|standing| {
        let word = match standing {
            Standing::Running => "running",
            Standing::Blocked => "blocked",
            Standing::EndedBadly => "ended badly",
            Standing::Queued => "queued",
            Standing::EndedWell => "ended well",
        };
        format!("{} {word}", sum.of(standing))
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The lines that lead to a row.
fn rail(rails: Rails) -> Line {
    let Some(above) = rails.depth.checked_sub(1) else {
        return Line::new();
    };
    let mut text = String::new();
    if above > MAX_RAILS {
        text.push_str(&format!("⋯{} ", above - MAX_RAILS));
    }
    for up in (1..=above.min(MAX_RAILS)).rev() {
        text.push_str(if rails.follows(up) { "│ " } else { "  " });
    }
    text.push_str(if rails.follows(0) { "├─" } else { "└─" });
    Line::new().with(Tone::Faint, text)
}

fn glyph(standing: Standing) -> (Tone, &'static str) {
    match standing {
        Standing::Running => (Tone::Good, "●"),
        Standing::Queued => (Tone::Faint, "○"),
        Standing::Blocked => (Tone::Warn, "◌"),
        Standing::EndedWell => (Tone::Good, "✓"),
        Standing::EndedBadly => (Tone::Bad, "✗"),
    }
}

/// What the agent does, and for how long it has been doing so.
fn doing(tree: &Tree, agent: &Agent, style: Style) -> Line {
    let line = match (style.tense, agent.standing().is_over()) {
        (Tense::Then, false) => Line::new().with(Tone::Bad, "interrupted").plain(": was "),
        _ => Line::new(),
    };
    let line = match &agent.activity {
        Activity::Queued => line.with(Tone::Faint, "queued"),
        Activity::Blocked => blocked(tree, agent, line, style.tense),
        Activity::Thinking => line.plain("thinking"),
        Activity::Writing => line.plain("writing"),
        Activity::Compacting(reason) => {
            line.with(Tone::Warn, "compacting").plain(format!(" its window, {}", reason_words(*reason)))
        }
        Activity::Retrying { until, error } => {
            let left = until.saturating_sub(style.now).as_secs_f64().ceil();
            return line.with(Tone::Warn, format!("retrying in {left} s")).plain(format!(": {error}"));
        }
        Activity::Calling => calling(agent, line),
        Activity::Ended { good, sentence, glance } => {
            let line = line.with(if *good { Tone::Good } else { Tone::Bad }, sentence);
            return if glance.is_empty() { line } else { line.with(Tone::Faint, format!("  {glance}")) };
        }
    };
    let took = style.now.saturating_sub(agent.since);
    if took < Duration::from_secs(2) || style.tense == Tense::Then {
        return line;
    }
    line.with(Tone::Faint, format!(" ({})", amounts::clock(took)))
}

fn blocked(tree: &Tree, agent: &Agent, line: Line, tense: Tense) -> Line {
    let line = line.with(Tone::Warn, "blocked");
    if agent.on.is_empty() {
        return if tense == Tense::Now { line.plain(", waits for its slot back") } else { line };
    }
    let on: Vec<RowId> = agent.on.iter().copied().take(MAX_NAMED).collect();
    line.plain(format!(" on {}", names(tree, agent.on.len(), &on)))
}

/// `a2, a9 (was a3) and 97 more`: the ids of some rows, of so many.
pub(crate) fn names(tree: &Tree, count: usize, first: &[RowId]) -> String {
    let names: Vec<String> = first.iter().map(|row| name(tree, *row)).collect();
    id_list(names.iter().map(String::as_str), count)
}

/// `a9 (was a3)`: whoever waits for an agent knows it by its first id, and its row goes by its last.
pub(super) fn name(tree: &Tree, row: RowId) -> String {
    let lineage = &tree.row(row).agent.lineage;
    let id = &lineage.now.id;
    if lineage.has_changed() { format!("{id} (was {})", lineage.first_id()) } else { id.to_string() }
}

fn calling(agent: &Agent, line: Line) -> Line {
    let Some(call) = agent.calls.iter().find(|call| call.done.is_none()) else {
        return line.plain("calling");
    };
    let done = agent.calls.iter().filter(|call| call.done.is_some()).count();
    let line = line.plain("calling ");
    let line = match agent.calls.len() {
        0 | 1 => line,
        all => line.plain(format!("({} of {all}) ", done + 1)),
    };
    line.with(Tone::Name, &call.name).plain(" ").plain(&call.arguments)
}

#[cfg(test)]
mod tests;
