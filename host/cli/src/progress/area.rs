//! The few lines at the bottom of the terminal that say what goes on now: sums, and the tree of agents.

use super::{
    agent::{Activity, Standing},
    fold::fold_at_work,
    table::{Style, Tense, table},
    view::View,
};
use crate::{
    amounts,
    styled::{Line, Tone, wrap},
};
use std::time::Duration;

/// A terminal's size in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// How wide it is.
    pub(crate) columns: u16,
    /// How high it is.
    pub(crate) rows: u16,
}

/// The steps of the little wheel that shows gg is alive, one for each [`WHEEL_STEP`].
const WHEEL: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠉"];

/// How long one step of the wheel is shown; also how often the live area is drawn. Slow enough to cost nothing
/// on a slow line, and quicker than anybody waits.
pub(crate) const WHEEL_STEP: Duration = Duration::from_millis(200);

/// The widest that lines are drawn: what is wider is hard to read along, and wrapped into many rows if the
/// terminal becomes narrow before it can be drawn anew.
const MAX_COLUMNS: usize = 140;

/// Below this many columns the run goes by the end of its name, by which `gg show` finds it too.
const WIDE: usize = 100;

/// Below this many columns amounts are shortened.
const NARROW: usize = 50;

/// Below this many rows there is one line of sums.
const LOW: usize = 6;

/// From this many rows on, the agents' sums may take a second line.
const HIGH: usize = 10;

/// What stands between two facts.
const BETWEEN: &str = " · ";

/// The live area at `now`, counted like the `at` of [`View::observe`]. No line is as wide as the terminal: the
/// last column stays free, so that the terminal never wraps one. A row at the top stays free too, for what
/// scrolls by.
pub(crate) fn area(view: &View, size: Size, now: Duration) -> Vec<Line> {
    let columns = usize::from(size.columns).saturating_sub(1).min(MAX_COLUMNS);
    let rows = usize::from(size.rows);
    let room = rows.saturating_sub(1).max(1);
    let mut below = header(view, columns, room, now);
    let notes = notes(view);
    let for_tree = (rows / 2).min(room.saturating_sub(below.len() + notes.len()));
    let style = Style { columns, now, tense: Tense::Now, headed: false };
    below.extend(table(view.tree(), &fold_at_work(view.tree(), for_tree), style));
    below.extend(notes);
    // A sixth of the height: the finished lines above stay in sight.
    let for_tail = (rows / 6).min(room.saturating_sub(below.len()));
    let lines = tail(view, columns, for_tail).into_iter().chain(below).take(room);
    lines.map(|line| line.fit(columns)).collect()
}

/// The last lines of what a model is writing, where one agent alone is at work.
fn tail(view: &View, columns: usize, most: usize) -> Vec<Line> {
    let mut running = view.tree().of(Standing::Running);
    let (Some(row), None) = (running.next(), running.next()) else {
        return Vec::new();
    };
    let agent = &view.tree().row(row).agent;
    if agent.activity != Activity::Writing {
        return Vec::new();
    }
    let wrapped = wrap(&agent.tail, columns.saturating_sub(2));
    let from = wrapped.len().saturating_sub(most);
    wrapped[from..].iter().map(|line| Line::new().with(Tone::Faint, "│ ").with(Tone::Faint, line)).collect()
}

/// What there is to say beside the tree.
fn notes(view: &View) -> Vec<Line> {
    let waiting = view.waiting().map(|says| Line::new().with(Tone::Warn, says));
    let stopping =
        view.stopping.then(|| Line::new().with(Tone::Warn, "ending the run; Ctrl-C again exits at once"));
    waiting.into_iter().chain(stopping).collect()
}

/// The run in numbers: first its agents, then what they used. What finds no room is left out.
fn header(view: &View, columns: usize, room: usize, now: Duration) -> Vec<Line> {
    let step = (now.as_millis() / WHEEL_STEP.as_millis()) as usize % WHEEL.len();
    let mut first = Line::new().with(Tone::Good, WHEEL[step]).plain(" ");
    if let Some(run) = &view.run {
        // The whole name has scrolled by.
        let short = run.as_str().rsplit('-').next().unwrap_or_default();
        let name = if columns < WIDE { short } else { run.as_str() };
        first = first.with(Tone::Strong, name).with(Tone::Faint, BETWEEN);
    }
    let (agents, mut used) = (agents(view, now), used(view, columns));
    if room < LOW {
        return flow(first, agents.into_iter().chain(used).collect(), columns, 1);
    }
    let mut lines = flow(first, agents, columns, if room < HIGH { 1 } else { 2 });
    let hint = (Tone::Faint, "Ctrl-C ends the run".to_owned());
    used.extend((!view.stopping).then_some(hint));
    lines.extend(flow(Line::new().plain("  "), used, columns, 1));
    lines
}

fn agents(view: &View, now: Duration) -> Vec<(Tone, String)> {
    let all = view.tree().all();
    let running = all.of(Standing::Running);
    let slots = match view.plan().slots {
        Some(slots) => format!("{running}/{slots} slots"),
        None => format!("{running} running"),
    };
    let (badly, well) = (all.of(Standing::EndedBadly), all.of(Standing::EndedWell));
    let ended = match badly {
        0 => (Tone::Plain, well, "ended".to_owned()),
        badly => (Tone::Bad, well + badly, format!("ended ({badly} badly)")),
    };
    let others = [
        (Tone::Plain, all.of(Standing::Queued), "queued".to_owned()),
        (Tone::Warn, all.of(Standing::Blocked), "blocked".to_owned()),
        ended,
    ];
    let others = others.into_iter().filter(|(_, count, _)| *count > 0);
    let others = others.map(|(tone, count, word)| (tone, format!("{count} {word}")));
    [(Tone::Plain, amounts::clock(now)), (Tone::Good, slots)].into_iter().chain(others).collect()
}

fn used(view: &View, columns: usize) -> Vec<(Tone, String)> {
    let about = if view.estimated { "~" } else { "" };
    let used = view.tree().all().used;
    let tokens = if columns < NARROW {
        format!("{about}{} tokens", amounts::tokens(used.tokens))
    } else {
        amounts::usage(&view.usage, about)
    };
    let cost = view.cost.map(|cost| format!("cost {about}{}", amounts::cost(cost)));
    let facts = [amounts::count(used.turns, "turn", "turns"), tokens].into_iter().chain(cost);
    facts.map(|fact| (Tone::Faint, fact)).collect()
}

/// Facts one after another behind `first`, in at most so many lines: what does not fit is left out.
fn flow(first: Line, facts: Vec<(Tone, String)>, columns: usize, most: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = first;
    let mut begins = true;
    for (tone, fact) in facts {
        let fact = Line::new().with(tone, fact);
        let between = Line::new().with(Tone::Faint, if begins { "" } else { BETWEEN });
        if begins || line.width() + between.width() + fact.width() <= columns {
            line = line.and(between).and(fact);
        } else if lines.len() + 1 < most {
            lines.push(std::mem::replace(&mut line, Line::new().plain("  ").and(fact)));
        }
        begins = false;
    }
    lines.push(line);
    lines
}
