//! OpenAI's Responses.

use super::{Ask, Format, expect_refused, expect_window, sent, with_parameters};
use crate::exchange::request;
use gg_core::{Message, MessageId, Origin};
use gg_providers::Request;
use serde_json::{Value, json};
use std::sync::Arc;

const RESPONSES: Format = Format::OpenAiResponses;

#[tokio::test]
async fn a_window_in_the_servers_words() {
    let expected = concat!(
        r#"{"model":"m","instructions":"You are brief.","input":["#,
        r#"{"type":"message","role":"user","content":"go"},"#,
        r#"{"type":"reasoning","id":"rs_01","summary":[],"encrypted_content":"gAAAAABo"},"#,
        r#"{"type":"function_call","call_id":"call_A","name":"read_file","arguments":"{\"path\":\"ä\"}"},"#,
        r#"{"type":"function_call","call_id":"c00001002","name":"no_such_call_","#,
        r#""arguments":"{\"malformed\":\"{oops\"}"},"#,
        r#"{"type":"function_call","call_id":"c3","name":"finish","arguments":"{}"},"#,
        r#"{"type":"function_call_output","call_id":"call_A","output":"line \"1\"\n"},"#,
        r#"{"type":"function_call_output","call_id":"c00001002","output":"refused: it is not offered"},"#,
        r#"{"type":"function_call_output","call_id":"c3","output":"{\"n\":1}"},"#,
        r#"{"type":"message","id":"msg_4_0","status":"completed","role":"assistant","#,
        r#""content":[{"type":"output_text","text":"half ","annotations":[],"logprobs":[]}]},"#,
        r#"{"type":"message","id":"msg_4_1","status":"completed","role":"assistant","#,
        r#""content":[{"type":"output_text","text":"and half","annotations":[],"logprobs":[]}]},"#,
        r#"{"type":"message","role":"user","content":"again"},"#,
        r#"{"type":"message","role":"user","content":"well?"}],"#,
        r#""tools":[{"type":"function","name":"read_file","description":"Reads.","#,
        r#""parameters":{"properties":{},"type":"object"},"strict":false}],"#,
        r#""max_output_tokens":100,"store":false,"include":["reasoning.encrypted_content"],"stream":true}"#,
    );
    expect_window(RESPONSES, expected).await;
}

#[tokio::test]
async fn the_smallest_request() {
    let body = sent(RESPONSES, Ask::Whole, &request()).await.body;
    let expected = concat!(
        r#"{"model":"m","input":[{"type":"message","role":"user","content":"go"}],"#,
        r#""max_output_tokens":100,"store":false,"include":["reasoning.encrypted_content"]}"#,
    );
    assert_eq!(body, expected);
}

#[tokio::test]
async fn parameters_replace_extend_and_remove() {
    let parameters = json!({
        "include": null, "max_output_tokens": null, "reasoning": { "effort": "low" }, "model": "other",
    });
    let body = sent(RESPONSES, Ask::Streamed, &with_parameters(parameters)).await.body;
    let expected = concat!(
        r#"{"input":[{"type":"message","role":"user","content":"go"}],"store":false,"stream":true,"#,
        r#""model":"other","reasoning":{"effort":"low"}}"#,
    );
    assert_eq!(body, expected);
}

#[tokio::test]
async fn parameters_cannot_replace_the_window() {
    expect_refused(RESPONSES, "input").await;
    expect_refused(RESPONSES, "instructions").await;
}

#[tokio::test]
async fn a_message_keeps_its_phase() {
    let said = |phase: &str, said: &str| {
        let item = json!({ "type": "message", "phase": phase });
        [super::thought("p", json!({ "model": "m", "item": item })), super::text(said)]
    };
    let parts = [said("commentary", "I look."), said("final_answer", "Done.")].concat();
    let messages = vec![
        Arc::new(Message::user(MessageId(1), Origin::Prompt, "go")),
        Arc::new(Message::reply(MessageId(2), parts)),
    ];
    for (model, phases) in
        [("m", ["commentary", "final_answer"].map(Value::from)), ("n", [Value::Null, Value::Null])]
    {
        let request = Request { messages: messages.clone(), model: model.into(), ..request() };
        let body: Value =
            serde_json::from_str(&sent(RESPONSES, Ask::Whole, &request).await.body).expect("JSON");
        let input = body["input"].as_array().expect("items");
        let found: Vec<_> = input.iter().map(|item| (&item["content"][0]["text"], &item["phase"])).collect();
        let said = ["I look.", "Done."].map(Value::from);
        assert_eq!(found[1..], [(&said[0], &phases[0]), (&said[1], &phases[1])], "{model}");
    }
}
