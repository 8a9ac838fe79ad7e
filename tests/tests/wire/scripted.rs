//! The scripted model.

use crate::exchange::{Ask, Shown, lines, request, spec};
use gg_core::{Arguments, Call, CallResult, CallSpec, Effect, Message, MessageId, Part, Purpose, Turn};
use gg_providers::{Api, ModelError, NoDeltas, ProviderSpec, Providers, Request};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

fn scripted(replies: Value) -> Providers {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.json");
    fs::write(&path, json!({ "replies": replies }).to_string()).expect("a script");
    let spec = ProviderSpec { api: Api::Scripted { path }, ..spec("", Ask::Streamed, 5) };
    Providers::build(&[spec], None).expect("a provider")
}

async fn ask(providers: &Providers, request: &Request) -> String {
    lines(&providers.model("p").expect("a model").complete(request, &NoDeltas).await)
}

fn as_agent(profile: &str, turn: u32, purpose: Purpose) -> Request {
    Request { profile: profile.into(), turn: Turn(turn), purpose, ..request() }
}

/// A second turn: a call was made and answered, and two calls are offered.
fn second_turn() -> Request {
    let call =
        Call { id: "c1".into(), name: "read_file".into(), arguments: Arguments::parse("{\"path\":\"a\"}") };
    let result = CallResult::value(&call, &json!("the word is mango"));
    let spec = |name: &str| CallSpec {
        name: name.into(),
        description: String::new(),
        parameters: json!({}),
        effect: Effect::ReadOnly,
        feature: None,
    };
    let mut request = as_agent("lead", 2, Purpose::Turn);
    request.system = "You read files.".into();
    request.messages.push(Arc::new(Message::reply(MessageId(2), vec![Part::Call(call)])));
    request.messages.push(Arc::new(Message::results(MessageId(3), vec![result])));
    request.calls = [spec("read_file"), spec("finish")].into();
    request
}

#[tokio::test]
async fn replies_go_to_their_agent_turn_and_purpose_in_order() {
    let providers = scripted(json!([
        { "agent": "reader", "text": "for the reader" },
        { "agent": "lead", "turn": 2, "text": "second" },
        { "purpose": "summary", "text": "a summary", "usage": { "input": 9, "output": 4, "cached": 3 } },
        { "agent": "a1", "turn": 1, "reasoning": "hm", "text": "first",
          "calls": [{ "name": "x", "arguments": { "q": 1 } }, { "name": "y", "arguments": "{oops", "id": "mine" }] },
        { "times": 2, "text": "any" },
    ]));
    let turn = |profile, turn| as_agent(profile, turn, Purpose::Turn);
    assert_eq!(
        ask(&providers, &turn("lead", 1)).await,
        "reasoning of p: {\"reasoning_content\":\"hm\"}\ntext: first\ncall c00001001: x {\"q\":1}\n\
         call mine: y {\"malformed\":\"{oops\"}\nstop: Calls"
    );
    assert_eq!(ask(&providers, &turn("lead", 2)).await, "text: second\nstop: End");
    assert_eq!(ask(&providers, &turn("lead", 2)).await, "text: any\nstop: End");
    assert_eq!(
        ask(&providers, &as_agent("lead", 2, Purpose::Summary)).await,
        "text: a summary\nstop: End\nusage: 9 (3 cached) and 4 (0 reasoning)"
    );
    let left = providers.replies_left();
    let left: Vec<_> = left.iter().map(|line| line.rsplit_once("s.json: ").expect("a line").1).collect();
    assert_eq!(left, ["reply 1 (1 left)", "reply 5 (1 left)"]);
}

#[tokio::test]
async fn what_is_expected_and_sent_passes() {
    let providers = scripted(json!([{
        "expect": {
            "systemContains": "read files", "systemNotContains": ["write"],
            "lastContains": ["mango", "read_file"], "contains": ["go", "\"path\":\"a\""], "notContains": "pear",
            "messages": 3, "calls": ["finish", "read_file"], "offered": "finish", "notOffered": "compact",
            "results": { "read_file": "mango" },
        },
        "text": "mango",
    }]));
    assert_eq!(ask(&providers, &second_turn()).await, "text: mango\nstop: End");
}

#[tokio::test]
async fn a_mismatch_says_what_was_expected_and_what_was_sent() {
    let providers = scripted(json!([{
        "expect": {
            "systemContains": "write", "systemNotContains": "files", "lastContains": "pear", "contains": "plum",
            "notContains": "go", "messages": 4, "calls": ["finish"], "offered": "compact",
            "notOffered": "finish", "results": { "read_file": "pear", "search": [] },
        },
        "text": "never",
    }]));
    let text = ask(&providers, &second_turn()).await;
    let (_, text) = text.split_once("s.json: ").expect("the script's name");
    let expected = r#"reply 1 does not fit agent a1 (profile `lead`), turn 2
  expected the system prompt to contain "write"
  expected the system prompt not to contain "files"
  expected the last message to contain "pear"
  expected a message to contain "plum"
  expected no message to contain "go"
  expected 4 messages, and there are 3
  expected the calls {"finish"}, and offered are {"finish", "read_file"}
  expected `compact` among the calls offered, which are {"finish", "read_file"}
  expected `finish` not to be offered
  expected a result of `read_file` to contain "pear"
  expected the last message to hold a result of `search`
sent:
  system: "You read files."
  message 1 (User): "go"
  message 2 (Assistant): "[call read_file {\"path\":\"a\"}]"
  message 3 (Results): "[result of read_file] the word is mango"
  calls offered: read_file, finish"#;
    assert_eq!(text, expected);
}

#[tokio::test]
async fn a_request_without_a_reply_is_an_error() {
    let providers = scripted(json!([{ "agent": "reader", "text": "a" }, { "turn": 1, "text": "b" }]));
    ask(&providers, &as_agent("lead", 1, Purpose::Turn)).await;
    let text = ask(&providers, &as_agent("lead", 2, Purpose::Turn)).await;
    let (_, text) = text.split_once("s.json: ").expect("the script's name");
    assert_eq!(
        text,
        "there is no reply for agent a1 (profile `lead`), turn 2\n  1 of the script's 2 replies are used up\n\
         sent:\n  system: \"\"\n  message 1 (User): \"go\"\n  calls offered: "
    );
}

#[tokio::test]
async fn failures_come_typed_after_what_was_shown() {
    let providers = scripted(json!([
        { "text": "half a", "error": { "kind": "cut" } },
        { "error": { "kind": "context-too-long", "message": "no room" } },
        { "pieces": 2, "text": "ab" },
    ]));
    let model = providers.model("p").expect("a model");
    let shown = Shown::default();
    let outcome = model.complete(&request(), &shown).await;
    assert_eq!(outcome, Err(ModelError::Cut { message: "as the script says".into() }));
    assert_eq!(shown.take(), "half a");
    let outcome = model.complete(&request(), &shown).await;
    assert_eq!(outcome, Err(ModelError::ContextTooLong { message: "no room".into(), attempts: 1 }));
    assert_eq!(lines(&model.complete(&request(), &shown).await), "text: ab\nstop: End");
    assert_eq!(shown.take(), "ab");
}
