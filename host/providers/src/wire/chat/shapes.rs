//! The shapes that Chat Completions servers send, read as leniently as they are written: whatever some server
//! leaves out, sets to null or spells differently is optional here.

use crate::{
    failure::{Failure, is_telling},
    wire::{
        lenient::{lenient, or_default},
        reply,
    },
};
use gg_core::Usage;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;

/// A whole reply, or one piece of a streamed one.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Envelope {
    /// One per reply asked for; empty in a piece that only carries the usage.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) choices: Vec<Choice>,
    /// Tokens used; null until the last piece.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) usage: Option<UsageReport>,
    /// An error, which may come inside a reply that began well.
    #[serde(default)]
    pub(crate) error: Option<Value>,
    /// `error` where the document itself is the error.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) object: Option<String>,
    /// FastAPI's errors, without any other field.
    #[serde(default)]
    pub(crate) detail: Option<Value>,
}

impl Envelope {
    /// The error that stands in place of a reply, or of its rest.
    pub(crate) fn failure(&self, raw: &[u8]) -> Option<Failure> {
        if let Some(error) = self.error.as_ref().filter(|error| is_telling(error)) {
            return Some(Failure::of_value(error));
        }
        let is_error = self.object.as_deref() == Some("error")
            || (self.choices.is_empty() && self.detail.as_ref().is_some_and(is_telling));
        is_error.then(|| Failure::of_value(&serde_json::from_slice(raw).unwrap_or_default()))
    }
}

/// One of the replies; gg asks for one.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Choice {
    /// Its number.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) index: Option<u64>,
    /// What is new.
    #[serde(default)]
    pub(crate) delta: Option<Said>,
    /// All there is.
    #[serde(default)]
    pub(crate) message: Option<Said>,
    /// Why it ended; null until it has.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) finish_reason: Option<String>,
}

/// What the model said, or a piece of it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Said {
    /// Text: a string, null, or a list of typed parts.
    #[serde(default)]
    pub(crate) content: Option<Content>,
    /// Reasoning, as DeepSeek, llama.cpp and vLLM call it.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) reasoning_content: Option<String>,
    /// Reasoning, as OpenRouter and newer vLLM call it.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) reasoning: Option<String>,
    /// Why the model declines, in place of a text.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) refusal: Option<String>,
    /// Calls, or fragments of calls.
    #[serde(default, deserialize_with = "or_default")]
    pub(crate) tool_calls: Vec<Fragment>,
}

/// Text in any of its forms.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    /// The usual form.
    Text(String),
    /// Typed parts, of which gg reads the text.
    Parts(Vec<ContentPart>),
    /// Something else.
    Other(IgnoredAny),
}

/// One typed part.
#[derive(Debug, Deserialize)]
pub(crate) struct ContentPart {
    #[serde(rename = "type", default, deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    text: Option<String>,
}

impl Content {
    /// The text it stands for.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                let texts = parts.into_iter().filter(|part| part.kind.as_deref() != Some("thinking"));
                texts.filter_map(|part| part.text).collect()
            }
            Self::Other(_) => String::new(),
        }
    }
}

/// A call, or a fragment of one.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Fragment {
    /// Which call it belongs to; some servers leave it out, or give all calls the same one.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) index: Option<u64>,
    /// The call's id, usually in its first fragment only: a string, though some send a number.
    #[serde(default)]
    pub(crate) id: Option<Value>,
    /// What is called.
    #[serde(default)]
    pub(crate) function: Option<Function>,
}

/// What is called.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Function {
    /// The name, usually in the first fragment only.
    #[serde(default, deserialize_with = "lenient")]
    pub(crate) name: Option<String>,
    /// A piece of JSON text, though some send the object itself.
    #[serde(default)]
    pub(crate) arguments: Option<Value>,
}

/// Tokens used.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct UsageReport {
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "lenient")]
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for cached tokens.
    #[serde(default, deserialize_with = "lenient")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "lenient")]
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "lenient")]
    reasoning_tokens: Option<u64>,
}

impl UsageReport {
    /// The report in gg's terms; nothing if it says nothing.
    pub(crate) fn into_usage(self) -> Option<Usage> {
        if self.prompt_tokens.is_none() && self.completion_tokens.is_none() {
            return None;
        }
        let input = self.prompt_tokens.unwrap_or_default();
        let output = self.completion_tokens.unwrap_or_default();
        let cached = self.prompt_tokens_details.and_then(|details| details.cached_tokens);
        let reasoning = self.completion_tokens_details.and_then(|details| details.reasoning_tokens);
        let cached = cached.or(self.prompt_cache_hit_tokens).unwrap_or_default();
        Some(reply::usage(input, cached, output, reasoning.unwrap_or_default()))
    }
}
