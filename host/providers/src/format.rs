//! The wire formats by name, and what of each shows outside the bodies.

use serde::{Deserialize, Serialize};

/// In what format a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// OpenAI's Chat Completions, which most servers speak.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI's Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic's Messages.
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
}

/// The version of the Messages API whose shapes gg writes and reads. There has been no later one since 2023:
/// what is new comes under this one, or as a beta with a header of its own.
const ANTHROPIC_VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

impl Format {
    /// Every format.
    pub(crate) const ALL: [Self; 3] = [Self::OpenAiChat, Self::OpenAiResponses, Self::AnthropicMessages];

    /// The path of requests below the server's base URL.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::OpenAiChat => "chat/completions",
            Self::OpenAiResponses => "responses",
            Self::AnthropicMessages => "messages",
        }
    }

    /// The header that carries a key, in lower case, and its value.
    pub(crate) fn key_header(self, key: &str) -> (&'static str, String) {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => ("authorization", format!("Bearer {key}")),
            Self::AnthropicMessages => ("x-api-key", key.to_owned()),
        }
    }

    /// A header that every request needs, in lower case, unless the configuration has one of that name.
    pub(crate) fn version_header(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => None,
            Self::AnthropicMessages => Some(ANTHROPIC_VERSION),
        }
    }
}
