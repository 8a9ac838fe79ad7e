//! Anthropic's Messages.

use super::{Ask, Format, expect_refused, expect_window, sent, text, thinking, thought, with_parameters};
use crate::exchange::request;
use gg_core::{Arguments, Call, CallResult, Message, MessageId, Origin, Part};
use gg_providers::Request;
use serde_json::{Value, json};
use std::sync::Arc;

const MESSAGES: Format = Format::AnthropicMessages;

#[tokio::test]
async fn a_window_in_the_servers_words() {
    let expected = concat!(
        r#"{"model":"m","max_tokens":100,"system":"You are brief.","messages":["#,
        r#"{"role":"user","content":[{"type":"text","text":"go"}]},"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s1"},"#,
        r#"{"type":"tool_use","id":"call_A","name":"read_file","input":{"path":"ä"}},"#,
        r#"{"type":"tool_use","id":"c00001002","name":"no_such_call_","input":{"malformed":"{oops"}},"#,
        r#"{"type":"tool_use","id":"c3","name":"finish","input":{}}]},"#,
        r#"{"role":"user","content":["#,
        r#"{"type":"tool_result","tool_use_id":"call_A","content":"line \"1\"\n"},"#,
        r#"{"type":"tool_result","tool_use_id":"c00001002","content":"refused: it is not offered","#,
        r#""is_error":true},"#,
        r#"{"type":"tool_result","tool_use_id":"c3","content":"{\"n\":1}"}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"half "},"#,
        r#"{"type":"text","text":"and half"}]},"#,
        // The reply between them was empty, so they are one.
        r#"{"role":"user","content":[{"type":"text","text":"again"},{"type":"text","text":"well?"}]}],"#,
        r#""tools":[{"name":"read_file","description":"Reads.","#,
        r#""input_schema":{"properties":{},"type":"object"}}],"stream":true}"#,
    );
    expect_window(MESSAGES, expected).await;
}

#[tokio::test]
async fn the_smallest_request() {
    let body = sent(MESSAGES, Ask::Whole, &request()).await.body;
    let expected = concat!(
        r#"{"model":"m","max_tokens":100,"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]}"#,
    );
    assert_eq!(body, expected);
}

#[tokio::test]
async fn parameters_replace_extend_and_remove() {
    let parameters = json!({ "max_tokens": null, "thinking": { "type": "adaptive" }, "model": "other" });
    let body = sent(MESSAGES, Ask::Streamed, &with_parameters(parameters)).await.body;
    let expected = concat!(
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}],"stream":true,"#,
        r#""model":"other","thinking":{"type":"adaptive"}}"#,
    );
    assert_eq!(body, expected);
}

#[tokio::test]
async fn parameters_cannot_replace_the_window() {
    expect_refused(MESSAGES, "messages").await;
    expect_refused(MESSAGES, "system").await;
}

fn user(said: &str) -> Message {
    Message::user(MessageId(0), Origin::Prompt, said)
}

fn reply(parts: impl Into<Vec<Part>>) -> Message {
    Message::reply(MessageId(0), parts.into())
}

/// The turns of this window, each as its role and its blocks: texts as they are, other blocks as their types.
async fn turns(window: Vec<Message>) -> Vec<String> {
    let messages = window.into_iter().map(Arc::new).collect();
    let request = Request { messages, system: " \n".into(), ..request() };
    let body: Value = serde_json::from_str(&sent(MESSAGES, Ask::Whole, &request).await.body).expect("JSON");
    assert_eq!(body.get("system"), None, "a blank prompt");
    let block = |block: &Value| match &block["type"] {
        kind if kind == "text" => block["text"].to_string(),
        kind => kind.as_str().expect("a type").to_owned(),
    };
    let turn = |turn: &Value| {
        let blocks = turn["content"].as_array().expect("blocks").iter().map(block);
        format!("{}: {}", turn["role"].as_str().expect("a role"), blocks.collect::<Vec<_>>().join(", "))
    };
    body["messages"].as_array().expect("turns").iter().map(turn).collect()
}

#[tokio::test]
async fn turns_take_each_others_place_and_none_is_empty() {
    let own = || thought("p", json!({ "model": "m", "item": thinking("s") }));
    let call = Call { id: "c1".into(), name: "read_file".into(), arguments: Arguments::parse("") };
    let results = || Message::results(MessageId(0), vec![CallResult::value(&call, &json!(""))]);
    let calls = |before: Vec<Part>| reply([before, vec![Part::Call(call.clone())]].concat());
    for (window, expected) in [
        // Neighbours become one, results first; what is blank is left out.
        (
            vec![user("a"), user(" \n"), user("b"), calls(vec![text("")]), results(), user("c"), user("")],
            vec!["user: \"a\", \"b\"", "assistant: tool_use", "user: tool_result, \"c\""],
        ),
        (
            vec![user("a"), reply([text("x")]), reply([text("y")]), user("b")],
            vec!["user: \"a\"", "assistant: \"x\", \"y\"", "user: \"b\""],
        ),
        // Nothing is left of a reply that was only thought, or only blank.
        (vec![user("a"), reply([own()]), user("b")], vec!["user: \"a\", \"b\""]),
        (vec![user("a"), reply([own(), text(" ")]), user("b")], vec!["user: \"a\", \"b\""]),
        // Thoughts stay in their place, but for the last.
        (
            vec![
                user("a"),
                calls(vec![own(), text("x"), own()]),
                results(),
                reply([text("y"), own()]),
                user("b"),
            ],
            vec![
                "user: \"a\"",
                "assistant: thinking, \"x\", thinking, tool_use",
                "user: tool_result",
                "assistant: \"y\"",
                "user: \"b\"",
            ],
        ),
        // The user begins.
        (
            vec![reply([text("x")]), user("a")],
            vec!["user: \"(What came before is no longer here.)\"", "assistant: \"x\"", "user: \"a\""],
        ),
        (vec![], vec!["user: \"(What came before is no longer here.)\""]),
        // No white space at the very end, if that is the model's own.
        (vec![user("a "), reply([text("x \n")])], vec!["user: \"a \"", "assistant: \"x\""]),
        (
            vec![user("a"), reply([text("x ")]), user("b ")],
            vec!["user: \"a\"", "assistant: \"x \"", "user: \"b \""],
        ),
    ] {
        assert_eq!(turns(window).await, expected);
    }
}

#[tokio::test]
async fn an_empty_result_has_no_content() {
    let call = Call { id: "c1".into(), name: "read_file".into(), arguments: Arguments::parse("") };
    let window = [
        user("a"),
        reply([Part::Call(call.clone())]),
        Message::results(MessageId(0), vec![CallResult::value(&call, &json!(""))]),
    ];
    let request = Request { messages: window.map(Arc::new).into(), ..request() };
    let body: Value = serde_json::from_str(&sent(MESSAGES, Ask::Whole, &request).await.body).expect("JSON");
    assert_eq!(body["messages"][2]["content"], json!([{ "type": "tool_result", "tool_use_id": "c1" }]));
}
