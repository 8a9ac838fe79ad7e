//! The body of a Chat Completions request.

use crate::wire::{
    Asked, Delivery, Fields, Thoughts,
    request::{Schema, arguments_text, sendable, text_of},
};
use gg_core::{Call, CallSpec, Message, Part, Role};
use serde::{
    Serialize, Serializer,
    ser::{Error, SerializeMap, SerializeSeq},
};
use serde_json::{Value, json};

/// The fields in which servers put reasoning, and take it back.
const REASONING: [&str; 2] = ["reasoning_content", "reasoning"];

pub(super) fn write<M: SerializeMap>(asked: Asked<'_>, fields: &mut Fields<'_, M>) -> Result<(), M::Error> {
    let request = asked.request;
    fields.put("model", &request.model)?;
    fields.put("messages", &Messages(asked))?;
    if !request.calls.is_empty() {
        fields.put("tools", &Tools(&request.calls))?;
    }
    // The older name: every compatible server knows it, where `max_completion_tokens` is OpenAI's own.
    fields.put("max_tokens", &request.max_output)?;
    if asked.delivery == Delivery::Streamed {
        fields.put("stream", &true)?;
        fields.put("stream_options", &json!({ "include_usage": true }))?;
    }
    Ok(())
}

struct Tools<'a>(&'a [CallSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|spec| Tool {
            kind: "function",
            function: ToolFunction {
                name: &spec.name,
                description: &spec.description,
                parameters: Schema(&spec.parameters),
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
    parameters: Schema<'a>,
}

struct Messages<'a>(Asked<'a>);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if !self.0.request.system.is_empty() {
            list.serialize_element(&Spoken { role: "system", content: &self.0.request.system })?;
        }
        for message in &self.0.request.messages {
            match message.role {
                Role::User => {
                    list.serialize_element(&Spoken { role: "user", content: &text_of(message) })?;
                }
                Role::Assistant => {
                    list.serialize_element(&Assistant { message, asked: self.0 })?;
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
    asked: Asked<'a>,
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
                && provider == self.asked.provider
                && self.asked.thoughts == Thoughts::Returned
            {
                for (name, value) in fields.iter().filter(|(name, _)| REASONING.contains(&name.as_str())) {
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
        let arguments = arguments_text(self.0).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("id", self.0.id.as_str())?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("function", &Function { name: &sendable(&self.0.name), arguments: &arguments })?;
        map.end()
    }
}
