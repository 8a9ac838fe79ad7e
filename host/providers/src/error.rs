//! Why there is no reply, and what to do about it.

use std::time::Duration;
use thiserror::Error;

/// Why a model gave no reply. The text says what happened; [`ModelError::hint`], what to do next.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ModelError {
    /// The server does not accept the key, or not for this.
    #[error("the server refused the key (HTTP {status}): {message}")]
    Auth {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// The account has no credit left.
    #[error("the account's quota is used up (HTTP {status}): {message}")]
    Quota {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// There is no such model, or no such path.
    #[error("the server knows no such model or path (HTTP {status}): {message}")]
    NotFound {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// The server does not accept the request as it stands.
    #[error("the server refused the request (HTTP {status}): {message}")]
    BadRequest {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// The window is larger than the model takes. Compacting and asking again may help.
    #[error("the request is too long for the model: {message}")]
    ContextTooLong {
        /// What the server said.
        message: String,
        /// How many times the request was sent before that: more than 1 if it failed otherwise first.
        attempts: u32,
    },
    /// The server asks to be left alone for a while: a rate limit, or it is overloaded or starting.
    #[error("the server asks to wait (HTTP {status}): {message}")]
    RateLimited {
        /// The HTTP status.
        status: u16,
        /// How long it asks to wait, if it says.
        retry_after: Option<Duration>,
        /// What the server said.
        message: String,
    },
    /// The server failed.
    #[error("the server failed (HTTP {status}): {message}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// The server could not be reached, or the connection broke before it answered.
    #[error("the server could not be reached: {message}")]
    Network {
        /// What the network said.
        message: String,
    },
    /// The reply broke off. Whatever had come in of it is thrown away.
    #[error("the reply broke off: {message}")]
    Cut {
        /// How that showed.
        message: String,
    },
    /// Nothing came in for too long.
    #[error("nothing came from the server for {} ms (idleTimeoutMs)", after.as_millis())]
    IdleTimeout {
        /// The limit.
        after: Duration,
    },
    /// The request, with its retries and its waits, took too long.
    #[error("no whole reply within {} ms (totalTimeoutMs){}", after.as_millis(), because(last.as_deref()))]
    TotalTimeout {
        /// The limit.
        after: Duration,
        /// The last failure before that, if there was one.
        last: Option<Box<ModelError>>,
        /// How many times the request was sent.
        attempts: u32,
    },
    /// The request was sent more than once, and this is how the last attempt failed.
    #[error("{error} (after {attempts} attempts)")]
    Retried {
        /// The last failure.
        error: Box<ModelError>,
        /// How many times the request was sent.
        attempts: u32,
    },
    /// What came back is not what the protocol says.
    #[error("the reply cannot be understood: {message}")]
    Malformed {
        /// What is wrong with it.
        message: String,
    },
    /// The reply is larger than gg reads.
    #[error("the reply is larger than gg reads: {what}, at most {limit}")]
    TooLarge {
        /// What was too large.
        what: &'static str,
        /// The limit that it passed.
        limit: usize,
    },
    /// The profile's `parameters` name a field that is not theirs to set.
    #[error("the parameter `{name}` would replace what gg itself has to send")]
    Parameter {
        /// The field.
        name: String,
    },
    /// A script's reply was sent something else than it expects, or the script has no reply for a request.
    #[error("{0}")]
    ScriptMismatch(Box<crate::script::Mismatch>),
    /// The recording has no exchange for this request.
    #[error("the recording does not know this request: {message}")]
    Replay {
        /// How it differs from the nearest one recorded.
        message: String,
    },
    /// The exchange could not be recorded.
    #[error("the exchange could not be recorded: {message}")]
    Recording {
        /// What the file system said.
        message: String,
    },
}

fn because(last: Option<&ModelError>) -> String {
    last.map(|error| format!("; before that: {error}")).unwrap_or_default()
}

impl ModelError {
    /// Whether sending the same request again can help and does no harm. A request has no effects beyond its
    /// reply, so this is true of whatever may pass by itself.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Server { .. }
            | Self::Network { .. }
            | Self::Cut { .. }
            | Self::IdleTimeout { .. } => true,
            Self::Retried { error, .. } => error.is_retryable(),
            _ => false,
        }
    }

    /// How many times the request was sent.
    pub fn attempts(&self) -> u32 {
        match self {
            Self::ContextTooLong { attempts, .. }
            | Self::TotalTimeout { attempts, .. }
            | Self::Retried { attempts, .. } => *attempts,
            Self::Parameter { .. } => 0,
            _ => 1,
        }
    }

    /// The same error, of a request that was sent so often.
    pub(crate) fn after(self, sent: u32) -> Self {
        match self {
            Self::ContextTooLong { message, .. } => Self::ContextTooLong { message, attempts: sent },
            error if sent > 1 => Self::Retried { error: Box::new(error), attempts: sent },
            error => error,
        }
    }

    /// The same error with what the server said put through `change`.
    pub(crate) fn map_message(mut self, change: impl Fn(&str) -> String) -> Self {
        match &mut self {
            Self::Auth { message, .. }
            | Self::Quota { message, .. }
            | Self::NotFound { message, .. }
            | Self::BadRequest { message, .. }
            | Self::ContextTooLong { message, .. }
            | Self::RateLimited { message, .. }
            | Self::Server { message, .. }
            | Self::Network { message }
            | Self::Cut { message }
            | Self::Malformed { message } => *message = change(message),
            Self::TotalTimeout { last: Some(inner), .. } | Self::Retried { error: inner, .. } => {
                let error = std::mem::replace(inner.as_mut(), Self::Cut { message: String::new() });
                **inner = error.map_message(change);
            }
            _ => {}
        }
        self
    }

    /// What to do next, for a person.
    pub fn hint(&self) -> String {
        match self {
            Self::Auth { .. } => {
                "Check the environment variable that the provider's `apiKeyEnv` names, and what the key may do."
                    .into()
            }
            Self::Quota { .. } => "Add credit to the account, or use another provider.".into(),
            Self::NotFound { .. } => {
                "Check the model's `name`, and that `baseUrl` ends where the server's API begins: for most \
                 servers in `/v1`."
                    .into()
            }
            Self::BadRequest { message, .. } => bad_request_hint(message),
            Self::ContextTooLong { .. } => {
                "Lower the model's `contextWindow` to what the server really takes, or enable `compaction`."
                    .into()
            }
            Self::RateLimited { .. } => {
                "Lower `maxParallel`, or raise the provider's `totalTimeoutMs` so that gg can wait longer.".into()
            }
            Self::Server { .. } => "Look into the server's own log.".into(),
            Self::Network { .. } => "Check `baseUrl`, and that the server is running.".into(),
            Self::Cut { .. } => {
                "The server or something between closed the connection; its log may say why.".into()
            }
            Self::IdleTimeout { .. } => {
                "Raise the provider's `idleTimeoutMs` if the server needs longer for its first word.".into()
            }
            Self::TotalTimeout { .. } => {
                "Raise the provider's `totalTimeoutMs`, or lower the model's `maxOutput`.".into()
            }
            Self::Malformed { .. } => {
                "Check that `baseUrl` points to an API of the kind that `api` names: for most servers it ends in \
                 `/v1`."
                    .into()
            }
            Self::Retried { error, .. } if matches!(**error, Self::Server { .. }) => {
                "Look into the server's own log; gg has already asked again.".into()
            }
            Self::Retried { error, .. } => error.hint(),
            Self::TooLarge { .. } => "Lower the model's `maxOutput`.".into(),
            Self::Parameter { .. } => "Remove it from the model's `parameters`.".into(),
            Self::ScriptMismatch(_) => "Mend the script, or what the agent sends.".into(),
            Self::Replay { .. } => {
                "Replay with the configuration, prompt and workspace of the recorded run, or record again.".into()
            }
            Self::Recording { .. } => "Check the folder of the recording, and the space on its disk.".into(),
        }
    }
}

/// Some servers do not take fields that most others want; their complaint names the field.
fn bad_request_hint(message: &str) -> String {
    if message.contains("max_completion_tokens") {
        return "This model wants another name for its limit: set `parameters` to {\"max_tokens\": null, \
                \"max_completion_tokens\": …}."
            .into();
    }
    if message.contains("maximum allowed number of output tokens") {
        return "Lower the model's `maxOutput`.".into();
    }
    let field = if message.contains("Encrypted content is not supported") {
        // A model that does not reason; its server complains in other words than the field's.
        Some("include")
    } else {
        let fields =
            ["stream_options", "max_tokens", "max_output_tokens", "parallel_tool_calls", "temperature"];
        fields.into_iter().find(|field| message.contains(field))
    };
    match field {
        Some(field) => {
            format!("If the server does not take `{field}`, set it to null in the model's `parameters`.")
        }
        None => {
            "Check the model's `parameters`; a value of null removes a field that gg sends by itself.".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_asked_again_says_so() {
        let once = ModelError::Server { status: 500, message: "broken".into() };
        assert!(!once.hint().contains("again"), "{}", once.hint());
        assert!(once.after(2).hint().contains("gg has already asked again"));
        let limited = ModelError::RateLimited { status: 429, retry_after: None, message: "wait".into() };
        assert!(!limited.hint().contains("again"), "{}", limited.hint());
    }
}
