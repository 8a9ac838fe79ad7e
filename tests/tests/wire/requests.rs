//! What gg sends, byte for byte.

mod chat;
mod messages;
mod reasoning;
mod responses;

use crate::exchange::{
    Ask, KEY, Received, Server, fixture, fixture_of, folder, keeping_connections, request, spec, spec_of,
};
use gg_core::{
    Arguments, Call, CallResult, CallSpec, CallStatus, Effect, Message, MessageId, Origin, Part, Turn,
};
use gg_providers::{Api, Format, ModelError, NoDeltas, Pace, ProviderSpec, Providers, Request};
use serde_json::{Value, json};
use std::sync::{Arc, atomic::Ordering};

const FORMATS: [Format; 3] = [Format::OpenAiChat, Format::OpenAiResponses, Format::AnthropicMessages];

/// What a server of this format is sent.
async fn sent(format: Format, ask: Ask, request: &Request) -> Received {
    let server = Server::play(vec![fixture_of(folder(format), "whole-text")]).await;
    let providers =
        Providers::build_at_pace(&[spec_of(format, &server.url, ask, 0)], None, &Pace::immediate())
            .expect("a provider");
    providers.model("p").expect("a model").complete(request, &NoDeltas).await.expect("a reply");
    server.received().pop().expect("a request")
}

/// That what is sent are these very bytes, the order of fields inside of objects that come from outside apart:
/// they keep the one that serde_json gives them.
async fn expect_window(format: Format, expected: &str) {
    let body = sent(format, Ask::Streamed, &busy()).await.body;
    let same = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    assert_eq!(same(&body), same(expected));
    assert_eq!(body.len(), expected.len());
    assert_eq!(sent(format, Ask::Streamed, &busy()).await.body, body, "the same bytes again");
}

fn with_parameters(parameters: Value) -> Request {
    let Value::Object(parameters) = parameters else { panic!("an object") };
    Request { parameters, ..request() }
}

/// That this parameter is refused before anything is sent.
async fn expect_refused(format: Format, name: &str) {
    let providers = Providers::build(&[spec_of(format, "http://127.0.0.1:9/v1", Ask::Whole, 0)], None)
        .expect("a provider");
    let request = with_parameters(json!({ name: [] }));
    let refused = providers.model("p").expect("a model").complete(&request, &NoDeltas).await;
    assert_eq!(refused, Err(ModelError::Parameter { name: name.into() }));
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn thought(provider: &str, data: Value) -> Part {
    Part::Reasoning { provider: provider.into(), data }
}

/// Reasoning as Responses has it.
fn rs(id: &str) -> Value {
    json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAAAABo" })
}

/// Reasoning as Messages has it.
fn thinking(signature: &str) -> Value {
    json!({ "type": "thinking", "thinking": "Hm.", "signature": signature })
}

/// A window with everything in it.
fn busy() -> Request {
    let call = |id: &str, name: &str, raw: &str| Call {
        id: id.into(),
        name: name.into(),
        arguments: Arguments::parse(raw),
    };
    let calls = [
        call("call_A", "read_file", r#"{"path":"ä"}"#),
        call("c00001002", "no such call!", "{oops"),
        call("c3", "finish", ""),
    ];
    let results = [
        CallResult::value(&calls[0], &json!("line \"1\"\n")),
        CallResult::new(&calls[1], CallStatus::Refused, "it is not offered"),
        CallResult::value(&calls[2], &json!({ "n": 1 })),
    ];
    // Each format knows its own thoughts, and leaves the others where they are.
    let thoughts = [
        thought("p", json!({ "reasoning_content": "thought at p" })),
        thought("elsewhere", json!({ "reasoning_content": "thought elsewhere" })),
        thought("p", json!({ "model": "m", "item": rs("rs_01") })),
        thought("elsewhere", json!({ "model": "m", "item": rs("rs_02") })),
        thought("p", json!({ "model": "other", "item": rs("rs_03") })),
        thought("p", json!({ "model": "m", "item": thinking("s1") })),
        thought("elsewhere", json!({ "model": "m", "item": thinking("s2") })),
        thought("p", json!({ "model": "other", "item": thinking("s3") })),
    ];
    let asks = thoughts.into_iter().chain(calls.map(Part::Call)).collect();
    let messages = vec![
        Message::user(MessageId(1), Origin::Prompt, "go"),
        Message::reply(MessageId(2), asks),
        Message::results(MessageId(3), results.into()),
        Message::reply(MessageId(4), vec![text("half "), text("and half")]),
        Message::user(MessageId(5), Origin::Notice, "again"),
        Message::reply(MessageId(6), vec![]),
        Message::user(MessageId(7), Origin::Notice, "well?"),
    ];
    Request {
        system: "You are brief.".into(),
        turn: Turn(3),
        messages: messages.into_iter().map(Arc::new).collect(),
        calls: [CallSpec {
            name: "read_file".into(),
            description: "Reads.".into(),
            parameters: json!({ "type": "object", "properties": {} }),
            effect: Effect::ReadOnly,
            feature: None,
        }]
        .into(),
        ..request()
    }
}

#[tokio::test]
async fn the_head_carries_the_key_and_the_headers() {
    for (format, path, lines) in [
        (Format::OpenAiChat, "chat/completions", vec![format!("authorization: bearer {KEY}")]),
        (Format::OpenAiResponses, "responses", vec![format!("authorization: bearer {KEY}")]),
        (
            Format::AnthropicMessages,
            "messages",
            vec![format!("x-api-key: {KEY}"), "anthropic-version: 2023-06-01".into()],
        ),
    ] {
        let head = sent(format, Ask::Streamed, &request()).await.head;
        assert!(head.starts_with(&format!("post /v1/{path} http/1.1\r\n")), "{head}");
        for line in lines.iter().map(String::as_str).chain(["content-type: application/json", "x-team: gg"]) {
            assert_eq!(head.lines().filter(|found| *found == line).count(), 1, "{line}\n{head}");
        }
        let keys = head.lines().filter(|line| line.contains(KEY)).count();
        assert_eq!(keys, 1, "{head}");
    }
}

#[tokio::test]
async fn a_header_of_the_configuration_replaces_the_formats_own() {
    let server = Server::play(vec![fixture_of("anthropic-messages", "whole-text")]).await;
    let spec = spec_of(Format::AnthropicMessages, &server.url, Ask::Whole, 0);
    let Api::Server(mut peer) = spec.api else { panic!("a server") };
    peer.headers = [("Anthropic-Version", "2024-10-22"), ("anthropic-beta", "x")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    let spec = ProviderSpec { api: Api::Server(peer), ..spec };
    let providers = Providers::build(&[spec], None).expect("a provider");
    providers.model("p").expect("a model").complete(&request(), &NoDeltas).await.expect("a reply");
    let head = server.received().pop().expect("a request").head;
    let versions: Vec<_> = head.lines().filter(|line| line.starts_with("anthropic-")).collect();
    assert_eq!(versions.len(), 2, "{head}");
    assert!(versions.contains(&"anthropic-version: 2024-10-22") && versions.contains(&"anthropic-beta: x"));
}

#[tokio::test]
async fn a_schema_says_that_it_describes_an_object() {
    let calls = [CallSpec { parameters: json!({ "properties": {} }), ..busy().calls[0].clone() }];
    let request = Request { calls: calls.into(), ..request() };
    for (format, at) in FORMATS.into_iter().zip([
        "/tools/0/function/parameters",
        "/tools/0/parameters",
        "/tools/0/input_schema",
    ]) {
        let body: Value = serde_json::from_str(&sent(format, Ask::Whole, &request).await.body).expect("JSON");
        assert_eq!(body.pointer(at), Some(&json!({ "type": "object", "properties": {} })), "{format:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there() {
    let gone = Server::play(vec![]).await;
    let providers = Providers::build_at_pace(&[spec(&gone.url, Ask::Streamed, 2)], None, &Pace::immediate())
        .expect("a provider");
    let refused = providers.model("p").expect("a model").complete(&request(), &NoDeltas).await;
    let Err(ModelError::Retried { error, attempts: 3 }) = refused else { panic!("{refused:?}") };
    assert!(matches!(*error, ModelError::Network { .. }), "{error:?}");
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let (url, connections) = keeping_connections(fixture("recorded-chunked")).await;
    let providers = Providers::build(&[spec(&url, Ask::Streamed, 0)], None).expect("a provider");
    let model = providers.model("p").expect("a model");
    for _ in 0..5 {
        model.complete(&request(), &NoDeltas).await.expect("a reply");
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}
