//! The body of a Responses request.

use super::KEPT_ITEMS;
use crate::wire::{
    Asked, Delivery, Fields,
    request::{Returned, Schema, arguments_text, returned, sendable, text_of},
};
use gg_core::{Call, CallSpec, Message, Role};
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeMap, SerializeSeq},
};
use serde_json::Value;

/// What the server is asked to put into its reply beyond the usual: reasoning in a form that can be sent back,
/// since it does not store any.
const INCLUDE: [&str; 1] = ["reasoning.encrypted_content"];

pub(super) fn write<M: SerializeMap>(asked: Asked<'_>, fields: &mut Fields<'_, M>) -> Result<(), M::Error> {
    let request = asked.request;
    fields.put("model", &request.model)?;
    if !request.system.is_empty() {
        fields.put("instructions", &request.system)?;
    }
    fields.put("input", &Input(asked))?;
    if !request.calls.is_empty() {
        fields.put("tools", &Tools(&request.calls))?;
    }
    fields.put("max_output_tokens", &request.max_output)?;
    fields.put("store", &false)?;
    fields.put("include", &INCLUDE)?;
    if asked.delivery == Delivery::Streamed {
        fields.put("stream", &true)?;
    }
    Ok(())
}

struct Tools<'a>(&'a [CallSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|spec| Tool {
            kind: "function",
            name: &spec.name,
            description: &spec.description,
            parameters: Schema(&spec.parameters),
            strict: false,
        }))
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Schema<'a>,
    /// Absent, it would mean "yes", and then every schema has to require all that it knows.
    strict: bool,
}

struct Input<'a>(Asked<'a>);

impl Serialize for Input<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for message in &self.0.request.messages {
            match message.role {
                Role::User => {
                    let content = text_of(message);
                    list.serialize_element(&Prompt { kind: "message", role: "user", content: &content })?;
                }
                Role::Assistant => reply(self.0, message, &mut list)?,
                Role::Results => {
                    for result in message.call_results() {
                        list.serialize_element(&Output {
                            kind: "function_call_output",
                            call_id: result.call.as_str(),
                            output: &result.content,
                        })?;
                    }
                }
            }
        }
        list.end()
    }
}

/// The items of one earlier reply.
fn reply<L: SerializeSeq>(asked: Asked<'_>, message: &Message, list: &mut L) -> Result<(), L::Error> {
    let mut phase = None;
    for (at, part) in returned(asked, message, &KEPT_ITEMS).into_iter().enumerate() {
        match part {
            Returned::Item(item) if item.get("type").and_then(Value::as_str) == Some("message") => {
                phase = item.get("phase").and_then(Value::as_str);
            }
            Returned::Item(reasoning) => list.serialize_element(reasoning)?,
            Returned::Text(text) => list.serialize_element(&Answer {
                kind: "message",
                id: format!("msg_{}_{at}", message.id.0),
                status: "completed",
                role: "assistant",
                content: [OutputText { kind: "output_text", text, annotations: [], logprobs: [] }],
                phase: phase.take(),
            })?,
            Returned::Call(call) => list.serialize_element(&FunctionCall(call))?,
        }
    }
    Ok(())
}

/// What the user said, in the short form that every server knows.
#[derive(Serialize)]
struct Prompt<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    content: &'a str,
}

/// What the model said: the long form, because some servers take no other for a reply. It wants an id, which
/// only has to look like one of the server's: under its own it would look for the message in its store, and miss
/// the reasoning that stood before it wherever that is left out.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    status: &'static str,
    role: &'static str,
    content: [OutputText<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
}

#[derive(Serialize)]
struct OutputText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    annotations: [(); 0],
    logprobs: [(); 0],
}

#[derive(Serialize)]
struct Output<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    call_id: &'a str,
    output: &'a str,
}

struct FunctionCall<'a>(&'a Call);

impl Serialize for FunctionCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let arguments = arguments_text(self.0).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("type", "function_call")?;
        map.serialize_entry("call_id", self.0.id.as_str())?;
        map.serialize_entry("name", &sendable(&self.0.name))?;
        map.serialize_entry("arguments", &arguments)?;
        map.end()
    }
}
