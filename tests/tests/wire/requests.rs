//! What gg sends, byte for byte.

use crate::exchange::{Ask, KEY, Received, Server, fixture, keeping_connections, request, spec};
use gg_core::{
    Arguments, Call, CallResult, CallSpec, CallStatus, Effect, Message, MessageId, Origin, Part, Turn,
};
use gg_providers::{ModelError, NoDeltas, Pace, Providers, Request};
use serde_json::{Value, json};
use std::sync::{Arc, atomic::Ordering};

async fn sent(ask: Ask, request: &Request) -> Received {
    let server = Server::play(vec![fixture("whole-text")]).await;
    let providers =
        Providers::build_at_pace(&[spec(&server.url, ask, 0)], None, &Pace::immediate()).expect("a provider");
    providers.model("p").expect("a model").complete(request, &NoDeltas).await.expect("a reply");
    server.received().pop().expect("a request")
}

fn with_parameters(parameters: Value) -> Request {
    let Value::Object(parameters) = parameters else { panic!("an object") };
    Request { parameters, ..request() }
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
    let text = |text: &str| Part::Text { text: text.into() };
    let reasoning = |provider: &str| Part::Reasoning {
        provider: provider.into(),
        data: json!({ "reasoning_content": format!("thought at {provider}") }),
    };
    let asks = [reasoning("p"), reasoning("elsewhere")].into_iter().chain(calls.map(Part::Call)).collect();
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
async fn a_window_in_the_servers_words() {
    let body = sent(Ask::Streamed, &busy()).await.body;
    let expected = concat!(
        r#"{"model":"m","messages":["#,
        r#"{"role":"system","content":"You are brief."},"#,
        r#"{"role":"user","content":"go"},"#,
        r#"{"role":"assistant","content":null,"reasoning_content":"thought at p","tool_calls":["#,
        r#"{"id":"call_A","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"ä\"}"}},"#,
        r#"{"id":"c00001002","type":"function","function":{"name":"no_such_call_","#,
        r#""arguments":"{\"malformed\":\"{oops\"}"}},"#,
        r#"{"id":"c3","type":"function","function":{"name":"finish","arguments":"{}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"call_A","content":"line \"1\"\n"},"#,
        r#"{"role":"tool","tool_call_id":"c00001002","content":"refused: it is not offered"},"#,
        r#"{"role":"tool","tool_call_id":"c3","content":"{\"n\":1}"},"#,
        r#"{"role":"assistant","content":"half and half"},"#,
        r#"{"role":"user","content":"again"},"#,
        r#"{"role":"assistant","content":""},"#,
        r#"{"role":"user","content":"well?"}],"#,
        r#""tools":[{"type":"function","function":{"name":"read_file","description":"Reads.","#,
        r#""parameters":{"properties":{},"type":"object"}}}],"#,
        r#""max_tokens":100,"stream":true,"stream_options":{"include_usage":true}}"#,
    );
    // Objects that come from outside keep the order that serde_json gives them; all else is fixed.
    let same = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    assert_eq!(same(&body), same(expected));
    assert_eq!(body.len(), expected.len());
    assert_eq!(sent(Ask::Streamed, &busy()).await.body, body);
}

#[tokio::test]
async fn the_smallest_request() {
    let body = sent(Ask::Whole, &request()).await.body;
    assert_eq!(body, r#"{"model":"m","messages":[{"role":"user","content":"go"}],"max_tokens":100}"#);
}

#[tokio::test]
async fn parameters_replace_extend_and_remove() {
    let parameters = json!({
        "temperature": 0, "max_tokens": null, "max_completion_tokens": 7, "stream_options": null,
        "model": "other", "stop": ["x"],
    });
    let body = sent(Ask::Streamed, &with_parameters(parameters)).await.body;
    let expected = concat!(
        r#"{"messages":[{"role":"user","content":"go"}],"stream":true,"#,
        r#""max_completion_tokens":7,"model":"other","stop":["x"],"temperature":0}"#,
    );
    assert_eq!(body, expected);
}

#[tokio::test]
async fn parameters_cannot_replace_the_window() {
    let providers =
        Providers::build_at_pace(&[spec("http://127.0.0.1:9/v1", Ask::Whole, 0)], None, &Pace::immediate())
            .expect("a provider");
    let request = with_parameters(json!({ "messages": [] }));
    let refused = providers.model("p").expect("a model").complete(&request, &NoDeltas).await;
    assert_eq!(refused, Err(ModelError::Parameter { name: "messages".into() }));
}

#[tokio::test]
async fn the_head_carries_the_key_and_the_headers() {
    let head = sent(Ask::Streamed, &request()).await.head;
    assert!(head.starts_with("post /v1/chat/completions http/1.1\r\n"), "{head}");
    let key = format!("authorization: bearer {KEY}");
    for line in [key.as_str(), "content-type: application/json", "x-team: gg"] {
        assert_eq!(head.lines().filter(|found| *found == line).count(), 1, "{line}\n{head}");
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
