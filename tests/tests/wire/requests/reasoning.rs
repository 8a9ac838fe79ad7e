//! What a model thought goes back to it, and is left out where its server refuses it.

use super::{Ask, Format, rs, text, thinking, thought};
use crate::exchange::{Server, Shown, fixture_of, folder, request, spec_of};
use gg_core::{Message, MessageId, Origin};
use gg_providers::{ModelError, Pace, Providers, Reply, Request};
use serde_json::{Value, json};
use std::sync::Arc;

/// A refusal of the request with these words.
fn refusal(message: &str) -> Vec<u8> {
    let body = json!({ "error": { "type": "invalid_request_error", "message": message } }).to_string();
    let length = body.len();
    format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

/// A window in which the model thought before it spoke.
fn thoughtful(item: Value) -> Request {
    let parts = vec![thought("p", json!({ "model": "m", "item": item })), text("Four")];
    let messages = vec![
        Arc::new(Message::user(MessageId(1), Origin::Prompt, "go")),
        Arc::new(Message::reply(MessageId(2), parts)),
        Arc::new(Message::user(MessageId(3), Origin::Notice, "again")),
    ];
    Request { messages, ..request() }
}

/// What a server is sent that answers with these, what is shown, and what comes of it.
async fn ask(
    format: Format,
    request: &Request,
    answers: Vec<Vec<u8>>,
) -> (Vec<Value>, String, Result<Reply, ModelError>) {
    let server = Server::play(answers).await;
    let spec = spec_of(format, &server.url, Ask::Whole, 0);
    let providers = Providers::build_at_pace(&[spec], None, &Pace::immediate()).expect("a provider");
    let shown = Shown::default();
    let outcome = providers.model("p").expect("a model").complete(request, &shown).await;
    let bodies = server.received().iter().map(|one| serde_json::from_str(&one.body).expect("JSON")).collect();
    (bodies, shown.take(), outcome)
}

const CASES: [(Format, &str, &str); 4] = [
    (
        Format::AnthropicMessages,
        "/messages/1/content",
        "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different \
         conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".",
    ),
    (
        Format::AnthropicMessages,
        "/messages/1/content",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be \
         modified. These blocks must remain as they were in the original response.",
    ),
    (Format::OpenAiResponses, "/input", "The encrypted content gAAA...c90= could not be verified."),
    (
        Format::OpenAiResponses,
        "/input",
        "Item 'rs_01' of type 'reasoning' was provided without its required following item.",
    ),
];

fn item(format: Format) -> Value {
    if format == Format::AnthropicMessages { thinking("s") } else { rs("rs_01") }
}

#[tokio::test]
async fn refused_thoughts_are_left_out_and_the_rest_is_sent_again() {
    for (format, at, complaint) in CASES {
        let answers = vec![refusal(complaint), fixture_of(folder(format), "whole-text")];
        let (bodies, shown, outcome) = ask(format, &thoughtful(item(format)), answers).await;
        let reply = outcome.expect("a reply");
        assert_eq!((reply.text(), reply.attempts), ("Hello".into(), 2), "{complaint}");
        assert_eq!(shown, "[again]Hello");
        let thoughts = |body: &Value| {
            let items = body.pointer(at).and_then(Value::as_array).expect("a list");
            items.iter().filter(|found| **found == item(format)).count()
        };
        assert_eq!(bodies.iter().map(thoughts).collect::<Vec<_>>(), [1, 0], "{complaint}");
    }
}

#[tokio::test]
async fn where_there_are_none_the_refusal_stands() {
    for (format, _, complaint) in CASES {
        let (bodies, _, outcome) = ask(format, &request(), vec![refusal(complaint)]).await;
        assert_eq!(bodies.len(), 1);
        assert_eq!(outcome, Err(ModelError::BadRequest { status: 400, message: complaint.into() }));
    }
}

#[tokio::test]
async fn a_second_refusal_is_the_last() {
    let (format, _, complaint) = CASES[0];
    let answers = vec![refusal(complaint), refusal(complaint)];
    let (bodies, _, outcome) = ask(format, &thoughtful(thinking("s")), answers).await;
    assert_eq!(bodies.len(), 2);
    let error = Box::new(ModelError::BadRequest { status: 400, message: complaint.into() });
    assert_eq!(outcome, Err(ModelError::Retried { error, attempts: 2 }));
}

#[tokio::test]
async fn another_refusal_changes_nothing() {
    let answers = vec![refusal("temperature: must be at most 1")];
    let (bodies, _, outcome) = ask(Format::AnthropicMessages, &thoughtful(thinking("s")), answers).await;
    assert_eq!(bodies.len(), 1);
    assert!(matches!(outcome, Err(ModelError::BadRequest { .. })), "{outcome:?}");
}
