//! What the formats share in putting a reply together.

use crate::{
    call_ids::CallIds,
    error::ModelError,
    model::{Reply, Stop},
};
use gg_core::{Arguments, Call, Part, Turn, Usage};
use serde_json::{Value, json};

/// The most text, reasoning and arguments that one reply may hold, in bytes: some two million tokens, more
/// than any model writes, and little enough to be held by every agent at once.
pub(crate) const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;

/// The most calls in one reply: OpenAI offers at most as many tools. A model that repeats itself without end
/// is stopped here.
pub(crate) const MAX_CALLS: usize = 128;

/// The most parts of one reply where a format numbers them: its calls, with texts and reasoning between them.
pub(crate) const MAX_PARTS: usize = 4 * MAX_CALLS;

/// How much a reply holds so far.
#[derive(Debug, Default)]
pub(crate) struct Size(usize);

impl Size {
    /// So many bytes more, if that is not too many.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 > MAX_REPLY_BYTES {
            return Err(ModelError::TooLarge { what: "bytes of text and calls", limit: MAX_REPLY_BYTES });
        }
        Ok(())
    }

    /// Whether nothing has come yet.
    pub(crate) fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

/// The bytes of text in a value that came whole, its structure aside. Readers bound its depth.
pub(crate) fn text_in(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_in).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + text_in(value)).sum(),
        _ => 0,
    }
}

/// One call as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawCall {
    /// Its id, if the server gave one.
    pub(crate) id: Option<String>,
    /// What is called.
    pub(crate) name: String,
    /// The text of its arguments.
    pub(crate) arguments: String,
    /// Whether they are all that the model meant to write.
    pub(crate) trust: Trust,
}

/// When the arguments of a call that came count as whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Where they read so.
    #[default]
    AsItReads,
    /// Where they read so, and the model was not stopped in this very call: they may be a part of what was to
    /// come, and its server may have mended them.
    UnlessStopped,
    /// Never: they did not come.
    Never,
}

/// One part as it came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RawPart {
    /// What the client wants back.
    Reasoning(Value),
    /// Text, not empty.
    Text(String),
    /// A call.
    Call(RawCall),
}

/// Where a reply belongs.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    /// The provider that made it.
    pub(crate) provider: &'a str,
    /// The model that did.
    pub(crate) model: &'a str,
    /// The turn that asked for it.
    pub(crate) turn: Turn,
    /// The ids that are taken in the window.
    pub(crate) ids: CallIds,
}

impl Place<'_> {
    /// An item that goes back to this very model, and to no other: a signature or a cipher is its maker's.
    pub(crate) fn item(&self, item: Value) -> RawPart {
        RawPart::Reasoning(json!({ "model": self.model, "item": item }))
    }

    /// The reply with these parts, in their order. A call without a name cannot be answered.
    pub(crate) fn reply(
        mut self,
        raw: Vec<RawPart>,
        usage: Option<Usage>,
        stop: Stop,
    ) -> Result<Reply, ModelError> {
        let last = raw.len();
        let mut parts = Vec::with_capacity(last);
        let mut calls = 0;
        for (at, part) in raw.into_iter().enumerate() {
            parts.push(match part {
                RawPart::Reasoning(data) => Part::Reasoning { provider: self.provider.to_owned(), data },
                RawPart::Text(text) => Part::Text { text },
                RawPart::Call(call) if call.name.is_empty() => {
                    return Err(ModelError::Malformed { message: "a call without a name".into() });
                }
                RawPart::Call(call) => {
                    calls += 1;
                    let stopped_here = at + 1 == last && matches!(stop, Stop::Length | Stop::Refused);
                    Part::Call(Call {
                        id: self.ids.assign(call.id.as_deref(), self.turn, calls),
                        name: call.name,
                        arguments: arguments(call.arguments, call.trust, stopped_here),
                    })
                }
            });
        }
        Ok(Reply { parts, usage, stop, attempts: 1 })
    }
}

/// The arguments as they came. Of a call that the model was still writing when it was stopped, nothing at
/// all does not mean "no arguments": it stays malformed, so that nobody runs it.
fn arguments(raw: String, trust: Trust, stopped_here: bool) -> Arguments {
    let is_cut = match trust {
        Trust::AsItReads => stopped_here && raw.trim().is_empty(),
        Trust::UnlessStopped => stopped_here,
        Trust::Never => true,
    };
    if is_cut { Arguments::Malformed(raw) } else { Arguments::parse(&raw) }
}

/// Why a reply ended that ended by itself. Servers mix up their words for it, so what the reply holds counts
/// for more.
pub(crate) fn done(raw: &[RawPart]) -> Stop {
    if raw.iter().any(|part| matches!(part, RawPart::Call(_))) { Stop::Calls } else { Stop::End }
}

/// A reason that gg has no name for.
pub(crate) fn unheard_of(reason: &str) -> Stop {
    Stop::Other(gg_core::text::glance(reason, 64))
}

/// That the reply is not whole.
pub(crate) fn broke_off(message: &str) -> ModelError {
    ModelError::Cut { message: message.into() }
}

/// The usage that a server reported, in gg's terms: a part is never more than its whole, whatever it counts.
pub(crate) fn usage(input: u64, cached: u64, output: u64, reasoning: u64) -> Usage {
    Usage { input, cached: cached.min(input), output, reasoning: reasoning.min(output) }
}
