//! Puts a response together from its events.

use super::{
    items::{At, Ended, Item, Items, Piece},
    shapes::{Event, Response, UsageReport},
};
use crate::{
    error::ModelError,
    failure::{Failure, is_telling},
    model::{Delta, Deltas, Reply, Stop},
    wire::{
        self, Progress, Transmission,
        reply::{Place, RawPart, Size, broke_off, done, unheard_of},
    },
};
use gg_core::Usage;
use serde_json::{Map, Value, json};

/// A response as far as it has come in.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    items: Items,
    ending: Option<Ending>,
    usage: Option<Usage>,
    size: Size,
}

/// How a response ended: what its last word says.
#[derive(Debug)]
struct Ending {
    status: String,
    reason: Option<String>,
}

impl wire::Assembly for Assembly {
    type Document = Response;
    type Event = Event;

    fn document(&mut self, response: Response, raw: &[u8], deltas: &dyn Deltas) -> Result<(), ModelError> {
        if let Some(failure) = failure(&response) {
            return Err(failure.into_error(None));
        }
        if response.output.is_none() {
            return Err(match Failure::in_place_of_reply(raw) {
                Some(failure) => failure.into_error(None),
                None => ModelError::Malformed { message: "a document without `output`".into() },
            });
        }
        self.end(response, "completed", deltas)
    }

    fn event(
        &mut self,
        name: Option<&str>,
        event: Event,
        raw: &str,
        deltas: &dyn Deltas,
    ) -> Result<Progress, ModelError> {
        let at = At { index: event.output_index, id: event.item_id.as_deref() };
        let piece = event.delta.unwrap_or_default();
        match event.kind.as_deref().or(name).unwrap_or_default() {
            "response.output_item.added" => self.items.begin(at.index, event.item.unwrap_or_default())?,
            "response.output_item.done" => {
                self.item_done(at.index, event.item.unwrap_or_default(), deltas)?
            }
            "response.output_text.delta" => self.grow(at, Piece::Text, &piece, deltas)?,
            "response.refusal.delta" => self.grow(at, Piece::Refusal, &piece, deltas)?,
            "response.function_call_arguments.delta" => self.grow(at, Piece::Arguments, &piece, deltas)?,
            "response.function_call_arguments.done" => {
                if let Some(arguments) = event.arguments {
                    self.items.set_arguments(at, arguments);
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.grow(at, Piece::Reasoning, &piece, deltas)?;
            }
            "response.completed" => {
                self.end(event.response.unwrap_or_default(), "completed", deltas)?;
                return Ok(Progress::Done);
            }
            "response.incomplete" => {
                self.end(event.response.unwrap_or_default(), "incomplete", deltas)?;
                return Ok(Progress::Done);
            }
            "response.failed" => {
                let failure = failure(&event.response.unwrap_or_default());
                return Err(failure.unwrap_or_else(unexplained).into_error(None));
            }
            "error" | "response.error" => return Err(Failure::of_event(raw).into_error(None)),
            _ if event.error.as_ref().is_some_and(is_telling) => {
                return Err(Failure::of_event(raw).into_error(None));
            }
            _ => {}
        }
        Ok(Progress::More)
    }

    fn finish(self, _: Transmission, place: Place<'_>) -> Result<Reply, ModelError> {
        let Some(ending) = self.ending else {
            return Err(broke_off("it ended before `response.completed`"));
        };
        let mut parts = Vec::new();
        let mut refusal = String::new();
        for item in self.items.into_iter() {
            match item.kind() {
                Some("message") => {
                    refusal.push_str(&item.refusal());
                    parts.extend(message(&item, &place));
                }
                Some("reasoning") => parts.extend(item.into_reasoning().map(|item| place.item(item))),
                Some("function_call") => parts.push(RawPart::Call(item.into_call())),
                // What the server did by itself is over, and nothing of it goes back.
                _ => {}
            }
        }
        let has_text = parts.iter().any(|part| matches!(part, RawPart::Text(_)));
        let declined = !refusal.is_empty() && !has_text;
        if declined {
            parts.push(RawPart::Text(refusal));
        }
        let stop = if declined { Stop::Refused } else { ending.stop(&parts)? };
        place.reply(parts, self.usage, stop)
    }
}

impl Assembly {
    fn grow(&mut self, at: At<'_>, piece: Piece, text: &str, deltas: &dyn Deltas) -> Result<(), ModelError> {
        self.size.grow(text.len())?;
        self.items.grow(at, piece, text)?;
        match piece {
            _ if text.is_empty() => {}
            Piece::Text | Piece::Refusal => deltas.delta(Delta::Text(text)),
            Piece::Reasoning => deltas.delta(Delta::Reasoning(text)),
            Piece::Arguments => {}
        }
        Ok(())
    }

    fn item_done(
        &mut self,
        index: Option<u64>,
        said: Map<String, Value>,
        deltas: &dyn Deltas,
    ) -> Result<(), ModelError> {
        let Ended { more, is_news, item } = self.items.end(index, said)?;
        if is_news {
            let thought = item.thought();
            match item.kind() {
                Some("message") => {
                    for text in [item.text(), item.refusal()].iter().filter(|text| !text.is_empty()) {
                        deltas.delta(Delta::Text(text));
                    }
                }
                Some("reasoning") if !thought.is_empty() => deltas.delta(Delta::Reasoning(&thought)),
                _ => {}
            }
        }
        self.size.grow(more)
    }

    /// The last word on the response. Its items are news only where none came before.
    fn end(&mut self, response: Response, status: &str, deltas: &dyn Deltas) -> Result<(), ModelError> {
        if let Some(failure) = failure(&response) {
            return Err(failure.into_error(None));
        }
        if self.items.is_empty() {
            for (index, said) in (0..).zip(response.output.unwrap_or_default()) {
                self.item_done(Some(index), said, deltas)?;
            }
        }
        self.usage = response.usage.and_then(UsageReport::into_usage);
        // Some servers call an incomplete response completed, but say its status.
        let status = response.status.unwrap_or_else(|| status.to_owned());
        let reason = response.incomplete_details.and_then(|details| details.reason);
        self.ending = Some(Ending { status, reason });
        Ok(())
    }
}

/// A message's text, behind what the server wants to know of it again.
fn message(item: &Item, place: &Place<'_>) -> Vec<RawPart> {
    let text = item.text();
    if text.is_empty() {
        return Vec::new();
    }
    let phase = item.phase().map(|phase| place.item(json!({ "type": "message", "phase": phase })));
    phase.into_iter().chain([RawPart::Text(text)]).collect()
}

/// The error of a response that failed.
fn failure(response: &Response) -> Option<Failure> {
    if let Some(error) = response.error.as_ref().filter(|error| is_telling(error)) {
        return Some(Failure::of_value(error));
    }
    (response.status.as_deref() == Some("failed")).then(unexplained)
}

fn unexplained() -> Failure {
    Failure::of_value(&"it does not say why".into())
}

impl Ending {
    fn stop(&self, parts: &[RawPart]) -> Result<Stop, ModelError> {
        Ok(match (self.status.as_str(), self.reason.as_deref()) {
            ("completed", _) => done(parts),
            ("incomplete", Some("max_output_tokens" | "max_tokens")) => Stop::Length,
            ("incomplete", Some("content_filter")) => Stop::Refused,
            ("incomplete", reason) => unheard_of(reason.unwrap_or("incomplete")),
            (other, _) => {
                let status = gg_core::text::glance(other, 64);
                return Err(broke_off(&format!("the server left it unfinished (status: {status})")));
            }
        })
    }
}
