//! Everything that was said in a run, whole.

use crate::{
    clean,
    progress::item::{Item, of_event, origin_name, status_word},
    styled::{Line, Tone},
};
use gg_core::{AgentId, Arguments, Call, CallResult, Event, Message, Part, Recorded, Turn};
use serde_json::Value;

/// Makes lines of a run's events, in order.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// Under which heading the last lines stand.
    under: Option<(Option<AgentId>, Turn)>,
}

impl Transcript {
    /// The lines for the next event; a heading first where another turn, or another agent's, begins.
    pub(crate) fn observe(&mut self, event: &Recorded) -> Vec<Line> {
        match &event.event {
            Event::Message { turn, message } => {
                let mut lines = self.heading(event.agent.as_ref(), *turn);
                lines.extend(of_message(message));
                lines
            }
            Event::Hook { turn, .. } | Event::Compaction { turn, .. } | Event::ModuleFailed { turn, .. } => {
                let Some(what) = of_event(&event.event) else { return Vec::new() };
                let mut lines = self.heading(event.agent.as_ref(), *turn);
                lines.extend(Item { agent: None, what }.lines(usize::MAX));
                lines
            }
            _ => Vec::new(),
        }
    }

    fn heading(&mut self, agent: Option<&AgentId>, turn: Turn) -> Vec<Line> {
        let here = Some((agent.cloned(), turn));
        if self.under == here {
            return Vec::new();
        }
        let gap = self.under.is_some().then(Line::new);
        self.under = here;
        let mut line = Line::new().with(Tone::Faint, "── ");
        if let Some(agent) = agent {
            line = line.with(Tone::Name, agent.as_str()).plain(" ");
        }
        let turn = if turn.0 == 0 { "before its first turn".into() } else { format!("turn {turn}") };
        gap.into_iter().chain([line.with(Tone::Strong, turn).with(Tone::Faint, " ──")]).collect()
    }
}

fn of_message(message: &Message) -> Vec<Line> {
    let mut lines = vec![
        Line::new()
            .with(Tone::Strong, origin_name(message.origin))
            .with(Tone::Faint, format!("  message {}", message.id)),
    ];
    for part in &message.parts {
        match part {
            Part::Text { text } => lines.extend(block(text, Tone::Plain)),
            Part::Reasoning { provider, .. } => {
                lines.push(Line::new().with(Tone::Faint, format!("  (reasoning, kept for {provider})")));
            }
            Part::Call(call) => lines.extend(of_call(call)),
            Part::Result(result) => lines.extend(of_result(result)),
        }
    }
    lines
}

fn of_call(call: &Call) -> Vec<Line> {
    let head = Line::new().with(Tone::Faint, "  → ").with(Tone::Name, &call.name);
    let arguments = match &call.arguments {
        Arguments::Json(map) if map.is_empty() => return vec![head],
        // What was just read from JSON can be written as JSON.
        Arguments::Json(map) => serde_json::to_string_pretty(&Value::Object(map.clone())).unwrap_or_default(),
        Arguments::Malformed(raw) => format!("(malformed) {raw}"),
    };
    std::iter::once(head).chain(block(&arguments, Tone::Faint)).collect()
}

fn of_result(result: &CallResult) -> Vec<Line> {
    let (tone, word) = status_word(result.status);
    let head =
        Line::new().with(Tone::Faint, "  ← ").with(Tone::Name, &result.name).plain(" ").with(tone, word);
    std::iter::once(head).chain(block(&result.content, Tone::Plain)).collect()
}

/// Text as it is, indented; a terminal breaks what is too wide for it.
fn block(text: &str, tone: Tone) -> Vec<Line> {
    clean::text(text).lines().map(|line| Line::new().plain("    ").with(tone, line)).collect()
}
