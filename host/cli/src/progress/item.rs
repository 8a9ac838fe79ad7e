//! Finished things, as they scroll past whoever watches a run, or reads it later.

use super::passage::Passage;
use crate::{
    amounts,
    styled::{Line, Tone, wrap},
};
use gg_core::{
    AgentId, Arguments, CallStatus, CompactionReason, Event, HookOutcome, HookPoint, Origin, Recorded,
    text::glance,
};
use serde_json::Value;
use std::time::Duration;

/// The most lines of one reply that scroll past: a long one would push everything else off the screen. The
/// record has it whole.
const MAX_REPLY_LINES: usize = 20;

/// The most characters shown of one argument. A terminal cuts further, to its own width.
const MAX_ARGUMENT_CHARS: usize = 60;

/// The most characters shown of all arguments of a call, or of any other glance.
pub(crate) const MAX_GLANCE_CHARS: usize = 200;

/// Something that is over, or was decided.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// Whose it is; absent for the run's own, and where there is only one agent.
    pub(crate) agent: Option<AgentId>,
    /// What it is.
    pub(crate) what: What,
}

/// See [`Item`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// The run began.
    Started { run: String, prompt: String },
    /// An agent came to be.
    Spawned { profile: String, model: String, parent: Option<AgentId> },
    /// The agent became another, or something else of that kind.
    Passage(Passage),
    /// A turn began. `counted` is how many the limit has counted by then.
    Turn { turn: u32, counted: u64, limit: Option<u32> },
    /// The model said something beside its calls.
    Said { text: String },
    /// A call is about to run.
    Called { name: String, arguments: String },
    /// A call's result came.
    Answered { name: String, arguments: String, status: CallStatus, done: Option<Done>, glance: String },
    /// What an agent other than the root was asked for.
    Asked { profile: String, parent: AgentId, glance: String },
    /// The agent was told something.
    Told { origin: Origin, glance: String },
    /// The window was compacted.
    Compacted { reason: CompactionReason, before: u64, after: u64, folded: u64 },
    /// The window was to be compacted and was not.
    NotCompacted { reason: CompactionReason, error: String },
    /// A hook did not just pass.
    Hooked { command: String, about: String, outcome: HookOutcome, elapsed: Duration },
    /// A module broke.
    ModuleFailed { module: String, hook: String, error: String },
    /// The agent was told that it repeats itself.
    Nudged { repeats: u32 },
    /// A request is sent again after a pause.
    Retrying { error: String, wait: Duration },
    /// The agent waits for others.
    Waits { on: String },
    /// An agent ended while others had not.
    Ended { good: bool, sentence: String, facts: String, glance: String },
    /// The run's own agent has ended, and the run has not.
    Waiting { says: String },
}

/// What a call took and gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Done {
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// The size of its result.
    pub(crate) bytes: u64,
}

impl Item {
    /// The item as lines of at most so many columns.
    pub(crate) fn lines(&self, columns: usize) -> Vec<Line> {
        let mut prefix = Line::new();
        if let Some(agent) = &self.agent {
            prefix = prefix.and(named(agent));
        }
        if let What::Said { text } = &self.what {
            return said(&prefix, text, columns);
        }
        vec![self.what.line(prefix).fit(columns)]
    }
}

/// An agent's id before what it did. Short ids are padded, so that lines of a hundred agents stand below each
/// other.
pub(crate) fn named(agent: &AgentId) -> Line {
    Line::new().with(Tone::Name, format!("{:<4}", agent.as_str())).plain(" ")
}

/// `a2, a3 and 97 more`: some ids, of so many.
pub(crate) fn id_list<'a>(first: impl ExactSizeIterator<Item = &'a str>, count: usize) -> String {
    let more = count.saturating_sub(first.len());
    let named = first.collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

fn said(prefix: &Line, text: &str, columns: usize) -> Vec<Line> {
    let room = columns.saturating_sub(2 + prefix.width());
    let mut wrapped = wrap(text.trim(), room);
    let left_out = wrapped.len().saturating_sub(MAX_REPLY_LINES);
    wrapped.truncate(MAX_REPLY_LINES);
    let mut lines: Vec<Line> =
        wrapped.into_iter().map(|line| prefix.clone().plain("  ").plain(line).fit(columns)).collect();
    if left_out > 0 {
        let more = format!(
            "  … {} more; gg show --transcript has all",
            amounts::count(left_out as u64, "line", "lines")
        );
        lines.push(prefix.clone().with(Tone::Faint, more).fit(columns));
    }
    lines
}

impl What {
    /// Whether it is something of one agent, to be named where there are several.
    pub(crate) fn is_of_agent(&self) -> bool {
        !matches!(self, Self::Started { .. } | Self::Waiting { .. })
    }

    /// Its line, begun with `line`.
    pub(crate) fn line(&self, line: Line) -> Line {
        match self {
            Self::Started { run, prompt } => line
                .with(Tone::Strong, "run ")
                .with(Tone::Strong, run)
                .with(Tone::Faint, format!("  {}", glance(prompt, MAX_GLANCE_CHARS))),
            Self::Spawned { profile, model, parent } => {
                let line = line.plain("agent ").with(Tone::Name, profile).plain(" on ").plain(model);
                match parent {
                    Some(parent) => line.plain(", for ").with(Tone::Name, parent.as_str()),
                    None => line,
                }
            }
            Self::Passage(passage) => passage.line(line),
            Self::Turn { turn, counted, limit } => {
                line.with(Tone::Strong, numbered_turn(*turn, *counted, *limit))
            }
            Self::Said { text } => line.plain(text),
            Self::Called { name, arguments } => line
                .with(Tone::Faint, "  → ")
                .with(Tone::Name, name)
                .plain(if arguments.is_empty() { "" } else { " " })
                .plain(arguments),
            Self::Answered { name, status, done, glance, .. } => {
                answered(line, name, *status, *done).with(Tone::Faint, without_status(glance, *status))
            }
            Self::Asked { glance, .. } => line.with(Tone::Faint, "  prompt: ").plain(glance),
            Self::Told { origin, glance } => {
                line.with(Tone::Warn, format!("  {}: ", origin_name(*origin))).plain(glance)
            }
            Self::Compacted { reason, before, after, folded } => {
                line.with(Tone::Warn, "  compacted ").plain(format!(
                    "{} to {} tokens: {} folded, {}",
                    amounts::tokens(*before),
                    amounts::tokens(*after),
                    amounts::count(*folded, "message", "messages"),
                    reason_words(*reason),
                ))
            }
            Self::NotCompacted { reason, error } => line
                .with(Tone::Bad, "  not compacted ")
                .plain(format!("though {}: {error}", reason_words(*reason))),
            Self::Hooked { command, about, outcome, elapsed } => line
                .with(Tone::Warn, "  hook ")
                .with(Tone::Name, command)
                .plain(format!(" {about}: "))
                .with(Tone::Warn, outcome_word(*outcome))
                .plain(format!(" in {}", amounts::elapsed(*elapsed))),
            Self::ModuleFailed { module, hook, error } => line
                .with(Tone::Bad, "  module ")
                .with(Tone::Bad, module)
                .plain(format!(" broke in {hook}, and was rebuilt: {error}")),
            Self::Nudged { repeats } => line
                .with(Tone::Warn, "  repeats itself: ")
                .plain(format!("told so after the same calls {repeats} times in a row")),
            Self::Retrying { error, wait } => line
                .with(Tone::Warn, "  asks the model again ")
                .plain(format!("in {}: {error}", amounts::elapsed(*wait))),
            Self::Waits { on } => line.with(Tone::Warn, "  waits for ").plain(on),
            Self::Ended { good, sentence, facts, glance } => line
                .with(if *good { Tone::Good } else { Tone::Bad }, sentence)
                .with(Tone::Faint, format!(" · {facts}  {glance}").trim_end()),
            Self::Waiting { says } => line.with(Tone::Warn, says),
        }
    }
}

fn answered(line: Line, name: &str, status: CallStatus, done: Option<Done>) -> Line {
    let (tone, word) = status_word(status);
    // Noting something takes no time, and its answer says nothing but that.
    let done = done.filter(|_| status != CallStatus::Noted);
    let took = done.map_or_else(String::new, |done| {
        let size = amounts::bytes(done.bytes);
        match done.elapsed.as_millis() {
            0 => format!(", {size}"),
            _ => format!(", {size} in {}", amounts::elapsed(done.elapsed)),
        }
    });
    line.with(Tone::Faint, "  ← ").with(Tone::Name, name).plain(" ").with(tone, word).plain(took).plain("  ")
}

/// How a call came out, in a word.
pub(crate) fn status_word(status: CallStatus) -> (Tone, &'static str) {
    match status {
        CallStatus::Ok => (Tone::Good, "ok"),
        CallStatus::Noted => (Tone::Good, "noted"),
        CallStatus::Refused => (Tone::Warn, "refused"),
        CallStatus::Failed => (Tone::Bad, "failed"),
        CallStatus::Unknown => (Tone::Bad, "outcome unknown"),
    }
}

/// A result's text without the word for its status, which stands before it already.
pub(crate) fn without_status(text: &str, status: CallStatus) -> &str {
    let word = match status {
        CallStatus::Ok => return text,
        CallStatus::Noted => "noted",
        CallStatus::Refused => "refused",
        CallStatus::Failed => "failed",
        CallStatus::Unknown => "outcome unknown",
    };
    match text.strip_prefix(word) {
        Some(rest) => rest.strip_prefix(": ").unwrap_or(rest),
        None => text,
    }
}

/// `turn 3/20`.
pub(crate) fn turn_of(counted: u64, limit: Option<u32>) -> String {
    match limit {
        Some(limit) => format!("turn {counted}/{limit}"),
        None => format!("turn {counted}"),
    }
}

/// The same of a turn that goes by its number: `turn 9 (3/20)`, if it is another one since the agent went on counting
/// where one before it stopped.
fn numbered_turn(turn: u32, counted: u64, limit: Option<u32>) -> String {
    match limit {
        Some(limit) if counted != u64::from(turn) => format!("turn {turn} ({counted}/{limit})"),
        limit => turn_of(turn.into(), limit),
    }
}

/// Why a window is compacted, in words.
pub(crate) fn reason_words(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Threshold => "over its threshold",
        CompactionReason::Asked => "asked for by the model",
        CompactionReason::TooLong => "too long for the server",
    }
}

fn outcome_word(outcome: HookOutcome) -> &'static str {
    match outcome {
        HookOutcome::Passed => "passed",
        HookOutcome::Refused => "refused",
        HookOutcome::Failed => "failed",
        HookOutcome::Late => "late, stopped",
    }
}

/// What a hook was asked about: `before write_file`.
fn about(on: HookPoint, call: Option<&str>) -> String {
    let call = glance(call.unwrap_or("a call"), MAX_ARGUMENT_CHARS);
    match on {
        HookPoint::BeforeCall => format!("before {call}"),
        HookPoint::AfterCall => format!("after {call}"),
        HookPoint::BeforeEnd => "before the end".into(),
    }
}

/// Why a message exists, in a word.
pub(crate) fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Prompt => "prompt",
        Origin::Reply => "reply",
        Origin::Results => "results",
        Origin::Inbox => "message",
        Origin::Notice => "notice",
        Origin::Opening => "opening note",
        Origin::Summary => "summary",
        Origin::Stub => "stub",
    }
}

/// A call's arguments in a line: `path="notes.txt" limit=20`.
pub(crate) fn arguments_glance(arguments: &Arguments) -> String {
    let map = match arguments {
        Arguments::Malformed(raw) => return format!("(malformed) {}", glance(raw, MAX_ARGUMENT_CHARS)),
        Arguments::Json(map) => map,
    };
    let mut out = String::new();
    for (name, value) in map {
        if !out.is_empty() {
            out.push(' ');
        }
        let value = match value {
            Value::String(text) => format!("\"{}\"", glance(text, MAX_ARGUMENT_CHARS)),
            other => glance(&other.to_string(), MAX_ARGUMENT_CHARS),
        };
        out.push_str(&format!("{}={value}", glance(name, MAX_ARGUMENT_CHARS)));
        if out.len() > MAX_GLANCE_CHARS {
            return glance(&out, MAX_GLANCE_CHARS);
        }
    }
    out
}

/// The item for an event that is one by itself, without what came before.
pub(crate) fn of_event(recorded: &Recorded) -> Option<What> {
    match &recorded.event {
        Event::RunStarted { run, prompt, .. } => {
            Some(What::Started { run: run.to_string(), prompt: prompt.clone() })
        }
        Event::AgentSpawned { profile, model, parent, .. } => {
            Some(What::Spawned { profile: profile.to_string(), model: model.clone(), parent: parent.clone() })
        }
        Event::Call { name, arguments, .. } => {
            Some(What::Called { name: name.clone(), arguments: arguments_glance(arguments) })
        }
        // One that passes changes nothing; the record has it.
        Event::Hook { outcome: HookOutcome::Passed, .. } => None,
        Event::Hook { on, name, command, outcome, elapsed_ms, .. } => Some(What::Hooked {
            command: glance(command, MAX_ARGUMENT_CHARS),
            about: about(*on, name.as_deref()),
            outcome: *outcome,
            elapsed: Duration::from_millis(*elapsed_ms),
        }),
        Event::Compaction { reason, before_tokens, after_tokens, folded, .. } => Some(What::Compacted {
            reason: *reason,
            before: *before_tokens,
            after: *after_tokens,
            folded: *folded,
        }),
        Event::CompactionFailed { reason, error, .. } => {
            Some(What::NotCompacted { reason: *reason, error: glance(error, MAX_GLANCE_CHARS) })
        }
        Event::ModuleFailed { module, hook, error, .. } => Some(What::ModuleFailed {
            module: module.clone(),
            hook: hook.clone(),
            error: glance(error, MAX_GLANCE_CHARS),
        }),
        Event::LoopNudge { repeats, .. } => Some(What::Nudged { repeats: *repeats }),
        event @ (Event::AgentTransition { .. } | Event::SuccessionFailed { .. } | Event::FsmState { .. }) => {
            Passage::of_event(recorded.agent.as_ref()?, event).map(What::Passage)
        }
        Event::AgentState { .. }
        | Event::TurnStarted { .. }
        | Event::Message { .. }
        | Event::Request { .. }
        | Event::Usage { .. }
        | Event::CallResult { .. }
        | Event::AgentEnded { .. }
        | Event::RunEnded { .. } => None,
    }
}
