//! The shapes of Messages, read leniently. Blocks stay values: what the model thought has to go back as it
//! came.

use crate::wire::{lenient::lenient, reply};
use gg_core::Usage;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A content block.
pub(crate) type Block = Map<String, Value>;

/// A whole message, or its head in a stream.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Message {
    /// Its blocks; none in a stream, where they come in events of their own.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) content: Option<Vec<Block>>,
    /// Why it ended.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) stop_reason: Option<String>,
    /// Tokens used.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) usage: Option<UsageReport>,
    /// An error in place of a message.
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

/// An event of a streamed message: the fields of all its kinds.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Event {
    /// Its kind.
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    pub(crate) kind: Option<String>,
    /// `message_start`: the head.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) message: Option<Message>,
    /// The number of a block.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) index: Option<u64>,
    /// `content_block_start`: the block, usually still empty.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) content_block: Option<Block>,
    /// What is new in a block, or in the message.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) delta: Option<Delta>,
    /// `message_delta`: tokens used, all in all.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) usage: Option<UsageReport>,
    /// An error outside every kind.
    #[serde(default)]
    pub(crate) error: Option<Value>,
}

/// What is new: the fields of all kinds of deltas.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Delta {
    /// Text.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) text: Option<String>,
    /// A piece of a call's input, as JSON text.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) partial_json: Option<String>,
    /// What the model thinks.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) thinking: Option<String>,
    /// The server's signature below that.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) signature: Option<String>,
    /// Why the message ends.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) stop_reason: Option<String>,
}

/// Tokens used, as far as one event says.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct UsageReport {
    #[serde(default, deserialize_with = "lenient")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "lenient")]
    thinking_tokens: Option<u64>,
}

impl UsageReport {
    /// What is known after a later report: its counts are sums, so they replace earlier ones.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            input_tokens: later.input_tokens.or(self.input_tokens),
            cache_read_input_tokens: later.cache_read_input_tokens.or(self.cache_read_input_tokens),
            cache_creation_input_tokens: later
                .cache_creation_input_tokens
                .or(self.cache_creation_input_tokens),
            output_tokens: later.output_tokens.or(self.output_tokens),
            output_tokens_details: later.output_tokens_details.or(self.output_tokens_details),
        }
    }

    /// The report in gg's terms; nothing if it says nothing. The server counts apart what it read from its
    /// cache and what it put there.
    pub(crate) fn into_usage(self) -> Option<Usage> {
        if self.input_tokens.is_none() && self.output_tokens.is_none() {
            return None;
        }
        let cached = self.cache_read_input_tokens.unwrap_or_default();
        let written = self.cache_creation_input_tokens.unwrap_or_default();
        let input = self.input_tokens.unwrap_or_default().saturating_add(cached).saturating_add(written);
        let reasoning = self.output_tokens_details.and_then(|details| details.thinking_tokens);
        let output = self.output_tokens.unwrap_or_default();
        Some(reply::usage(input, cached, output, reasoning.unwrap_or_default()))
    }
}
