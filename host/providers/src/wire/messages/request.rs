//! The body of a Messages request.

use super::turns::{Block, Turn, turns};
use crate::wire::{
    Asked, Delivery, Fields,
    request::{Schema, is_failure, sendable},
};
use gg_core::CallSpec;
use serde::{Serialize, Serializer, ser::SerializeMap};

pub(super) fn write<M: SerializeMap>(asked: Asked<'_>, fields: &mut Fields<'_, M>) -> Result<(), M::Error> {
    let request = asked.request;
    fields.put("model", &request.model)?;
    fields.put("max_tokens", &request.max_output)?;
    if !request.system.trim().is_empty() {
        fields.put("system", &request.system)?;
    }
    fields.put("messages", &turns(asked))?;
    if !request.calls.is_empty() {
        fields.put("tools", &Tools(&request.calls))?;
    }
    if asked.delivery == Delivery::Streamed {
        fields.put("stream", &true)?;
    }
    Ok(())
}

struct Tools<'a>(&'a [CallSpec]);

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|spec| Tool {
            name: &spec.name,
            description: &spec.description,
            input_schema: Schema(&spec.parameters),
        }))
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Schema<'a>,
}

impl Serialize for Turn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("role", self.role)?;
        map.serialize_entry("content", &self.blocks)?;
        map.end()
    }
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = match self {
            // As it came, to the last field: its signature covers it.
            Self::Thought(thought) => return thought.serialize(serializer),
            _ => serializer.serialize_map(None)?,
        };
        match self {
            Self::Thought(_) => {}
            Self::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            Self::Call(call) => {
                map.serialize_entry("type", "tool_use")?;
                map.serialize_entry("id", call.id.as_str())?;
                map.serialize_entry("name", &sendable(&call.name))?;
                map.serialize_entry("input", &call.arguments.to_wire())?;
            }
            Self::Result(result) => {
                map.serialize_entry("type", "tool_result")?;
                map.serialize_entry("tool_use_id", result.call.as_str())?;
                // An empty text is no content at all.
                if !result.content.is_empty() {
                    map.serialize_entry("content", &result.content)?;
                }
                if is_failure(result) {
                    map.serialize_entry("is_error", &true)?;
                }
            }
        }
        map.end()
    }
}
