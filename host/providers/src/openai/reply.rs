//! Puts a reply together from its pieces. Nothing leaves here before the whole has come in.

use super::{
    fragments::Fragments,
    wire::{Choice, Envelope, Said},
};
use crate::{
    call_ids::CallIds,
    error::ModelError,
    model::{Delta, Deltas, Reply, Stop},
};
use gg_core::{Arguments, Call, Part, Turn, Usage};
use serde_json::{Map, Value};

/// The most text, reasoning and arguments that one reply may hold, in bytes: some two million tokens, more
/// than any model writes, and little enough to be held by every agent at once.
pub(crate) const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;

/// A reply as far as it has come in.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    text: String,
    refusal: String,
    reasoning_content: String,
    reasoning: String,
    fragments: Fragments,
    finish: Option<String>,
    usage: Option<Usage>,
    bytes: usize,
}

/// How the reply's transmission ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transmission {
    /// With the protocol's own mark, or as a whole document.
    Marked,
    /// The connection ended in good order, without a mark.
    Ended,
}

impl Assembly {
    /// Takes one piece, shows what is new, and says whether the limits still hold. Errors inside the piece
    /// have been looked for before.
    pub(crate) fn add(&mut self, envelope: Envelope, deltas: &dyn Deltas) -> Result<(), ModelError> {
        if let Some(usage) = envelope.usage.and_then(super::wire::UsageReport::into_usage) {
            self.usage = Some(usage);
        }
        // gg asks for one reply; should a parameter have asked for more, the first one counts.
        let first = envelope.choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0);
        for Choice { delta, message, finish_reason, .. } in first {
            if let Some(said) = delta {
                self.said(said, deltas)?;
            } else if let Some(said) = message.filter(|_| self.is_empty()) {
                // Some servers close a stream by restating the whole message; it is only news if it is all.
                self.said(said, deltas)?;
            }
            self.finish = finish_reason.filter(|reason| !reason.is_empty()).or(self.finish.take());
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.bytes == 0 && self.fragments.is_empty()
    }

    fn said(&mut self, said: Said, deltas: &dyn Deltas) -> Result<(), ModelError> {
        let content = said.content.map(super::wire::Content::into_text).unwrap_or_default();
        let reasoning_content = said.reasoning_content.unwrap_or_default();
        let reasoning = said.reasoning.unwrap_or_default();
        let refusal = said.refusal.unwrap_or_default();
        self.grow(content.len() + reasoning_content.len() + reasoning.len() + refusal.len())?;
        // Servers that know both names write the same under each: it is shown once.
        let thought = if reasoning_content.is_empty() { &reasoning } else { &reasoning_content };
        if !thought.is_empty() {
            deltas.delta(Delta::Reasoning(thought));
        }
        for text in [&content, &refusal].into_iter().filter(|text| !text.is_empty()) {
            deltas.delta(Delta::Text(text));
        }
        self.text.push_str(&content);
        self.refusal.push_str(&refusal);
        self.reasoning_content.push_str(&reasoning_content);
        self.reasoning.push_str(&reasoning);
        for fragment in said.tool_calls {
            let bytes = self.fragments.add(fragment)?;
            self.grow(bytes)?;
        }
        Ok(())
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_REPLY_BYTES {
            return Err(ModelError::TooLarge { what: "bytes of text and calls", limit: MAX_REPLY_BYTES });
        }
        Ok(())
    }

    /// The whole reply; or that it is not whole: neither a reason for its end was given, nor can its calls be
    /// told from cut ones.
    pub(crate) fn finish(
        self,
        transmission: Transmission,
        provider: &str,
        turn: Turn,
        mut ids: CallIds,
    ) -> Result<Reply, ModelError> {
        let broke_off = |message: &str| ModelError::Cut { message: message.into() };
        if self.finish.is_none() {
            if transmission == Transmission::Ended {
                return Err(broke_off("it ended without a finish_reason and without [DONE]"));
            }
            if !self.fragments.are_whole() {
                return Err(broke_off("it ended without a finish_reason, in the middle of a call"));
            }
        }
        let reason = self.finish.unwrap_or_default();
        if reason == "error" {
            return Err(broke_off("the server says that it failed (finish_reason: error)"));
        }
        let declined = !self.refusal.is_empty() && self.text.is_empty();
        let calls = self.fragments.into_calls()?;
        let stop = if declined { Stop::Refused } else { stop(&reason, !calls.is_empty()) };
        let mut parts = Vec::new();
        let mut data = Map::new();
        for (name, text) in [("reasoning_content", self.reasoning_content), ("reasoning", self.reasoning)] {
            if !text.is_empty() {
                data.insert(name.into(), text.into());
            }
        }
        if !data.is_empty() {
            parts.push(Part::Reasoning { provider: provider.to_owned(), data: Value::Object(data) });
        }
        let text = if declined { self.refusal } else { self.text };
        if !text.is_empty() {
            parts.push(Part::Text { text });
        }
        let last = calls.len();
        for (at, call) in calls.into_iter().enumerate() {
            let stopped_here = at + 1 == last && matches!(stop, Stop::Length | Stop::Refused);
            parts.push(Part::Call(Call {
                id: ids.assign(call.id.as_deref(), turn, at + 1),
                name: call.name,
                arguments: arguments(call.arguments, stopped_here),
            }));
        }
        Ok(Reply { parts, usage: self.usage, stop, attempts: 1 })
    }
}

/// The arguments as they came. Of a call that the model was still writing when it was stopped, nothing at
/// all does not mean "no arguments": it stays malformed, so that nobody runs it.
fn arguments(raw: String, stopped_here: bool) -> Arguments {
    if stopped_here && raw.trim().is_empty() {
        return Arguments::Malformed(raw);
    }
    Arguments::parse(&raw)
}

/// What a `finish_reason` means. Servers that never learned to say `tool_calls` say `stop`, so what the reply
/// holds counts for more.
fn stop(reason: &str, has_calls: bool) -> Stop {
    match reason {
        "length" | "max_tokens" | "model_length" | "max_output_tokens" | "MAX_TOKENS" => Stop::Length,
        "content_filter" | "refusal" | "safety" | "SAFETY" => Stop::Refused,
        "" | "stop" | "STOP" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "tool_calls"
        | "tool_use" | "function_call" => {
            if has_calls {
                Stop::Calls
            } else {
                Stop::End
            }
        }
        other => Stop::Other(gg_core::text::glance(other, 64)),
    }
}
