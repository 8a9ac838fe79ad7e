//! What the formats share in writing a request: it is written once, straight from the window, and the same
//! bytes for the same request.

use super::Wire;
use crate::{error::ModelError, model::Request};
use bytes::Bytes;
use gg_core::{Arguments, Call, CallResult, Message, Part};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::BTreeSet, marker::PhantomData};

/// Whether a reply is asked for in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// As server-sent events.
    Streamed,
    /// As one JSON document.
    Whole,
}

/// Whether the model gets back what it thought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thoughts {
    /// All that is its own.
    Returned,
    /// Nothing: the server refused to take it back.
    LeftOut,
}

/// The longest name of a call that servers take.
const LONGEST_NAME: usize = 64;

/// A request, and who it goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// The request.
    pub(crate) request: &'a Request,
    /// The provider's name: reasoning goes back only to where it came from.
    pub(crate) provider: &'a str,
    /// How the reply is asked for.
    pub(crate) delivery: Delivery,
    /// Whether reasoning goes back at all.
    pub(crate) thoughts: Thoughts,
}

/// The body of a request. Fields of its parameters replace those of the same name; `null` removes one. Says
/// also how the reply is asked for, which a parameter may have changed.
pub(crate) fn body<W: Wire>(asked: Asked<'_>) -> Result<(Bytes, Delivery), ModelError> {
    let parameters = &asked.request.parameters;
    if let Some(name) = W::WINDOW.iter().find(|name| parameters.contains_key(**name)) {
        return Err(ModelError::Parameter { name: (*name).into() });
    }
    let body = Body::<W> { asked, wire: PhantomData };
    let bytes = serde_json::to_vec(&body)
        .map_err(|error| ModelError::Parameter { name: format!("parameters: {error}") })?;
    let delivery = match parameters.get("stream") {
        Some(Value::Bool(true)) => Delivery::Streamed,
        Some(_) => Delivery::Whole,
        None => asked.delivery,
    };
    Ok((bytes.into(), delivery))
}

struct Body<'a, W> {
    asked: Asked<'a>,
    wire: PhantomData<W>,
}

impl<W: Wire> Serialize for Body<'_, W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parameters = &self.asked.request.parameters;
        let mut fields = Fields { map: serializer.serialize_map(None)?, parameters };
        W::write(self.asked, &mut fields)?;
        // Sorted, so that the bytes do not depend on how the configuration was written.
        let names: BTreeSet<_> = parameters.keys().collect();
        for name in names {
            let value = &parameters[name];
            if !value.is_null() {
                fields.map.serialize_entry(name, value)?;
            }
        }
        fields.map.end()
    }
}

/// Writes the fields that nothing in `parameters` replaces.
pub(crate) struct Fields<'a, M> {
    map: M,
    parameters: &'a Map<String, Value>,
}

impl<M: SerializeMap> Fields<'_, M> {
    /// Writes one.
    pub(crate) fn put(&mut self, name: &'static str, value: &impl Serialize) -> Result<(), M::Error> {
        match self.parameters.get(name) {
            Some(_) => Ok(()),
            None => self.map.serialize_entry(name, value),
        }
    }
}

/// A part of the model's own reply, as it goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Returned<'a> {
    /// An item of this very model's.
    Item(&'a Value),
    /// A text, not empty.
    Text(&'a str),
    /// A call.
    Call(&'a Call),
}

/// The parts of a reply that go back to this model, in their order. Of reasoning that is only what this very
/// model made, and in one of these `kinds`; none stands at the end, because servers refuse reasoning that
/// leads to nothing.
pub(crate) fn returned<'a>(asked: Asked<'a>, message: &'a Message, kinds: &[&str]) -> Vec<Returned<'a>> {
    let part = |part: &'a Part| match part {
        Part::Reasoning { provider, data } => {
            let is_own = asked.thoughts == Thoughts::Returned
                && provider == asked.provider
                && data.get("model").and_then(Value::as_str) == Some(asked.request.model.as_str());
            let item = data.get("item").filter(|_| is_own)?;
            let kind = item.get("type").and_then(Value::as_str)?;
            kinds.contains(&kind).then_some(Returned::Item(item))
        }
        Part::Text { text } => (!text.is_empty()).then_some(Returned::Text(text)),
        Part::Call(call) => Some(Returned::Call(call)),
        // Results stand in messages of their own.
        Part::Result(_) => None,
    };
    let mut parts: Vec<_> = message.parts.iter().filter_map(part).collect();
    while let Some(Returned::Item(_)) = parts.last() {
        parts.pop();
    }
    parts
}

/// A name that servers take. A model may have called something by any name; the record keeps that one.
pub(crate) fn sendable(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let fitted: String = name.chars().take(LONGEST_NAME).map(|c| if fits(c) { c } else { '_' }).collect();
    if fitted.is_empty() { Cow::Borrowed("_") } else { Cow::Owned(fitted) }
}

/// The arguments of a call as the JSON text that both of OpenAI's formats carry.
pub(crate) fn arguments_text(call: &Call) -> serde_json::Result<String> {
    match &call.arguments {
        Arguments::Json(map) => serde_json::to_string(map),
        malformed @ Arguments::Malformed(_) => serde_json::to_string(&malformed.to_wire()),
    }
}

/// The text of a message, without a copy where it is in one piece.
pub(crate) fn text_of(message: &Message) -> Cow<'_, str> {
    match message.parts.as_slice() {
        [Part::Text { text }] => Cow::Borrowed(text),
        _ => Cow::Owned(message.text()),
    }
}

/// Whether a result says that its call came to nothing.
pub(crate) fn is_failure(result: &CallResult) -> bool {
    use gg_core::CallStatus::{Failed, Noted, Ok, Refused, Unknown};
    match result.status {
        Ok | Noted => false,
        Refused | Failed | Unknown => true,
    }
}

/// The schema of a call's arguments. Servers insist that it says what it describes; a module may have left
/// that out.
pub(crate) struct Schema<'a>(pub(crate) &'a Value);

impl Serialize for Schema<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) if !fields.contains_key("type") => {
                let mut map = serializer.serialize_map(Some(fields.len() + 1))?;
                map.serialize_entry("type", "object")?;
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
            schema => schema.serialize(serializer),
        }
    }
}
