//! The shapes of Responses, read leniently. Items stay values: what goes back has to go back as it came.

use crate::wire::{
    lenient::{lenient, or_default},
    reply,
};
use gg_core::Usage;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A whole response, or what an event says of it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Response {
    /// `completed`, `incomplete`, `failed` and others.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) status: Option<String>,
    /// The items that the model made.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) output: Option<Vec<Map<String, Value>>>,
    /// Why it failed.
    #[serde(default)]
    pub(crate) error: Option<Value>,
    /// Why it is incomplete.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) incomplete_details: Option<Incomplete>,
    /// Tokens used.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) usage: Option<UsageReport>,
}

/// Why a response is incomplete.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Incomplete {
    /// `max_output_tokens`, `content_filter` or another reason.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) reason: Option<String>,
}

/// An event of a streamed response: the fields of all its kinds that matter here.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Event {
    /// Its kind.
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    pub(crate) kind: Option<String>,
    /// The response so far.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) response: Option<Response>,
    /// The place of an item.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) output_index: Option<u64>,
    /// The id of an item.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) item_id: Option<String>,
    /// An item, as far as it is there.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) item: Option<Map<String, Value>>,
    /// What is new.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) delta: Option<String>,
    /// A call's arguments, whole.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) arguments: Option<String>,
    /// An error outside every kind.
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

/// Tokens used.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct UsageReport {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    input_tokens_details: InputDetails,
    #[serde(default, deserialize_with = "or_default")]
    output_tokens_details: OutputDetails,
}

#[derive(Debug, Default, Deserialize)]
struct InputDetails {
    #[serde(default, deserialize_with = "lenient")]
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "lenient")]
    reasoning_tokens: Option<u64>,
}

impl UsageReport {
    /// The report in gg's terms; nothing if it says nothing.
    pub(crate) fn into_usage(self) -> Option<Usage> {
        if self.input_tokens.is_none() && self.output_tokens.is_none() {
            return None;
        }
        let cached = self.input_tokens_details.cached_tokens.unwrap_or_default();
        let reasoning = self.output_tokens_details.reasoning_tokens.unwrap_or_default();
        let (input, output) = (self.input_tokens.unwrap_or_default(), self.output_tokens.unwrap_or_default());
        Some(reply::usage(input, cached, output, reasoning))
    }
}
