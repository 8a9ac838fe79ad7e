//! The few lines at the bottom of the terminal that say what goes on now.

use super::{
    item::{reason_words, turn_of},
    view::{Activity, Agent, View},
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

/// How long one step of the wheel is shown; also how often the live area is drawn.
pub(crate) const WHEEL_STEP: Duration = Duration::from_millis(100);

/// The live area at `now`, counted like the `at` of [`View::observe`]. No line is as wide as the terminal: the
/// last column stays free, so that the terminal never wraps one.
pub(crate) fn area(view: &View, size: Size, now: Duration) -> Vec<Line> {
    let columns = usize::from(size.columns).saturating_sub(1);
    let rows = usize::from(size.rows);
    let mut lines = Vec::new();
    lines.extend(tail(view, columns, rows));
    lines.extend(agents(view, rows, now));
    lines.push(totals(view, columns, now));
    if view.stopping {
        lines.push(Line::new().with(Tone::Warn, "  ending the run; Ctrl-C again exits at once"));
    }
    lines.into_iter().map(|line| line.fit(columns)).collect()
}

/// The last lines of what a model is writing: of the agent that has been writing for the shortest time.
fn tail(view: &View, columns: usize, rows: usize) -> Vec<Line> {
    let writing = view.agents().iter().filter(|agent| agent.activity == Activity::Writing);
    let Some(agent) = writing.max_by_key(|agent| agent.since) else {
        return Vec::new();
    };
    // A sixth of the height: the finished lines above stay in sight.
    let most = rows / 6;
    let wrapped = wrap(&agent.tail, columns.saturating_sub(2));
    let from = wrapped.len().saturating_sub(most);
    wrapped[from..].iter().map(|line| Line::new().with(Tone::Faint, "│ ").with(Tone::Faint, line)).collect()
}

fn agents(view: &View, rows: usize, now: Duration) -> Vec<Line> {
    let most = (rows / 4).max(1);
    let agents = view.agents();
    // Those at work come first; the others keep their order.
    let mut shown: Vec<&Agent> = agents.iter().collect();
    shown.sort_by_key(|agent| agent.activity == Activity::Queued);
    let mut lines: Vec<Line> = shown.iter().take(most).map(|agent| agent_line(agent, now)).collect();
    if agents.len() > most {
        lines.push(Line::new().with(Tone::Faint, format!("  and {} more", agents.len() - most)));
    }
    lines
}

fn agent_line(agent: &Agent, now: Duration) -> Line {
    let step = (now.as_millis() / WHEEL_STEP.as_millis()) as usize % WHEEL.len();
    let mut line =
        Line::new().with(Tone::Good, WHEEL[step]).plain(" ").with(Tone::Name, agent.profile.as_str());
    if !agent.is_root {
        line = line.plain(" ").with(Tone::Faint, agent.id.as_str());
    }
    if agent.turn.0 > 0 {
        line = line.plain(" · ").with(Tone::Strong, turn_of(agent.turn.0, agent.turn_limit));
    }
    let line = doing(agent, line.plain(" · "), now);
    let took = now.saturating_sub(agent.since);
    if took < Duration::from_secs(2) || matches!(agent.activity, Activity::Retrying { .. }) {
        return line;
    }
    line.with(Tone::Faint, format!(" ({})", amounts::clock(took)))
}

fn doing(agent: &Agent, line: Line, now: Duration) -> Line {
    match &agent.activity {
        Activity::Queued => line.plain("waiting for a slot"),
        Activity::Thinking => line.plain("thinking"),
        Activity::Writing => line.plain("writing"),
        Activity::Compacting(reason) => {
            line.with(Tone::Warn, "compacting").plain(format!(" its window, {}", reason_words(*reason)))
        }
        Activity::Retrying { until, error } => {
            let left = until.saturating_sub(now).as_secs_f64().ceil();
            line.with(Tone::Warn, format!("retrying in {left} s")).plain(format!(": {error}"))
        }
        Activity::Calling => calling(agent, line),
    }
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

fn totals(view: &View, columns: usize, now: Duration) -> Line {
    let about = if view.estimated { "~" } else { "" };
    let mut line = Line::new().with(Tone::Faint, format!("  {}", amounts::usage(&view.usage, about)));
    if let Some(cost) = view.cost {
        line = line.with(Tone::Faint, format!(" · cost {about}{}", amounts::cost(cost)));
    }
    let line = line.with(Tone::Faint, format!(" · {}", amounts::clock(now)));
    let hinted = line.clone().with(Tone::Faint, " · Ctrl-C ends the run");
    if view.stopping || hinted.width() > columns { line } else { hinted }
}
