//! Messages: immutable values, named by id.

use crate::{
    call::{Call, CallResult},
    id::MessageId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who a message speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Prompts, notices and notes.
    User,
    /// The model's own reply.
    Assistant,
    /// The results of the calls of the assistant message right before it.
    Results,
}

/// Why a message exists, for the people who read the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// What the run or the spawner asked for.
    Prompt,
    /// A reply of the model.
    Reply,
    /// Results of calls.
    Results,
    /// A message from another agent.
    Inbox,
    /// Something gg tells the agent: a nudge, a refusal at the turn's end.
    Notice,
    /// What opens a new holder's window.
    Opening,
    /// The summary that stands for folded messages.
    Summary,
    /// A note that a history module wrote, such as an archive's stub.
    Stub,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// What a model thought, opaque: kept with the provider it came from, and sent back only there.
    Reasoning {
        /// The name of the provider in the configuration.
        provider: String,
        /// What that provider's client wants back.
        data: Value,
    },
    /// A call.
    Call(Call),
    /// A call's result.
    Result(CallResult),
}

/// One message. Nothing ever changes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Its name in the run.
    pub id: MessageId,
    /// Who it speaks for.
    pub role: Role,
    /// Why it exists.
    pub origin: Origin,
    /// Its pieces, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message with the role `user` and one text.
    pub fn user(id: MessageId, origin: Origin, text: impl Into<String>) -> Self {
        Self { id, role: Role::User, origin, parts: vec![Part::Text { text: text.into() }] }
    }

    /// A model's reply.
    pub fn reply(id: MessageId, parts: Vec<Part>) -> Self {
        Self { id, role: Role::Assistant, origin: Origin::Reply, parts }
    }

    /// The results of one turn's calls, in the calls' order.
    pub fn results(id: MessageId, results: Vec<CallResult>) -> Self {
        Self {
            id,
            role: Role::Results,
            origin: Origin::Results,
            parts: results.into_iter().map(Part::Result).collect(),
        }
    }

    /// All its text, joined.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            if let Part::Text { text: piece } = part {
                text.push_str(piece);
            }
        }
        text
    }

    /// Its calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Its results, in order.
    pub fn call_results(&self) -> impl Iterator<Item = &CallResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            _ => None,
        })
    }

    /// The whole as a person or a summarizer reads it: text, calls and results, no reasoning.
    pub fn transcript(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            if !out.is_empty() && !matches!(part, Part::Reasoning { .. }) {
                out.push('\n');
            }
            match part {
                Part::Text { text } => out.push_str(text),
                Part::Reasoning { .. } => {}
                Part::Call(call) => {
                    out.push_str(&format!("[call {} {}]", call.name, call.arguments.to_wire()));
                }
                Part::Result(result) => {
                    out.push_str(&format!("[result of {}] {}", result.name, result.content));
                }
            }
        }
        out
    }
}
