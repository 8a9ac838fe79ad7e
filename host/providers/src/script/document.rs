//! The file: a JSON document, checked whole at launch.

use super::expect::Expect;
use crate::{call_ids, error::ModelError};
use gg_core::{Purpose, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::HashSet, fs, path::Path, time::Duration};
use thiserror::Error;

/// The largest script that is read, in bytes: it is held in memory, and written by a person.
const MAX_SCRIPT_BYTES: u64 = 64 * 1024 * 1024;

/// The most pieces in which one text is shown: a script could ask for one per character of a large text.
const MAX_PIECES: u32 = 10_000;

/// The longest pause before a reply, in milliseconds. It is there to be interrupted.
const MAX_DELAY_MS: u64 = 600_000;

/// A script, known to be sound.
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) name: String,
    pub(super) replies: Vec<ScriptedReply>,
}

/// Why a script is refused. Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("{script}: {message}")]
    File {
        /// The script.
        script: String,
        /// What the file system said.
        message: String,
    },
    /// It is not JSON, or a key or a value is not what a script holds.
    #[error("{script}:{line}:{column}: {message}")]
    Shape {
        /// The script.
        script: String,
        /// Where.
        line: usize,
        /// Where in the line.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A reply contradicts itself.
    #[error("{script}: reply {reply}: {message}")]
    Reply {
        /// The script.
        script: String,
        /// Which reply, counted from 1.
        reply: usize,
        /// What is wrong.
        message: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    /// For editors; not read.
    #[serde(rename = "$schema", default)]
    _schema: Option<String>,
    replies: Vec<ScriptedReply>,
}

/// One reply, and the requests it is for.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScriptedReply {
    /// The asking agent's profile, or its id; anyone if absent.
    #[serde(default)]
    pub(super) agent: Option<String>,
    /// Its turn; any if absent.
    #[serde(default)]
    pub(super) turn: Option<u32>,
    /// What the request is for: `turn` or `summary`.
    #[serde(default = "for_a_turn")]
    pub(super) purpose: Purpose,
    /// How many requests it answers.
    #[serde(default = "once")]
    pub(super) times: u32,
    /// What the request must hold.
    #[serde(default)]
    pub(super) expect: Expect,
    /// How long the model thinks first.
    #[serde(default)]
    pub(super) delay_ms: u64,
    /// In how many pieces the text comes in; absent: a word at a time.
    #[serde(default)]
    pub(super) pieces: Option<u32>,
    /// Reasoning.
    #[serde(default)]
    pub(super) reasoning: Option<String>,
    /// Text.
    #[serde(default)]
    pub(super) text: Option<String>,
    /// Calls.
    #[serde(default)]
    pub(super) calls: Vec<ScriptedCall>,
    /// Tokens reported; absent: none are, as some servers do.
    #[serde(default)]
    pub(super) usage: Option<Usage>,
    /// Why it ends; absent: by its calls, or because it is done.
    #[serde(default)]
    pub(super) stop: Option<ScriptedStop>,
    /// Fails instead; a text beside it is shown first, as of a stream that broke off.
    #[serde(default)]
    pub(super) error: Option<ScriptedError>,
}

fn for_a_turn() -> Purpose {
    Purpose::Turn
}

fn once() -> u32 {
    1
}

/// A call.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScriptedCall {
    /// What is called, offered or not.
    pub(super) name: String,
    /// An object, or a text to be taken as the model wrote it, sound or not.
    #[serde(default)]
    pub(super) arguments: ScriptedArguments,
    /// Its id; one is assigned if absent, as for servers that send none.
    #[serde(default)]
    pub(super) id: Option<String>,
}

/// The arguments of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "arguments are an object, or a string that stands for what the model wrote")]
pub(super) enum ScriptedArguments {
    /// As they should be.
    Object(Map<String, Value>),
    /// As a model may write them.
    Written(String),
}

impl Default for ScriptedArguments {
    fn default() -> Self {
        Self::Object(Map::new())
    }
}

/// Why a reply ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ScriptedStop {
    End,
    Calls,
    Length,
    Refused,
}

/// A failure, by the name of its kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ScriptedError {
    kind: ErrorKind,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    retry_after_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ErrorKind {
    Auth,
    Quota,
    NotFound,
    BadRequest,
    ContextTooLong,
    RateLimited,
    Server,
    Network,
    Cut,
    IdleTimeout,
    TotalTimeout,
    Malformed,
}

impl ScriptedError {
    /// The error that the agent gets.
    pub(super) fn error(&self) -> ModelError {
        let message = self.message.clone().unwrap_or_else(|| "as the script says".into());
        let after = Duration::ZERO;
        match self.kind {
            ErrorKind::Auth => ModelError::Auth { status: 401, message },
            ErrorKind::Quota => ModelError::Quota { status: 402, message },
            ErrorKind::NotFound => ModelError::NotFound { status: 404, message },
            ErrorKind::BadRequest => ModelError::BadRequest { status: 400, message },
            ErrorKind::ContextTooLong => ModelError::ContextTooLong { message, attempts: 1 },
            ErrorKind::RateLimited => {
                let retry_after = self.retry_after_ms.map(Duration::from_millis);
                ModelError::RateLimited { status: 429, retry_after, message }
            }
            ErrorKind::Server => ModelError::Server { status: 500, message },
            ErrorKind::Network => ModelError::Network { message },
            ErrorKind::Cut => ModelError::Cut { message },
            ErrorKind::IdleTimeout => ModelError::IdleTimeout { after },
            ErrorKind::TotalTimeout => ModelError::TotalTimeout { after, last: None, attempts: 1 },
            ErrorKind::Malformed => ModelError::Malformed { message },
        }
    }
}

impl Script {
    /// Reads and checks a script from its file, which is not looked at again.
    pub fn open(path: &Path) -> Result<Self, ScriptError> {
        let name = path.display().to_string();
        let refused = |message: String| ScriptError::File { script: name.clone(), message };
        let metadata = fs::metadata(path).map_err(|error| refused(error.to_string()))?;
        // Whoever opens a pipe waits for its other end, which may never come.
        if !metadata.is_file() {
            return Err(refused("it is no regular file".into()));
        }
        let size = metadata.len();
        if size > MAX_SCRIPT_BYTES {
            return Err(refused(format!("it has {size} bytes, and gg reads at most {MAX_SCRIPT_BYTES}")));
        }
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        Self::parse(&name, &text)
    }

    /// Reads and checks a script. `name` is what its errors call it: a path, usually.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let document: Document = serde_json::from_str(text).map_err(|error| ScriptError::Shape {
            script: name.to_owned(),
            line: error.line(),
            column: error.column(),
            message: without_place(&error.to_string()),
        })?;
        for (at, reply) in document.replies.iter().enumerate() {
            reply.check().map_err(|message| ScriptError::Reply {
                script: name.to_owned(),
                reply: at + 1,
                message,
            })?;
        }
        Ok(Self { name: name.to_owned(), replies: document.replies })
    }
}

/// serde_json's text without the place at its end, which stands in fields of its own.
fn without_place(message: &str) -> String {
    message.rsplit_once(" at line ").map_or(message, |(text, _)| text).to_owned()
}

impl ScriptedReply {
    fn check(&self) -> Result<(), String> {
        let says_nothing = self.text.is_none() && self.reasoning.is_none() && self.calls.is_empty();
        if says_nothing && self.error.is_none() {
            return Err("it has no `text`, `reasoning`, `calls` or `error`".into());
        }
        if self.error.is_some() && !(self.calls.is_empty() && self.usage.is_none() && self.stop.is_none()) {
            return Err("a reply with an `error` has no `calls`, `usage` or `stop`".into());
        }
        if let Some(error) = &self.error
            && error.retry_after_ms.is_some()
            && error.kind != ErrorKind::RateLimited
        {
            return Err("only the error `rate-limited` has a `retryAfterMs`".into());
        }
        if self.purpose == Purpose::Summary && !self.calls.is_empty() {
            return Err("a summary makes no `calls`".into());
        }
        if self.times == 0 || self.turn == Some(0) {
            return Err("`times` and `turn` count from 1".into());
        }
        if !(1..=MAX_PIECES).contains(&self.pieces.unwrap_or(1)) {
            return Err(format!("`pieces` is 1 to {MAX_PIECES}"));
        }
        if self.delay_ms > MAX_DELAY_MS {
            return Err(format!("`delayMs` is at most {MAX_DELAY_MS}"));
        }
        if self.stop == Some(ScriptedStop::Calls) && self.calls.is_empty() {
            return Err("it stops for `calls` and has none".into());
        }
        self.check_ids()
    }

    fn check_ids(&self) -> Result<(), String> {
        let mut seen = HashSet::new();
        for id in self.calls.iter().filter_map(|call| call.id.as_deref()) {
            if !call_ids::is_usable(id) {
                return Err(format!("the call id `{id}` is not made of 1 to 64 of A-Z, a-z, 0-9, _ and -"));
            }
            if !seen.insert(id) {
                return Err(format!("two of its calls have the id `{id}`"));
            }
            if self.times > 1 {
                return Err("with `times`, call ids are assigned: leave `id` out".into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Script::parse("s.json", text).map(|_| ()).expect_err("a refusal").to_string()
    }

    #[test]
    fn a_sound_script_is_read_whole() {
        let script = Script::parse(
            "s.json",
            r#"{ "replies": [
                { "agent": "lead", "turn": 1, "expect": { "lastContains": "hi" }, "text": "a",
                  "calls": [{ "name": "x", "arguments": { "q": 1 } }, { "name": "y", "arguments": "{oops" }],
                  "usage": { "input": 1, "output": 2 } },
                { "purpose": "summary", "times": 3, "text": "s" },
                { "error": { "kind": "rate-limited", "retryAfterMs": 5 } }
            ] }"#,
        );
        assert_eq!(script.map(|script| script.replies.len()), Ok(3));
    }

    #[test]
    fn unknown_keys_are_refused_with_their_place() {
        let text = "{ \"replies\": [\n  { \"text\": \"a\", \"txet\": 1 } ] }";
        let refusal = refusal(text);
        assert!(refusal.starts_with("s.json:2:23: unknown field `txet`, expected one of "), "{refusal}");
        for text in [
            r#"{ "replies": [{ "text": "a", "expect": { "lastContain": "x" } }] }"#,
            r#"{ "replies": [{ "calls": [{ "name": "x", "args": {} }] }] }"#,
            r#"{ "replies": [{ "error": { "kind": "cut", "what": 1 } }] }"#,
            r#"{ "replies": [], "reply": [] }"#,
        ] {
            assert!(self::refusal(text).contains("unknown field"), "{text}");
        }
    }

    #[test]
    fn contradictions_are_refused_by_reply() {
        for (reply, why) in [
            ("{}", "it has no `text`"),
            (r#"{ "error": { "kind": "cut" }, "calls": [{ "name": "x" }] }"#, "a reply with an `error`"),
            (r#"{ "error": { "kind": "cut", "retryAfterMs": 1 } }"#, "only the error `rate-limited`"),
            (r#"{ "purpose": "summary", "calls": [{ "name": "x" }] }"#, "a summary makes no"),
            (r#"{ "text": "a", "times": 0 }"#, "count from 1"),
            (r#"{ "text": "a", "turn": 0 }"#, "count from 1"),
            (r#"{ "text": "a", "pieces": 0 }"#, "`pieces` is 1"),
            (r#"{ "text": "a", "delayMs": 600001 }"#, "`delayMs` is at most"),
            (r#"{ "text": "a", "stop": "calls" }"#, "and has none"),
            (r#"{ "calls": [{ "name": "x", "id": "a.b" }] }"#, "`a.b`"),
            (r#"{ "calls": [{ "name": "x", "id": "a" }, { "name": "x", "id": "a" }] }"#, "two of its calls"),
            (r#"{ "times": 2, "calls": [{ "name": "x", "id": "a" }] }"#, "leave `id` out"),
        ] {
            let refusal = refusal(&format!(r#"{{ "replies": [{{ "text": "ok" }}, {reply}] }}"#));
            assert!(refusal.starts_with("s.json: reply 2: ") && refusal.contains(why), "{reply}: {refusal}");
        }
    }
}
