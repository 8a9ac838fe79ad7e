//! What no server can do to gg, whatever it sends.

use super::{
    Assembly, Chat, Messages, Progress, Responses, Wire,
    reply::{MAX_CALLS, MAX_PARTS, MAX_REPLY_BYTES},
};
use crate::{error::ModelError, model::NoDeltas};
use serde_json::{Value, json};

/// Feeds a reply with the events that `event` makes of their number, as long as it takes them.
fn endless<W: Wire>(event: impl Fn(usize) -> Value) -> ModelError {
    let mut assembly = W::Assembly::default();
    for n in 0.. {
        let raw = event(n).to_string();
        let parsed = serde_json::from_str(&raw).expect("an event");
        match assembly.event(None, parsed, &raw, &NoDeltas) {
            Ok(progress) => assert_eq!(progress, Progress::More),
            Err(error) => return error,
        }
    }
    unreachable!("no end to the numbers")
}

fn bytes() -> ModelError {
    ModelError::TooLarge { what: "bytes of text and calls", limit: MAX_REPLY_BYTES }
}

fn calls() -> ModelError {
    ModelError::TooLarge { what: "calls", limit: MAX_CALLS }
}

fn parts() -> ModelError {
    ModelError::TooLarge { what: "parts", limit: MAX_PARTS }
}

fn mega() -> String {
    "x".repeat(1 << 20)
}

#[test]
fn a_chat_is_bounded() {
    let delta = |delta: Value| json!({ "choices": [{ "delta": delta }] });
    let call = |n| json!({ "tool_calls": [{ "index": n, "id": n, "function": { "name": "x" } }] });
    assert_eq!(endless::<Chat>(|_| delta(json!({ "content": mega() }))), bytes());
    assert_eq!(endless::<Chat>(|_| delta(json!({ "reasoning": mega() }))), bytes());
    assert_eq!(endless::<Chat>(|n| delta(call(n))), calls());
}

#[test]
fn a_response_is_bounded() {
    for kind in ["output_text", "refusal", "function_call_arguments", "reasoning_text"] {
        let delta =
            |_| json!({ "type": format!("response.{kind}.delta"), "output_index": 0, "delta": mega() });
        assert_eq!(endless::<Responses>(delta), bytes(), "{kind}");
    }
    let item = |event: &str, n: usize, kind: &str, more: Value| {
        let item = json!({ "type": kind, "id": n.to_string(), "encrypted_content": more });
        json!({ "type": format!("response.output_item.{event}"), "output_index": n, "item": item })
    };
    assert_eq!(endless::<Responses>(|n| item("done", n, "reasoning", mega().into())), bytes());
    assert_eq!(endless::<Responses>(|n| item("added", n, "message", Value::Null)), parts());
    assert_eq!(endless::<Responses>(|n| item("added", n, "function_call", Value::Null)), calls());
    assert_eq!(endless::<Responses>(|n| item("done", n, "function_call", Value::Null)), calls());
}

#[test]
fn a_message_is_bounded() {
    for (kind, field) in [("text", "text"), ("thinking", "thinking"), ("tool_use", "partial_json")] {
        let delta = |n| match n {
            0 => json!({ "type": "content_block_start", "index": 0, "content_block": { "type": kind } }),
            _ => json!({ "type": "content_block_delta", "index": 0, "delta": { field: mega() } }),
        };
        assert_eq!(endless::<Messages>(delta), bytes(), "{kind}");
    }
    let block = |n: usize, kind: &str, more: Value| {
        let block = json!({ "type": kind, "data": more });
        json!({ "type": "content_block_start", "index": n, "content_block": block })
    };
    assert_eq!(endless::<Messages>(|n| block(n, "redacted_thinking", mega().into())), bytes());
    assert_eq!(endless::<Messages>(|n| block(n, "text", Value::Null)), parts());
    assert_eq!(endless::<Messages>(|n| block(n, "tool_use", Value::Null)), calls());
}

#[test]
fn a_whole_reply_is_bounded_too() {
    fn whole<W: Wire>(document: Value) -> Result<(), ModelError> {
        let raw = document.to_string();
        let parsed = serde_json::from_str(&raw).expect("a document");
        W::Assembly::default().document(parsed, raw.as_bytes(), &NoDeltas)
    }
    let text = "x".repeat(MAX_REPLY_BYTES + 1);
    let chat = json!({ "choices": [{ "message": { "content": text } }] });
    let response =
        json!({ "output": [{ "type": "message", "content": [{ "type": "output_text", "text": text }] }] });
    let message = json!({ "content": [{ "type": "text", "text": text }] });
    assert_eq!(whole::<Chat>(chat), Err(bytes()));
    assert_eq!(whole::<Responses>(response), Err(bytes()));
    assert_eq!(whole::<Messages>(message), Err(bytes()));
    let many = vec![json!({ "type": "function_call", "name": "x" }); MAX_CALLS + 1];
    assert_eq!(whole::<Responses>(json!({ "output": many })), Err(calls()));
    let many = vec![json!({ "type": "tool_use", "name": "x" }); MAX_CALLS + 1];
    assert_eq!(whole::<Messages>(json!({ "content": many })), Err(calls()));
}
