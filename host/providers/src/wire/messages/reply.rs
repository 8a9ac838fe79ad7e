//! Puts a message together from its events.

use super::{
    THOUGHTS,
    shapes::{Block, Event, Message, UsageReport},
};
use crate::{
    error::ModelError,
    failure::{Failure, is_telling},
    model::{Delta, Deltas, Reply, Stop},
    wire::{
        self, Progress, Transmission,
        reply::{
            MAX_CALLS, MAX_PARTS, Place, RawCall, RawPart, Size, Trust, broke_off, done, text_in, unheard_of,
        },
    },
};
use serde_json::{Map, Value};

/// A message as far as it has come in.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    blocks: Vec<Begun>,
    stop_reason: Option<String>,
    usage: UsageReport,
    size: Size,
}

/// A block that has begun.
#[derive(Debug)]
struct Begun {
    /// Its number.
    index: Option<u64>,
    /// What it began with: all of it, outside streams.
    head: Block,
    /// What has come since: text, thoughts or JSON, as its kind has it.
    rest: String,
    /// The signature that has come since.
    signature: Option<String>,
}

impl wire::Assembly for Assembly {
    type Document = Message;
    type Event = Event;

    fn document(&mut self, message: Message, raw: &[u8], deltas: &dyn Deltas) -> Result<(), ModelError> {
        let Some(blocks) = message.content.filter(|_| !message.error.as_ref().is_some_and(is_telling)) else {
            return Err(match Failure::in_place_of_reply(raw) {
                Some(failure) => failure.into_error(None),
                None => ModelError::Malformed { message: "a document without `content`".into() },
            });
        };
        for (index, block) in (0..).zip(blocks) {
            self.begin(Some(index), block, deltas)?;
        }
        self.stop_reason = message.stop_reason;
        self.usage = message.usage.unwrap_or_default();
        Ok(())
    }

    fn event(
        &mut self,
        name: Option<&str>,
        event: Event,
        raw: &str,
        deltas: &dyn Deltas,
    ) -> Result<Progress, ModelError> {
        match event.kind.as_deref().or(name).unwrap_or_default() {
            "message_start" => {
                let head = event.message.unwrap_or_default();
                self.usage = self.usage.then(head.usage.unwrap_or_default());
            }
            "content_block_start" => {
                self.begin(event.index, event.content_block.unwrap_or_default(), deltas)?;
            }
            "content_block_delta" => self.grow(event.index, event.delta.unwrap_or_default(), deltas)?,
            "message_delta" => {
                self.usage = self.usage.then(event.usage.unwrap_or_default());
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.stop_reason = reason.or(self.stop_reason.take());
            }
            "message_stop" => return Ok(Progress::Done),
            "error" => return Err(Failure::of_event(raw).into_error(None)),
            _ if event.error.as_ref().is_some_and(is_telling) => {
                return Err(Failure::of_event(raw).into_error(None));
            }
            _ => {}
        }
        Ok(Progress::More)
    }

    /// The whole reply; or that it is not whole: neither a reason for its end was given, nor can its calls be
    /// told from cut ones.
    fn finish(self, transmission: Transmission, place: Place<'_>) -> Result<Reply, ModelError> {
        if self.stop_reason.is_none() {
            if transmission == Transmission::Ended {
                return Err(broke_off("it ended without a stop_reason and without message_stop"));
            }
            if !self.blocks.iter().all(Begun::is_whole) {
                return Err(broke_off("it ended without a stop_reason, in the middle of a call"));
            }
        }
        let parts: Vec<_> = self.blocks.into_iter().filter_map(|block| block.into_part(&place)).collect();
        let stop = match self.stop_reason.as_deref().unwrap_or_default() {
            "" | "end_turn" | "tool_use" | "stop_sequence" => done(&parts),
            "max_tokens" | "model_context_window_exceeded" => Stop::Length,
            "refusal" => Stop::Refused,
            other => unheard_of(other),
        };
        place.reply(parts, self.usage.into_usage(), stop)
    }
}

impl Assembly {
    /// A block begins. Some servers give several blocks one number: the latest counts.
    fn begin(&mut self, index: Option<u64>, head: Block, deltas: &dyn Deltas) -> Result<(), ModelError> {
        if self.blocks.len() == MAX_PARTS {
            return Err(ModelError::TooLarge { what: "parts", limit: MAX_PARTS });
        }
        let block = Begun { index, head, rest: String::new(), signature: None };
        let is_call = |block: &Begun| block.kind() == Some("tool_use");
        if is_call(&block) && self.blocks.iter().filter(|block| is_call(block)).count() == MAX_CALLS {
            return Err(ModelError::TooLarge { what: "calls", limit: MAX_CALLS });
        }
        self.size.grow(block.head.values().map(text_in).sum())?;
        if let Some(text) = block.words("text") {
            deltas.delta(Delta::Text(text));
        }
        if let Some(thought) = block.words("thinking") {
            deltas.delta(Delta::Reasoning(thought));
        }
        self.blocks.push(block);
        Ok(())
    }

    fn grow(
        &mut self,
        index: Option<u64>,
        delta: super::shapes::Delta,
        deltas: &dyn Deltas,
    ) -> Result<(), ModelError> {
        let of_index = self.blocks.iter().rposition(|block| block.index == index);
        let at = of_index.or_else(|| self.blocks.len().checked_sub(1).filter(|_| index.is_none()));
        let at = match at {
            Some(at) => at,
            None => {
                self.begin(index, implied(&delta), deltas)?;
                self.blocks.len() - 1
            }
        };
        let block = &mut self.blocks[at];
        let pieces = [&delta.text, &delta.thinking, &delta.partial_json, &delta.signature];
        self.size.grow(pieces.into_iter().flatten().map(String::len).sum())?;
        match block.kind() {
            Some("text") => {
                let text = delta.text.unwrap_or_default();
                if !text.is_empty() {
                    deltas.delta(Delta::Text(&text));
                }
                block.rest.push_str(&text);
            }
            Some("thinking") => {
                let thought = delta.thinking.unwrap_or_default();
                if !thought.is_empty() {
                    deltas.delta(Delta::Reasoning(&thought));
                }
                block.rest.push_str(&thought);
                block.signature = delta.signature.or(block.signature.take());
            }
            Some("tool_use") => block.rest.push_str(&delta.partial_json.unwrap_or_default()),
            _ => {}
        }
        Ok(())
    }
}

/// What a block must be whose first piece comes before its beginning.
fn implied(delta: &super::shapes::Delta) -> Block {
    let kind = if delta.partial_json.is_some() {
        "tool_use"
    } else if delta.thinking.is_some() || delta.signature.is_some() {
        "thinking"
    } else {
        "text"
    };
    Map::from_iter([("type".to_owned(), kind.into())])
}

impl Begun {
    fn kind(&self) -> Option<&str> {
        self.field("type")
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.head.get(name).and_then(Value::as_str)
    }

    /// What a block of this kind, which has a field of the same name, began with.
    fn words(&self, kind: &str) -> Option<&str> {
        self.field(kind).filter(|words| self.kind() == Some(kind) && !words.is_empty())
    }

    /// Whether the block cannot be a part of a call.
    fn is_whole(&self) -> bool {
        self.kind() != Some("tool_use")
            || self.rest.is_empty()
            || serde_json::from_str::<Map<String, Value>>(&self.rest).is_ok()
    }

    /// The part of the reply that the block makes, if it makes one: what the server did by itself is over.
    fn into_part(mut self, place: &Place<'_>) -> Option<RawPart> {
        match self.kind()? {
            "text" => {
                let text = self.field("text").unwrap_or_default().to_owned() + &self.rest;
                (!text.is_empty()).then_some(RawPart::Text(text))
            }
            "tool_use" => Some(RawPart::Call(self.into_call())),
            kind if THOUGHTS.contains(&kind) => {
                if let Some(Value::String(thinking)) = self.head.get_mut("thinking") {
                    thinking.push_str(&self.rest);
                } else if !self.rest.is_empty() {
                    self.head.insert("thinking".into(), self.rest.into());
                }
                if let Some(signature) = self.signature {
                    self.head.insert("signature".into(), signature.into());
                }
                Some(place.item(Value::Object(self.head)))
            }
            _ => None,
        }
    }

    /// The call. An input that comes as an object may have been mended by the server: where the output limit
    /// ends a reply in a call, nothing tells its first half from the whole.
    fn into_call(self) -> RawCall {
        let input = match self.head.get("input") {
            Some(Value::Object(fields)) if fields.is_empty() => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        RawCall {
            id: self.field("id").map(str::to_owned),
            name: self.field("name").unwrap_or_default().to_owned(),
            arguments: if self.rest.is_empty() { input } else { self.rest },
            trust: Trust::UnlessStopped,
        }
    }
}
