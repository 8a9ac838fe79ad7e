//! The cases through the model client alone. A stand-in for an agent runs what is called.

use crate::{
    cases::{self, Ask, BOTH, Case, Outcome, Way, check, malformed, ways},
    servers::{expect_fixtures, gate, test_id},
};
use gg_core::{
    Arguments, Call, CallResult, CallSpec, CallStatus, Effect, Message, MessageId, Origin, Purpose, Turn,
};
use gg_providers::{Api, NoDeltas, ProviderSpec, Providers, Request, Secret, Server};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// More turns than any case needs.
const MAX_TURNS: u32 = 8;

fn spec(way: Way, test_id: &str) -> ProviderSpec {
    ProviderSpec {
        name: "peer".into(),
        api: Api::Server(Server {
            format: way.format,
            base_url: format!("{}/v1", gate()),
            api_key: Some(Secret::new("any-key-will-do")),
            headers: BTreeMap::from([("X-Test-Id".to_owned(), test_id.to_owned())]),
            stream: way.ask == Ask::Streamed,
        }),
        idle_timeout: Duration::from_secs(60),
        total_timeout: Duration::from_secs(60),
        max_retries: 3,
    }
}

fn offered() -> Arc<[CallSpec]> {
    let spec = |name: &str, effect, properties| CallSpec {
        name: name.into(),
        description: format!("The call {name}."),
        parameters: json!({ "type": "object", "properties": properties }),
        effect,
        feature: None,
    };
    let text = || json!({ "type": "string" });
    [
        spec("read_file", Effect::ReadOnly, json!({ "path": text() })),
        spec("write_file", Effect::Acting, json!({ "path": text(), "content": text() })),
    ]
    .into()
}

/// Runs one call, or refuses it.
fn run(call: &Call, outcome: &mut Outcome) -> CallResult {
    match (call.name.as_str(), &call.arguments) {
        (_, Arguments::Malformed(_)) => {
            CallResult::new(call, CallStatus::Refused, "its arguments are no JSON")
        }
        ("read_file", Arguments::Json(_)) => CallResult::value(call, &json!("text")),
        ("write_file", Arguments::Json(arguments)) => {
            match arguments.get("content").and_then(Value::as_str) {
                Some(content) => {
                    outcome.written = Some(content.to_owned());
                    CallResult::value(call, &json!("written"))
                }
                None => CallResult::new(call, CallStatus::Refused, "it has no content"),
            }
        }
        _ => CallResult::new(call, CallStatus::Refused, "it is not offered"),
    }
}

async fn play(case: &Case, way: Way) {
    expect_fixtures();
    let test_id = test_id("client");
    let providers = Providers::build(&[spec(way, &test_id)], None).expect("a provider");
    let model = providers.model("peer").expect("a model");
    let mut messages = vec![Arc::new(Message::user(MessageId(1), Origin::Prompt, case.prompt))];
    let mut outcome = Outcome::default();
    for turn in 1..=MAX_TURNS {
        let request = Request {
            agent: "a1".into(),
            profile: "worker".into(),
            turn: Turn(turn),
            purpose: Purpose::Turn,
            system: "You work on files.".into(),
            messages: messages.clone(),
            calls: offered(),
            max_output: 2048,
            parameters: way.parameters(case),
            model: way.model().into(),
        };
        let reply = model
            .complete(&request, &NoDeltas)
            .await
            .unwrap_or_else(|error| panic!("{case:?}, {way:?}: {error}"));
        outcome.text = reply.text();
        let calls: Vec<_> = reply.calls().cloned().collect();
        let next = MessageId(u64::from(turn) * 2);
        messages.push(Arc::new(Message::reply(next, reply.parts)));
        if calls.is_empty() {
            check(case, way, &test_id, &outcome);
            return;
        }
        let results: Vec<_> = calls.iter().map(|call| run(call, &mut outcome)).collect();
        for (call, result) in calls.iter().zip(&results) {
            let status = json!(result.status);
            let status = status.as_str().expect("a name");
            outcome.calls.push(format!("{} {} {status}", call.name, call.arguments.to_wire()));
        }
        messages.push(Arc::new(Message::results(next.next(), results)));
    }
    panic!("{case:?}, {way:?}: no end after {MAX_TURNS} turns");
}

async fn every(case: &Case, asks: &[Ask]) {
    for way in ways(asks) {
        play(case, way).await;
    }
}

#[tokio::test]
#[ignore = "needs servers: cargo xtask peers"]
async fn parallel_calls() {
    every(&cases::PARALLEL, BOTH).await;
}

#[tokio::test]
#[ignore = "needs servers: cargo xtask peers"]
async fn a_429_with_retry_after() {
    every(&cases::RATE_LIMIT, BOTH).await;
}

#[tokio::test]
#[ignore = "needs servers: cargo xtask peers"]
async fn a_500() {
    every(&cases::SERVER_ERROR, BOTH).await;
}

#[tokio::test]
#[ignore = "needs servers: cargo xtask peers"]
async fn a_disconnect_in_mid_stream() {
    every(&cases::CUT_IN_MID_STREAM, &[Ask::Streamed]).await;
}

#[tokio::test]
#[ignore = "needs servers: cargo xtask peers"]
async fn a_disconnect_before_the_reply() {
    every(&cases::CUT_BEFORE_THE_REPLY, BOTH).await;
}

#[tokio::test]
#[ignore = "needs servers: cargo xtask peers"]
async fn malformed_arguments() {
    for way in ways(BOTH) {
        play(&malformed(way.format), way).await;
    }
}

#[tokio::test]
#[ignore = "needs servers: cargo xtask peers"]
async fn a_call_that_is_not_offered() {
    every(&cases::NOT_OFFERED, BOTH).await;
}

#[tokio::test]
#[ignore = "needs servers: cargo xtask peers"]
async fn reasoning() {
    every(&cases::REASONING, BOTH).await;
}
