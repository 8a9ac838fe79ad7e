//! Plays a script.

use super::{
    document::{Script, ScriptedArguments, ScriptedReply, ScriptedStop},
    expect::Mismatch,
};
use crate::{
    call_ids::CallIds,
    error::ModelError,
    model::{Delta, Deltas, Model, Reply, Request, Stop},
};
use futures_util::future::BoxFuture;
use gg_core::{Arguments, Call, Part};
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// A model that says what its script says. A request gets the first reply in the file that is meant for its
/// agent, turn and purpose and is not used up.
#[derive(Debug)]
pub struct ScriptedModel {
    provider: String,
    script: Script,
    /// How often each reply may still be given.
    left: Mutex<Vec<u32>>,
}

impl ScriptedModel {
    /// Plays `script` from its beginning, as the provider of this name.
    pub fn new(provider: &str, script: Script) -> Self {
        let left = script.replies.iter().map(|reply| reply.times).collect();
        Self { provider: provider.to_owned(), script, left: Mutex::new(left) }
    }

    /// The replies that nobody has asked for, for a person to read.
    pub fn left(&self) -> Vec<String> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = left.iter().enumerate().filter(|(_, left)| **left > 0);
        unused.map(|(at, left)| format!("{}: reply {} ({left} left)", self.script.name, at + 1)).collect()
    }

    fn take(&self, request: &Request) -> Result<(usize, &ScriptedReply), ModelError> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |at: &usize| left[*at] > 0 && self.script.replies[*at].is_for(request);
        match (0..self.script.replies.len()).find(fits) {
            Some(at) => {
                left[at] -= 1;
                Ok((at, &self.script.replies[at]))
            }
            None => {
                let used = left.iter().filter(|left| **left == 0).count();
                drop(left);
                let count =
                    format!("{used} of the script's {} replies are used up", self.script.replies.len());
                Err(self.mismatch(None, vec![count], request))
            }
        }
    }

    fn mismatch(&self, reply: Option<usize>, problems: Vec<String>, request: &Request) -> ModelError {
        let mismatch = Mismatch::new(&self.script.name, reply, problems, request);
        ModelError::ScriptMismatch(Box::new(mismatch))
    }
}

impl ScriptedReply {
    fn is_for(&self, request: &Request) -> bool {
        let agent = self.agent.as_deref();
        agent.is_none_or(|agent| agent == request.profile.as_str() || agent == request.agent.as_str())
            && self.turn.is_none_or(|turn| turn == request.turn.0)
            && self.purpose == request.purpose
    }

    fn reply(&self, request: &Request, provider: &str) -> Reply {
        let mut ids = CallIds::of(&request.messages);
        let mut parts = Vec::new();
        if let Some(reasoning) = &self.reasoning {
            let data = serde_json::json!({ "reasoning_content": reasoning });
            parts.push(Part::Reasoning { provider: provider.to_owned(), data });
        }
        if let Some(text) = self.text.as_ref().filter(|text| !text.is_empty()) {
            parts.push(Part::Text { text: text.clone() });
        }
        for (at, call) in self.calls.iter().enumerate() {
            parts.push(Part::Call(Call {
                id: ids.assign(call.id.as_deref(), request.turn, at + 1),
                name: call.name.clone(),
                arguments: match &call.arguments {
                    ScriptedArguments::Object(map) => Arguments::Json(map.clone()),
                    ScriptedArguments::Written(raw) => Arguments::parse(raw),
                },
            }));
        }
        let stop = match self.stop {
            Some(ScriptedStop::End) => Stop::End,
            Some(ScriptedStop::Calls) => Stop::Calls,
            Some(ScriptedStop::Length) => Stop::Length,
            Some(ScriptedStop::Refused) => Stop::Refused,
            None if self.calls.is_empty() => Stop::End,
            None => Stop::Calls,
        };
        Reply { parts, usage: self.usage, stop, attempts: 1 }
    }
}

impl Model for ScriptedModel {
    fn complete<'a>(
        &'a self,
        request: &'a Request,
        deltas: &'a dyn Deltas,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let (at, scripted) = self.take(request)?;
            let problems = scripted.expect.problems(request);
            if !problems.is_empty() {
                return Err(self.mismatch(Some(at + 1), problems, request));
            }
            if scripted.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(scripted.delay_ms)).await;
            }
            if let Some(reasoning) = &scripted.reasoning {
                deltas.delta(Delta::Reasoning(reasoning));
            }
            for piece in pieces(scripted.text.as_deref().unwrap_or_default(), scripted.pieces) {
                deltas.delta(Delta::Text(piece));
                // Others get their turn between two pieces, as they would between two reads of the network.
                tokio::task::yield_now().await;
            }
            match &scripted.error {
                Some(error) => Err(error.error()),
                None => Ok(scripted.reply(request, &self.provider)),
            }
        })
    }
}

/// The text in so many pieces of about the same length, or word by word.
fn pieces(text: &str, count: Option<u32>) -> Vec<&str> {
    let Some(count) = count else {
        return text.split_inclusive(' ').collect();
    };
    let size = text.chars().count().div_ceil(count as usize).max(1);
    let starts: Vec<_> = text.char_indices().map(|(at, _)| at).step_by(size).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(pieces("añb cd", Some(3)), ["añ", "b ", "cd"]);
        assert_eq!(pieces("añb", Some(9)), ["a", "ñ", "b"]);
        assert_eq!(pieces("two words", None), ["two ", "words"]);
        assert!(pieces("", Some(4)).is_empty());
    }
}
