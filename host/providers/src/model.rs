//! What an agent asks of a model, and what comes back: the same for every provider.

use crate::error::ModelError;
use futures_util::future::BoxFuture;
use gg_core::{AgentId, CallSpec, Message, Part, ProfileId, Purpose, Turn, Usage};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};

/// One request. It is rendered once, however often it has to be sent; once more without the model's own
/// reasoning, if the server does not take that back.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who asks.
    pub agent: AgentId,
    /// Under which profile.
    pub profile: ProfileId,
    /// In which turn: call ids that gg assigns are derived from it.
    pub turn: Turn,
    /// What for.
    pub purpose: Purpose,
    /// The system prompt; nothing is sent for an empty one.
    pub system: String,
    /// The window, in order. Results stand right behind the calls they answer.
    pub messages: Vec<Arc<Message>>,
    /// The calls offered.
    pub calls: Arc<[CallSpec]>,
    /// The most tokens that the reply may have.
    pub max_output: u32,
    /// Further fields of the request body, which replace gg's own of the same name; `null` removes one.
    pub parameters: Map<String, Value>,
    /// The model's name, as the server knows it.
    pub model: String,
}

/// Why a reply ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The model was done.
    End,
    /// It waits for the results of its calls.
    Calls,
    /// It ran into the limit on its output. A call it was still writing comes back as malformed.
    Length,
    /// The server or the model declined to go on.
    Refused,
    /// Something that gg has no name for, as the server said it.
    Other(String),
}

/// A whole reply. There is no partial one: a reply that was cut off is a [`ModelError::Cut`].
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// In the order in which the model made them; the calls' ids are unique in the window that was sent.
    pub parts: Vec<Part>,
    /// What the server says was used; some do not say.
    pub usage: Option<Usage>,
    /// Why it ended.
    pub stop: Stop,
    /// How many times the request was sent.
    pub attempts: u32,
}

impl Reply {
    /// Its text, joined.
    pub fn text(&self) -> String {
        let pieces = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        pieces.collect()
    }

    /// Its calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &gg_core::Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// What can be shown while a reply is still coming in. None of it may be acted on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delta<'a> {
    /// A piece of text.
    Text(&'a str),
    /// A piece of reasoning.
    Reasoning(&'a str),
    /// The request failed or has to wait, and is sent (again) after `wait`. The pieces shown so far are void.
    Retrying {
        /// What went wrong.
        error: &'a str,
        /// How long gg waits.
        wait: Duration,
    },
}

/// Whoever wants to see a reply while it comes in.
pub trait Deltas: Send + Sync {
    /// Takes one piece. It is called between reads of the network, so it must not block.
    fn delta(&self, delta: Delta<'_>);
}

/// Looks at nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoDeltas;

impl Deltas for NoDeltas {
    fn delta(&self, _: Delta<'_>) {}
}

/// Something that replies.
pub trait Model: Send + Sync {
    /// Asks for one whole reply. Dropping the future cancels the request.
    fn complete<'a>(
        &'a self,
        request: &'a Request,
        deltas: &'a dyn Deltas,
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;
}
