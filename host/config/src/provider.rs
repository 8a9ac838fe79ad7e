//! Where models are asked.

use crate::format;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// The apis by their names in the document.
pub(crate) const APIS: [&str; 5] =
    ["openai-chat", "openai-responses", "anthropic-messages", "scripted", "replay"];

/// Those of them that are servers, which take the same keys.
pub(crate) const SERVER_APIS: [&str; 3] = ["openai-chat", "openai-responses", "anthropic-messages"];

/// The parameters that a request of any api cannot take, because gg itself decides about them.
const RESERVED: [&str; 5] = ["model", "messages", "tools", "stream", "n"];

/// The parameters that a request of this api cannot take: what gg itself puts into every request, or what
/// would have the server keep a window beside gg's own.
pub(crate) fn reserved_parameters(api: Option<&str>) -> impl Iterator<Item = &'static str> {
    let further: &[&str] = match api {
        Some("openai-responses") => {
            &["input", "instructions", "store", "previous_response_id", "conversation", "background"]
        }
        Some("anthropic-messages") => &["system"],
        _ => &[],
    };
    RESERVED.iter().chain(further).copied()
}

/// How long gg waits for the next byte of a reply when nothing else is said, in milliseconds: local models may
/// think for a minute before their first token.
pub(crate) const IDLE_TIMEOUT_MS: u64 = 120_000;

/// A provider, with its defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// What stands behind it.
    #[serde(flatten)]
    pub api: Api,
    /// After how many milliseconds without a byte a reply is given up. At most the total.
    #[serde(default = "default_idle_timeout_ms")]
    pub idle_timeout_ms: u64,
    /// After how many milliseconds a request is given up, its retries included.
    #[serde(default = "default_total_timeout_ms")]
    pub total_timeout_ms: u64,
    /// How often a request that failed without effect is sent again.
    #[serde(default = "default_max_retries")]
    pub max_retries: u32,
}

/// What stands behind a provider, and what it needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "api", rename_all_fields = "camelCase")]
pub enum Api {
    /// A server with OpenAI's Chat Completions, which most servers have.
    #[serde(rename = "openai-chat")]
    OpenAiChat(Server),
    /// A server with OpenAI's Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses(Server),
    /// A server with Anthropic's Messages.
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages(Server),
    /// Replies from a script.
    #[serde(rename = "scripted")]
    Scripted {
        /// The file, relative to the configuration's folder.
        script: PathBuf,
    },
    /// The exchanges of an earlier run.
    #[serde(rename = "replay")]
    Replay {
        /// The file, relative to the configuration's folder.
        recording: PathBuf,
    },
}

/// What a model server needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Server {
    /// What the path of the api is appended to.
    pub base_url: String,
    /// The environment variable that holds the key; absent: requests carry none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Sent with every request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Whether replies are streamed.
    #[serde(default = "default_stream")]
    pub stream: bool,
}

/// Where models are asked.
///
/// The keys of [`Provider`] as they stand in the document: which of them an `api` takes is a rule of the launch
/// check, because a schema can only say that something does not fit, not what.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "describes keys for the schema; Provider is what is read")]
pub(crate) struct ProviderKeys {
    /// What stands behind it: a server with OpenAI's Chat Completions (`openai-chat`, which most servers have),
    /// OpenAI's Responses or Anthropic's Messages, a script of replies, or the recording of an earlier run.
    #[schemars(extend("type" = "string", "enum" = APIS))]
    api: ApiName,
    /// Servers: the address, up to what `/chat/completions`, `/responses` or `/messages` is appended to. For
    /// example `http://127.0.0.1:8080/v1`.
    base_url: Option<String>,
    /// Servers: the environment variable that holds the key. The key itself never stands in this file.
    #[schemars(extend("pattern" = format::ENVIRONMENT))]
    api_key_env: Option<String>,
    /// Servers: headers sent with every request. Keys and tokens do not belong here; see `apiKeyEnv`.
    #[schemars(extend("propertyNames" = header_name_schema()))]
    headers: Option<BTreeMap<String, HeaderValue>>,
    /// Servers: whether replies are streamed.
    #[schemars(extend("default" = true))]
    stream: Option<bool>,
    /// `scripted`: the file of replies, relative to the folder of this configuration.
    #[schemars(extend("pattern" = format::NOT_BLANK))]
    script: Option<String>,
    /// `replay`: the recording, relative to the folder of this configuration.
    #[schemars(extend("pattern" = format::NOT_BLANK))]
    recording: Option<String>,
    /// After how many milliseconds without a byte a reply is given up.
    #[schemars(range(min = 1, max = 86_400_000), extend("default" = default_idle_timeout_ms()))]
    idle_timeout_ms: Option<u64>,
    /// After how many milliseconds a request is given up, its retries included.
    #[schemars(range(min = 1, max = 86_400_000), extend("default" = default_total_timeout_ms()))]
    total_timeout_ms: Option<u64>,
    /// How often a request that failed without effect is sent again.
    #[schemars(range(max = 20), extend("default" = default_max_retries()))]
    max_retries: Option<u32>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
#[expect(dead_code, reason = "describes a value for the schema")]
struct ApiName(String);

#[derive(JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
#[expect(dead_code, reason = "describes a value for the schema")]
struct HeaderValue(#[schemars(length(max = 4096), extend("pattern" = format::HEADER_VALUE))] String);

fn header_name_schema() -> serde_json::Value {
    serde_json::json!({ "description": "The name of an HTTP header.", "pattern": format::HEADER_NAME })
}

fn default_idle_timeout_ms() -> u64 {
    IDLE_TIMEOUT_MS
}

/// Ten minutes: longer than any one reply, shorter than anybody's patience.
fn default_total_timeout_ms() -> u64 {
    600_000
}

fn default_max_retries() -> u32 {
    5
}

fn default_stream() -> bool {
    true
}
