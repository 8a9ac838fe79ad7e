//! What a server's error means. Each server words its own: the codes come first, then the texts.

use crate::error::ModelError;
use gg_core::text;
use serde_json::Value;
use std::time::Duration;

/// How much of a server's message is kept, in characters.
const KEPT_MESSAGE: usize = 400;

/// Codes and types that mean "too long".
const TOO_LONG_CODES: [&str; 4] =
    ["context_length_exceeded", "exceed_context_size_error", "request_too_large", "string_above_max_length"];

/// Texts that mean "too long", in lower case: OpenAI and vLLM, llama.cpp, Mistral, Anthropic, Google's
/// compatible endpoint, TGI, Together, Ollama and LM Studio.
const TOO_LONG_TEXTS: [&str; 16] = [
    "maximum context length",
    "context length exceeded",
    "exceeds the available context size",
    "exceed context size",
    "exceeds the context",
    "exceed context limit",
    "context size has been exceeded",
    "context window",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "too large for model",
    "longer than the maximum model length",
    "exceeds the maximum number of tokens",
    "input token count",
    "`inputs` tokens + `max_new_tokens`",
];

/// Texts that mean "I do not take this reasoning back", in lower case: a signature or a cipher of another
/// model's, one behind a window or a prompt that has changed since, or one that leads to nothing now.
const REASONING_REFUSED_TEXTS: [&str; 10] = [
    "invalid `signature` in `thinking` block",
    "invalid signature in thinking block",
    "invalid `data` in `redacted_thinking` block",
    "blocks in the latest assistant message cannot be modified",
    "the final block in an assistant message cannot be `thinking`",
    "cannot contain `thinking`",
    "each thinking block must contain thinking",
    "the encrypted content ",
    "without its required following item",
    "item with id 'rs_",
];

/// An error as a server words it.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    /// The HTTP status, or what stands for it inside a stream.
    pub(crate) status: u16,
    /// `code`.
    pub(crate) code: String,
    /// `type`.
    pub(crate) kind: String,
    /// The text, short enough to be shown.
    pub(crate) message: String,
}

impl Failure {
    /// Reads the body of a response with an error status.
    pub(crate) fn of_body(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => {
                let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(&value);
                Self { status, ..Self::of_value(error) }
            }
            Err(_) => Self { status, message: page_text(&text), ..Self::default() },
        }
    }

    /// Reads an error object, or a plain text, that stands in a reply. Its own code stands for the status.
    pub(crate) fn of_value(error: &Value) -> Self {
        let text_at = |names: &[&str]| {
            let found = names.iter().filter_map(|name| error.get(*name)).find(|value| !value.is_null());
            match found {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            }
        };
        let (code, kind) = (text_at(&["code"]), text_at(&["type"]));
        let message = match error {
            Value::String(text) => text.clone(),
            _ => text_at(&["message", "detail", "error", "msg"]),
        };
        let message = if message.is_empty() { error.to_string() } else { message };
        let status = code.parse().ok().filter(|code| (400..600).contains(code));
        let status = status.unwrap_or_else(|| status_of(&code, &kind));
        Self { status, code, kind, message: text::glance(&message, KEPT_MESSAGE) }
    }

    /// Reads the error in a document that holds no reply, if it holds one.
    pub(crate) fn in_place_of_reply(raw: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(raw).ok()?;
        if let Some(error) = value.get("error").filter(|error| is_telling(error)) {
            return Some(Self::of_value(error));
        }
        let is_error = ["object", "type"].iter().any(|name| value.get(*name) == Some(&"error".into()))
            || value.get("detail").is_some_and(is_telling);
        is_error.then(|| Self::of_value(&value))
    }

    /// Reads an event that is called an error, whatever it holds.
    pub(crate) fn of_event(data: &str) -> Self {
        let value = serde_json::from_str(data).unwrap_or_else(|_| Value::String(data.to_owned()));
        Self::of_value(value.get("error").filter(|error| is_telling(error)).unwrap_or(&value))
    }

    /// What it means.
    pub(crate) fn into_error(self, retry_after: Option<Duration>) -> ModelError {
        let Self { status, ref code, ref kind, .. } = self;
        if self.is_too_long() {
            return ModelError::ContextTooLong { message: self.message, attempts: 1 };
        }
        let message = self.message;
        if [code.as_str(), kind].contains(&"insufficient_quota") {
            return ModelError::Quota { status, message };
        }
        match status {
            401 | 403 => ModelError::Auth { status, message },
            402 => ModelError::Quota { status, message },
            404 => ModelError::NotFound { status, message },
            // Overloaded and starting servers are waited for as rate limits are.
            429 | 503 | 529 => ModelError::RateLimited { status, retry_after, message },
            // A request that the server took too long to read, or that met a lock of its own.
            408 | 409 | 500.. => ModelError::Server { status, message },
            _ => ModelError::BadRequest { status, message },
        }
    }

    fn is_too_long(&self) -> bool {
        if TOO_LONG_CODES.iter().any(|code| self.code == *code || self.kind == *code) || self.status == 413 {
            return true;
        }
        // Rate limits and refused keys may mention tokens and windows, too.
        if !matches!(self.status, 400 | 422 | 500) {
            return false;
        }
        let message = self.message.to_lowercase();
        TOO_LONG_TEXTS.iter().any(|text| message.contains(text))
    }
}

/// Whether a server refused a request because of the reasoning in it, which it had made itself: without it,
/// the request may do.
pub(crate) fn blames_reasoning(error: &ModelError) -> bool {
    let (ModelError::BadRequest { message, .. } | ModelError::NotFound { message, .. }) = error else {
        return false;
    };
    let message = message.to_lowercase();
    REASONING_REFUSED_TEXTS.iter().any(|text| message.contains(text))
}

/// Whether the value of a field called `error` says that there is one.
pub(crate) fn is_telling(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

/// The status that the error would have had, had it come before the reply began.
fn status_of(code: &str, kind: &str) -> u16 {
    let says = |word: &str| code.contains(word) || kind.contains(word);
    if says("rate_limit") {
        429
    } else if says("overloaded_error") {
        529
    } else if says("overloaded") || says("unavailable") || says("slow_down") {
        503
    } else if says("billing") {
        402
    } else if says("authentication") || says("invalid_api_key") {
        401
    } else if says("permission") {
        403
    } else if says("not_found") {
        404
    } else if says("invalid_request") || says("invalid_prompt") || says("BadRequest") {
        400
    } else {
        500
    }
}

/// What a page says, without its markup: proxies answer in HTML.
fn page_text(page: &str) -> String {
    if !page.trim_start().starts_with('<') {
        return text::glance(page, KEPT_MESSAGE);
    }
    let title = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    match title {
        Some((title, _)) => format!("an HTML page: {}", text::glance(title, KEPT_MESSAGE)),
        None => "an HTML page".into(),
    }
}

/// Whether these bytes begin an HTML page, where JSON or events were asked for.
pub(crate) fn html(bytes: &[u8]) -> Option<ModelError> {
    let text = String::from_utf8_lossy(bytes);
    let begins = text.trim_start().starts_with('<');
    begins.then(|| ModelError::Malformed { message: page_text(&text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, body: &str) -> ModelError {
        Failure::of_body(status, body.as_bytes()).into_error(None)
    }

    #[test]
    fn too_long_is_recognised_in_every_servers_words() {
        for (status, body) in [
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9001.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9001,"n_ctx":8192}}"#,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","param":null,"code":400}"#,
            ),
            (
                400,
                r#"{"error":{"message":"The decoder prompt (length 40961) is longer than the maximum model length of 40960.","type":"BadRequestError","code":400}}"#,
            ),
            (
                400,
                r#"{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
            ),
            (
                400,
                r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum","type":"invalid_request_error"}}"#,
            ),
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            ),
            (
                422,
                r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000","error_type":"validation"}"#,
            ),
            (500, r#"{"error":"the prompt exceeds the context window"}"#),
            (413, "<html><title>413 Request Entity Too Large</title></html>"),
        ] {
            let error = of(status, body);
            assert!(matches!(error, ModelError::ContextTooLong { .. }), "{status} {body}: {error:?}");
        }
    }

    #[test]
    fn other_complaints_about_tokens_are_not_too_long() {
        let limit = r#"{"error":{"message":"Rate limit reached: context window tokens per min","type":"tokens","code":"rate_limit_exceeded"}}"#;
        assert!(matches!(of(429, limit), ModelError::RateLimited { status: 429, .. }));
        let max = r#"{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.","code":"unsupported_parameter"}}"#;
        let error = of(400, max);
        assert!(error.hint().contains("max_completion_tokens"), "{error:?}: {}", error.hint());
    }

    #[test]
    fn statuses_and_codes_map_to_meanings() {
        let message = || "no".to_owned();
        let body = r#"{"error":{"message":"no"}}"#;
        for (status, expected) in [
            (400, ModelError::BadRequest { status: 400, message: message() }),
            (401, ModelError::Auth { status: 401, message: message() }),
            (402, ModelError::Quota { status: 402, message: message() }),
            (403, ModelError::Auth { status: 403, message: message() }),
            (404, ModelError::NotFound { status: 404, message: message() }),
            (408, ModelError::Server { status: 408, message: message() }),
            (418, ModelError::BadRequest { status: 418, message: message() }),
            (429, ModelError::RateLimited { status: 429, retry_after: None, message: message() }),
            (500, ModelError::Server { status: 500, message: message() }),
            (503, ModelError::RateLimited { status: 503, retry_after: None, message: message() }),
            (529, ModelError::RateLimited { status: 529, retry_after: None, message: message() }),
        ] {
            assert_eq!(of(status, body), expected);
        }
        let quota = r#"{"error":{"message":"no","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert_eq!(of(429, quota), ModelError::Quota { status: 429, message: message() });
    }

    #[test]
    fn bodies_of_any_shape_give_a_short_message() {
        for (body, message) in [
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (r#"{"error":"plain"}"#, "plain"),
            (r#"{"message":"top"}"#, "top"),
            ("upstream timed out\n", "upstream timed out"),
            ("<html><head><title>502 Bad Gateway</title></head></html>", "an HTML page: 502 Bad Gateway"),
            ("<!doctype html>", "an HTML page"),
            ("", ""),
        ] {
            let expected = ModelError::Server { status: 502, message: message.into() };
            assert_eq!(of(502, body), expected, "{body}");
        }
        let ModelError::Server { message, .. } = of(500, &"x".repeat(5000)) else {
            panic!("a server error");
        };
        assert!(message.chars().count() <= KEPT_MESSAGE);
    }

    #[test]
    fn inside_a_stream_the_code_or_type_stands_for_the_status() {
        for (error, status) in [
            (r#"{"code":429,"message":"m"}"#, 429),
            (r#"{"code":"502","message":"m"}"#, 502),
            (r#"{"type":"overloaded_error","message":"m"}"#, 529),
            (r#"{"type":"rate_limit_error","message":"m"}"#, 429),
            (r#"{"type":"authentication_error","message":"m"}"#, 401),
            (r#"{"type":"billing_error","message":"m"}"#, 402),
            (r#"{"type":"api_error","message":"m"}"#, 500),
            (r#"{"code":"rate_limit_exceeded","message":"m"}"#, 429),
            (r#"{"code":"server_is_overloaded","message":"m"}"#, 503),
            (r#"{"code":"slow_down","message":"m"}"#, 503),
            (r#"{"code":"invalid_prompt","message":"m"}"#, 400),
            (r#"{"type":"invalid_request_error","message":"m"}"#, 400),
            (r#"{"message":"m"}"#, 500),
            (r#""m""#, 500),
        ] {
            let value: Value = serde_json::from_str(error).expect("JSON");
            let failure = Failure::of_value(&value);
            assert_eq!((failure.status, failure.message.as_str()), (status, "m"), "{error}");
        }
    }
}
