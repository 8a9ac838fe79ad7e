//! The body of a Chat Completions request: written once, straight from the window, and the same bytes for the
//! same request.

use crate::{error::ModelError, model::Request};
use bytes::Bytes;
use gg_core::{Arguments, Call, CallSpec, Message, Part, Role};
use serde::{Serialize, Serializer, ser::SerializeMap, ser::SerializeSeq};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::BTreeSet};

/// Whether a reply is asked for in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// As server-sent events.
    Streamed,
    /// As one JSON document.
    Whole,
}

/// The longest name of a call that servers take.
const LONGEST_NAME: usize = 64;

/// The body of `request`. Fields of `parameters` replace those of the same name; `null` removes one.
pub(crate) fn body(
    request: &Request,
    provider: &str,
    delivery: Delivery,
) -> Result<(Bytes, Delivery), ModelError> {
    if request.parameters.contains_key("messages") {
        return Err(ModelError::Parameter { name: "messages".into() });
    }
    let body = Body { request, provider, delivery };
    let bytes = serde_json::to_vec(&body)
        .map_err(|error| ModelError::Parameter { name: format!("parameters: {error}") })?;
    let delivery = match request.parameters.get("stream") {
        Some(Value::Bool(true)) => Delivery::Streamed,
        Some(_) => Delivery::Whole,
        None => delivery,
    };
    Ok((bytes.into(), delivery))
}

struct Body<'a> {
    request: &'a Request,
    provider: &'a str,
    delivery: Delivery,
}

/// Writes the fields that nothing in `parameters` replaces.
struct Fields<'a, M> {
    map: M,
    parameters: &'a Map<String, Value>,
}

impl<M: SerializeMap> Fields<'_, M> {
    fn put(&mut self, name: &'static str, value: &impl Serialize) -> Result<(), M::Error> {
        match self.parameters.get(name) {
            Some(_) => Ok(()),
            None => self.map.serialize_entry(name, value),
        }
    }
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, provider, delivery } = self;
        let mut fields = Fields { map: serializer.serialize_map(None)?, parameters: &request.parameters };
        fields.put("model", &request.model)?;
        fields.put("messages", &Messages { request, provider })?;
        if !request.calls.is_empty() {
            fields.put("tools", &Tools(&request.calls))?;
        }
        // The older name: every compatible server knows it, where `max_completion_tokens` is OpenAI's own.
        fields.put("max_tokens", &request.max_output)?;
        if *delivery == Delivery::Streamed {
            fields.put("stream", &true)?;
            fields.put("stream_options", &serde_json::json!({ "include_usage": true }))?;
        }
        // Sorted, so that the bytes do not depend on how the configuration was written.
        let names: BTreeSet<_> = request.parameters.keys().collect();
        for name in names {
            let value = &request.parameters[name];
            if !value.is_null() {
                fields.map.serialize_entry(name, value)?;
            }
        }
        fields.map.end()
    }
}

struct Tools<'a>(&'a [CallSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|spec| Tool {
            kind: "function",
            function: ToolFunction {
                name: &spec.name,
                description: &spec.description,
                parameters: &spec.parameters,
            },
        }))
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

struct Messages<'a> {
    request: &'a Request,
    provider: &'a str,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if !self.request.system.is_empty() {
            list.serialize_element(&Spoken { role: "system", content: &self.request.system })?;
        }
        for message in &self.request.messages {
            match message.role {
                Role::User => {
                    list.serialize_element(&Spoken { role: "user", content: &text_of(message) })?;
                }
                Role::Assistant => {
                    list.serialize_element(&Assistant { message, provider: self.provider })?;
                }
                Role::Results => {
                    for result in message.call_results() {
                        list.serialize_element(&ToolResult {
                            role: "tool",
                            tool_call_id: result.call.as_str(),
                            content: &result.content,
                        })?;
                    }
                }
            }
        }
        list.end()
    }
}

#[derive(Serialize)]
struct Spoken<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct ToolResult<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: &'a str,
}

struct Assistant<'a> {
    message: &'a Message,
    provider: &'a str,
}

impl Serialize for Assistant<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = text_of(self.message);
        let calls: Vec<_> = self.message.calls().map(ToolCall).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", "assistant")?;
        // Beside calls an empty text is null, as servers themselves write it: some refuse an empty one.
        let content = if text.is_empty() && !calls.is_empty() { None } else { Some(&text) };
        map.serialize_entry("content", &content)?;
        for part in &self.message.parts {
            // Nobody but the server that reasoned can make sense of its reasoning; others refuse the field.
            if let Part::Reasoning { provider, data: Value::Object(fields) } = part
                && provider == self.provider
            {
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
            }
        }
        if !calls.is_empty() {
            map.serialize_entry("tool_calls", &calls)?;
        }
        map.end()
    }
}

struct ToolCall<'a>(&'a Call);

impl Serialize for ToolCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Function<'a> {
            name: &'a str,
            arguments: &'a str,
        }
        let arguments = match &self.0.arguments {
            Arguments::Json(map) => serde_json::to_string(map),
            malformed @ Arguments::Malformed(_) => serde_json::to_string(&malformed.to_wire()),
        }
        .map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("id", self.0.id.as_str())?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &Function { name: &sendable(&self.0.name), arguments: &arguments })?;
        map.end()
    }
}

/// A name that servers take. A model may have called something by any name; the record keeps that one.
fn sendable(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let fitted: String = name.chars().take(LONGEST_NAME).map(|c| if fits(c) { c } else { '_' }).collect();
    if fitted.is_empty() { Cow::Borrowed("_") } else { Cow::Owned(fitted) }
}

/// The text of a message, without a copy where it is in one piece.
fn text_of(message: &Message) -> Cow<'_, str> {
    match message.parts.as_slice() {
        [Part::Text { text }] => Cow::Borrowed(text),
        _ => Cow::Owned(message.text()),
    }
}
