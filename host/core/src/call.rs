//! What a model asks for, and the answer.

use crate::{id::CallId, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// How a call touches the world, which decides when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Changes nothing: calls marked so run side by side.
    ReadOnly,
    /// Changes something: its intent is recorded before it runs, and it runs alone.
    Acting,
    /// Only noted during the turn; applied at its end, after every result is recorded.
    Deferred,
}

/// A call that is offered to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallSpec {
    /// `snake_case`; unique within an agent.
    pub name: String,
    /// What the model reads to decide when to use it.
    pub description: String,
    /// The JSON Schema of the arguments: an object.
    pub parameters: Value,
    /// When it runs.
    pub effect: Effect,
    /// The feature of its capability that offers it; absent: always offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
}

impl CallSpec {
    /// Whether it is offered under these features of its capability. One that `features` does not name
    /// counts as off.
    pub fn is_offered(&self, features: &BTreeMap<String, bool>) -> bool {
        self.feature.as_ref().is_none_or(|name| features.get(name).copied().unwrap_or(false))
    }
}

/// The deepest nesting of arguments. JSON readers along the way stop at 127 levels, some of which the
/// messages and records around the arguments take; nothing an honest call needs comes near.
pub const MAX_ARGUMENT_DEPTH: usize = 64;

/// How deep a value is nested. Readers bound it, so this cannot exhaust the stack.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The arguments of a call, as far as the model managed to write them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Arguments {
    /// A JSON object.
    Json(Map<String, Value>),
    /// Anything else, as it was written. Such a call is refused, never guessed at.
    Malformed(String),
}

impl Arguments {
    /// Reads what a provider sent. Nothing at all, and `null`, count as no arguments.
    pub fn parse(raw: &str) -> Self {
        let trimmed = raw.trim();
        if trimmed.is_empty() || trimmed == "null" {
            return Self::Json(Map::new());
        }
        match serde_json::from_str::<Value>(trimmed) {
            Ok(value) if depth(&value) > MAX_ARGUMENT_DEPTH => Self::Malformed(raw.to_owned()),
            Ok(Value::Object(map)) => Self::Json(map),
            _ => Self::Malformed(raw.to_owned()),
        }
    }

    /// What goes back over the wire: always a JSON object, because real servers refuse anything else.
    pub fn to_wire(&self) -> Value {
        match self {
            Self::Json(map) => Value::Object(map.clone()),
            Self::Malformed(raw) => serde_json::json!({ "malformed": raw }),
        }
    }
}

/// One call that a model made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Pairs it with its result.
    pub id: CallId,
    /// The name it used, which may be of a call it was not offered.
    pub name: String,
    /// What it passed.
    pub arguments: Arguments,
}

/// How a call came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallStatus {
    /// It did what was asked.
    Ok,
    /// A declaration was noted, to be applied at the turn's end.
    Noted,
    /// It was not done, and the text says what would be right.
    Refused,
    /// It was tried and failed; the text says how.
    Failed,
    /// It acted on the world and its result was lost with a crash.
    Unknown,
}

/// The one result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// The call it answers.
    pub call: CallId,
    /// That call's name.
    pub name: String,
    /// How it came out.
    pub status: CallStatus,
    /// What the model reads.
    pub content: String,
}

/// The most of one result that a model is sent, in bytes. Larger ones are cut, and say so: one careless call
/// must not fill a window.
pub const MAX_RESULT_BYTES: usize = 64 * 1024;

impl CallResult {
    /// The result of `call` with this status and text, cut to [`MAX_RESULT_BYTES`].
    pub fn new(call: &Call, status: CallStatus, content: impl Into<String>) -> Self {
        let content = content.into();
        let content = match status {
            CallStatus::Refused => format!("refused: {content}"),
            CallStatus::Failed => format!("failed: {content}"),
            CallStatus::Unknown => format!("outcome unknown: {content}"),
            CallStatus::Ok | CallStatus::Noted => content,
        };
        Self {
            call: call.id.clone(),
            name: call.name.clone(),
            status,
            content: text::cut_saying_so(content, MAX_RESULT_BYTES),
        }
    }

    /// Adds what somebody else has to say of the result, and is sure to be read: where both do not fit into
    /// [`MAX_RESULT_BYTES`], the result gives way.
    pub fn add_remark(&mut self, remark: &str) {
        const BETWEEN: &str = "\n\n";
        let remark = text::cut_saying_so(remark.to_owned(), MAX_RESULT_BYTES / 4);
        let room = MAX_RESULT_BYTES - remark.len() - BETWEEN.len();
        let content = text::cut_saying_so(std::mem::take(&mut self.content), room);
        self.content = content + BETWEEN + &remark;
    }

    /// A result whose content is a JSON value: a string stands as it is, anything else as JSON.
    pub fn value(call: &Call, value: &Value) -> Self {
        let content = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Self::new(call, CallStatus::Ok, content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_of_bounded_depth_is_taken_as_arguments() {
        let object = Arguments::parse(r#" {"a":1} "#);
        assert_eq!(object.to_wire(), serde_json::json!({"a": 1}));
        for none in ["", "  ", "null", "{}"] {
            assert_eq!(Arguments::parse(none), Arguments::Json(Map::new()), "{none:?}");
        }
        let deep = format!("{}1{}", r#"{"a":"#.repeat(65), "}".repeat(65));
        for wrong in ["[1]", "\"text\"", "{\"a\":", "7", deep.as_str()] {
            assert_eq!(Arguments::parse(wrong), Arguments::Malformed(wrong.to_owned()));
        }
        assert_eq!(Arguments::parse("{\"a\":").to_wire(), serde_json::json!({"malformed": "{\"a\":"}));
    }

    #[test]
    fn a_result_is_bounded_and_says_what_it_is() {
        let call = Call { id: "c".into(), name: "read".into(), arguments: Arguments::parse("") };
        let long = CallResult::new(&call, CallStatus::Ok, "x".repeat(MAX_RESULT_BYTES + 1));
        assert!(long.content.len() <= MAX_RESULT_BYTES);
        let mut remarked = long.clone();
        remarked.add_remark("but\nstill");
        assert!(remarked.content.len() <= MAX_RESULT_BYTES);
        assert!(remarked.content.ends_with(" bytes shown]\n\nbut\nstill"));
        let mut drowned = CallResult::new(&call, CallStatus::Ok, "yes");
        drowned.add_remark(&"y".repeat(MAX_RESULT_BYTES));
        assert!(drowned.content.starts_with("yes\n\nyyy") && drowned.content.len() < MAX_RESULT_BYTES / 2);
        assert_eq!(CallResult::new(&call, CallStatus::Refused, "no").content, "refused: no");
        assert_eq!(CallResult::value(&call, &serde_json::json!("text")).content, "text");
        assert_eq!(CallResult::value(&call, &serde_json::json!({"a": 1})).content, r#"{"a":1}"#);
    }
}
