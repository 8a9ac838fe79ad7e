//! Chat Completions.

use super::{Ask, Format, expect_refused, expect_window, sent, with_parameters};
use crate::exchange::request;
use serde_json::json;

#[tokio::test]
async fn a_window_in_the_servers_words() {
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
    expect_window(Format::OpenAiChat, expected).await;
}

#[tokio::test]
async fn the_smallest_request() {
    let body = sent(Format::OpenAiChat, Ask::Whole, &request()).await.body;
    assert_eq!(body, r#"{"model":"m","messages":[{"role":"user","content":"go"}],"max_tokens":100}"#);
}

#[tokio::test]
async fn parameters_replace_extend_and_remove() {
    let parameters = json!({
        "temperature": 0, "max_tokens": null, "max_completion_tokens": 7, "stream_options": null,
        "model": "other", "stop": ["x"],
    });
    let body = sent(Format::OpenAiChat, Ask::Streamed, &with_parameters(parameters)).await.body;
    let expected = concat!(
        r#"{"messages":[{"role":"user","content":"go"}],"stream":true,"#,
        r#""max_completion_tokens":7,"model":"other","stop":["x"],"temperature":0}"#,
    );
    assert_eq!(body, expected);
}

#[tokio::test]
async fn parameters_cannot_replace_the_window() {
    expect_refused(Format::OpenAiChat, "messages").await;
}
