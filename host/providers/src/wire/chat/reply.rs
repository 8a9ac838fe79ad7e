//! Puts a reply together from its pieces.

use super::{
    fragments::Fragments,
    shapes::{Choice, Content, Envelope, Said, UsageReport},
};
use crate::{
    error::ModelError,
    model::{Delta, Deltas, Reply, Stop},
    wire::{
        self, Progress, Transmission,
        reply::{Place, RawPart, Size, broke_off, done, unheard_of},
    },
};
use gg_core::Usage;
use serde_json::{Map, Value};

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
    size: Size,
}

impl wire::Assembly for Assembly {
    type Document = Envelope;
    type Event = Envelope;

    fn document(&mut self, envelope: Envelope, raw: &[u8], deltas: &dyn Deltas) -> Result<(), ModelError> {
        if let Some(failure) = envelope.failure(raw) {
            return Err(failure.into_error(None));
        }
        if envelope.choices.is_empty() {
            return Err(ModelError::Malformed { message: "a document without `choices`".into() });
        }
        self.add(envelope, deltas)
    }

    fn event(
        &mut self,
        _: Option<&str>,
        envelope: Envelope,
        raw: &str,
        deltas: &dyn Deltas,
    ) -> Result<Progress, ModelError> {
        if let Some(failure) = envelope.failure(raw.as_bytes()) {
            return Err(failure.into_error(None));
        }
        self.add(envelope, deltas)?;
        Ok(Progress::More)
    }

    /// The whole reply; or that it is not whole: neither a reason for its end was given, nor can its calls be
    /// told from cut ones.
    fn finish(self, transmission: Transmission, place: Place<'_>) -> Result<Reply, ModelError> {
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
        let mut parts = Vec::new();
        let mut data = Map::new();
        for (name, text) in [("reasoning_content", self.reasoning_content), ("reasoning", self.reasoning)] {
            if !text.is_empty() {
                data.insert(name.into(), text.into());
            }
        }
        if !data.is_empty() {
            parts.push(RawPart::Reasoning(Value::Object(data)));
        }
        let declined = !self.refusal.is_empty() && self.text.is_empty();
        let text = if declined { self.refusal } else { self.text };
        if !text.is_empty() {
            parts.push(RawPart::Text(text));
        }
        parts.extend(self.fragments.into_calls().map(RawPart::Call));
        let stop = if declined { Stop::Refused } else { stop(&reason, &parts) };
        place.reply(parts, self.usage, stop)
    }
}

impl Assembly {
    /// Takes one piece, shows what is new, and says whether the limits still hold. Errors inside the piece
    /// have been looked for before.
    fn add(&mut self, envelope: Envelope, deltas: &dyn Deltas) -> Result<(), ModelError> {
        if let Some(usage) = envelope.usage.and_then(UsageReport::into_usage) {
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
        self.size.is_zero() && self.fragments.is_empty()
    }

    fn said(&mut self, said: Said, deltas: &dyn Deltas) -> Result<(), ModelError> {
        let content = said.content.map(Content::into_text).unwrap_or_default();
        let reasoning_content = said.reasoning_content.unwrap_or_default();
        let reasoning = said.reasoning.unwrap_or_default();
        let refusal = said.refusal.unwrap_or_default();
        self.size.grow(content.len() + reasoning_content.len() + reasoning.len() + refusal.len())?;
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
            self.size.grow(bytes)?;
        }
        Ok(())
    }
}

/// What a `finish_reason` means. Servers that never learned to say `tool_calls` say `stop`.
fn stop(reason: &str, parts: &[RawPart]) -> Stop {
    match reason {
        "length" | "max_tokens" | "model_length" | "max_output_tokens" | "MAX_TOKENS" => Stop::Length,
        "content_filter" | "refusal" | "safety" | "SAFETY" => Stop::Refused,
        "" | "stop" | "STOP" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "tool_calls"
        | "tool_use" | "function_call" => done(parts),
        other => unheard_of(other),
    }
}
