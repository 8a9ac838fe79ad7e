//! Everything that was said in a run, whole.

use crate::{
    clean,
    progress::{
        item::{Item, of_event, origin_name, status_word},
        passage::carried,
    },
    styled::{Line, Tone},
};
use gg_core::{AgentId, Arguments, Call, CallResult, Event, Message, MessageId, Part, Recorded, Turn};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Makes lines of a run's events, in order.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// The agent that is told of alone.
    only: Option<AgentId>,
    /// Under which heading the last lines stand.
    under: Option<(Option<AgentId>, Place)>,
    /// The messages that some stream has stated.
    stated: HashSet<MessageId>,
    /// Agents that have not taken a turn, with those that they come from.
    taking_over: HashMap<AgentId, AgentId>,
    /// Messages that were taken over and that no line tells of yet: by whom, and how many.
    untold: Option<(AgentId, u64)>,
}

/// What a heading names beside the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A turn of its own.
    In(Turn),
    /// What it has from another.
    From(AgentId),
}

impl Transcript {
    /// The transcript of one agent, or of all. It has to be shown every event in either case.
    pub(crate) fn new(only: Option<&AgentId>) -> Self {
        Self { only: only.cloned(), ..Self::default() }
    }

    /// The lines for the next event; a heading first where another turn, or another agent's, begins.
    pub(crate) fn observe(&mut self, event: &Recorded) -> Vec<Line> {
        let taken_over = self.learn(event);
        if self.only.is_some() && self.only != event.agent {
            return Vec::new();
        }
        match (taken_over, &event.agent) {
            // It stands above already, where the other agent's stream has it.
            (Some(_), Some(agent)) if self.only.is_none() => self.count(agent),
            (from, _) => {
                let mut lines = self.finish();
                lines.extend(self.tell(event, from));
                lines
            }
        }
    }

    /// The lines that are due once there are no more events.
    pub(crate) fn finish(&mut self) -> Vec<Line> {
        let Some((agent, messages)) = self.untold.take() else { return Vec::new() };
        let Some(from) = self.taking_over.get(&agent).cloned() else { return Vec::new() };
        let mut lines = self.heading(Some(&agent), Place::In(Turn(0)));
        lines.push(Line::new().with(Tone::Faint, carried(messages, &from)));
        lines
    }

    /// Takes in who comes from whom, and says where a message was taken over from.
    fn learn(&mut self, event: &Recorded) -> Option<AgentId> {
        let agent = event.agent.as_ref()?;
        match &event.event {
            Event::AgentTransition { to, .. } => {
                self.taking_over.insert(to.clone(), agent.clone());
                None
            }
            Event::Message { message, .. } => {
                let is_new = self.stated.insert(message.id);
                self.taking_over.get(agent).filter(|_| !is_new).cloned()
            }
            _ => None,
        }
    }

    /// Counts a message that was taken over; what was counted for another agent is told first.
    fn count(&mut self, agent: &AgentId) -> Vec<Line> {
        let is_same = self.untold.as_ref().is_none_or(|(of, _)| of == agent);
        let lines = if is_same { Vec::new() } else { self.finish() };
        self.untold.get_or_insert_with(|| (agent.clone(), 0)).1 += 1;
        lines
    }

    fn tell(&mut self, event: &Recorded, from: Option<AgentId>) -> Vec<Line> {
        let agent = event.agent.as_ref();
        let before_first = agent.is_some_and(|agent| self.taking_over.contains_key(agent));
        let place = |turn: &Turn| Place::In(if before_first { Turn(0) } else { *turn });
        match &event.event {
            Event::Message { turn, message } => {
                let place = from.map_or_else(|| place(turn), Place::From);
                let mut lines = self.heading(agent, place);
                lines.extend(of_message(message));
                lines
            }
            Event::Hook { turn, .. }
            | Event::Compaction { turn, .. }
            | Event::CompactionFailed { turn, .. }
            | Event::ModuleFailed { turn, .. }
            | Event::AgentTransition { turn, .. }
            | Event::SuccessionFailed { turn, .. } => self.item(event, place(turn)),
            Event::FsmState { .. } => self.item(event, Place::In(Turn(0))),
            Event::TurnStarted { .. } => {
                agent.and_then(|agent| self.taking_over.remove(agent));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn item(&mut self, event: &Recorded, place: Place) -> Vec<Line> {
        let Some(what) = of_event(event) else { return Vec::new() };
        let mut lines = self.heading(event.agent.as_ref(), place);
        lines.extend(Item { agent: None, what }.lines(usize::MAX));
        lines
    }

    fn heading(&mut self, agent: Option<&AgentId>, place: Place) -> Vec<Line> {
        let words = match &place {
            Place::In(Turn(0)) => "before its first turn".into(),
            Place::In(turn) => format!("turn {turn}"),
            Place::From(other) => format!("begins with messages of {other}"),
        };
        let here = Some((agent.cloned(), place));
        if self.under == here {
            return Vec::new();
        }
        let gap = self.under.is_some().then(Line::new);
        self.under = here;
        let mut line = Line::new().with(Tone::Faint, "── ");
        if let Some(agent) = agent {
            line = line.with(Tone::Name, agent.as_str()).plain(" ");
        }
        gap.into_iter().chain([line.with(Tone::Strong, words).with(Tone::Faint, " ──")]).collect()
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
