//! A stream that is cut, at every byte.

use crate::{
    exchange::{Ask, Server, Shown, ask_once, fixture, fixture_of, folder, lines, request, spec, spec_of},
    replies::FORMATS,
};
use gg_providers::{Api, Format, ModelError, NoDeltas, Pace, ProviderSpec, Providers};
use serde_json::{Value, json};
use std::fs;

/// What the recorded streams come to when they are whole.
pub(crate) const RECORDED: &str = "reasoning of p: {\"reasoning_content\":\"Two files: café.\"}\ntext: I read both.\n\
    call call_A: write_file {\"path\":\"a\",\"text\":\"café\"}\ncall call_B: list_files {}\nstop: Calls\n\
    usage: 31 (0 cached) and 17 (0 reasoning)";

/// After how many bytes a cut leaves a whole reply. Anywhere else there is none at all, and another attempt
/// may help.
async fn whole_at(name: &str, acceptable: &[&str]) -> Vec<usize> {
    let bytes = fixture(name);
    let mut whole_at = Vec::new();
    for cut in 0..=bytes.len() {
        let (outcome, _) = ask_once(Format::OpenAiChat, bytes[..cut].to_vec(), Ask::Streamed).await;
        match &outcome {
            Ok(_) => {
                assert!(acceptable.contains(&lines(&outcome).as_str()), "cut at {cut}: {outcome:?}");
                whole_at.push(cut);
            }
            Err(error @ (ModelError::Cut { .. } | ModelError::Network { .. })) => {
                assert!(error.is_retryable());
            }
            Err(other) => panic!("cut at {cut}: {other:?}"),
        }
    }
    whole_at
}

#[tokio::test]
async fn chunked() {
    let bytes = fixture("recorded-chunked");
    let done = find(&bytes, b"[DONE]");
    let whole_at = whole_at("recorded-chunked", &[RECORDED]).await;
    // The line has to be whole before it counts: with its end, and in a chunk that has come in.
    assert!(whole_at[0] > done + b"[DONE]".len(), "{whole_at:?}");
    let to_the_end: Vec<_> = (whole_at[0]..=bytes.len()).collect();
    assert_eq!(whole_at, to_the_end);
}

#[tokio::test]
async fn until_the_connection_closes() {
    let bytes = fixture("recorded-until-close");
    // Here a cut between two lines cannot be told from an end: the finish_reason has to have come. The usage
    // may be missing.
    let without_usage = RECORDED.rsplit_once('\n').expect("lines").0;
    let whole_at = whole_at("recorded-until-close", &[without_usage, RECORDED]).await;
    let reason = find(&bytes, b"\"finish_reason\":\"tool_calls\"");
    let line_end = reason + find(&bytes[reason..], b"\n");
    assert_eq!((whole_at.first(), whole_at.last()), (Some(&line_end), Some(&bytes.len())));
}

/// A recording of an exchange as often as its body has bytes, each time cut after one of them: as if the
/// connection had ended there in good order, so that nothing but the format itself tells. Says how often; none
/// where pieces of the body are no text by themselves.
fn cut_everywhere(recording: &str) -> Option<(String, usize)> {
    let (head, exchange) = recording.trim_end().split_once('\n').expect("two lines");
    let mut exchange: Value = serde_json::from_str(exchange).expect("JSON");
    let chunks = exchange["response"]["chunks"].as_array()?;
    let body: String = chunks.iter().map(Value::as_str).collect::<Option<_>>()?;
    exchange["response"]["chunks"] = json!(["BODY"]);
    exchange["response"]["end"] = json!("complete");
    let exchange = exchange.to_string();
    let (before, after) = exchange.split_once("\"BODY\"").expect("the body's place");
    let cuts = body.char_indices().map(|(at, _)| format!("{before}{}{after}", json!(body[..at])));
    let lines: Vec<_> = std::iter::once(head.to_owned()).chain(cuts).collect();
    Some((lines.join("\n"), lines.len() - 1))
}

/// What a reply comes to without its usage, which may come last.
fn without_usage(lines: &str) -> &str {
    lines.split_once("\nusage: ").map_or(lines, |(before, _)| before)
}

async fn every_fixture_cut_everywhere(format: Format) {
    let temporary = tempfile::tempdir().expect("a folder");
    let (_, streamed, whole) = FORMATS.into_iter().find(|(one, ..)| *one == format).expect("the format");
    for (name, expected) in streamed.iter().chain(whole) {
        let path = temporary.path().join(name);
        let server = Server::play(vec![fixture_of(folder(format), name)]).await;
        let spec = spec_of(format, &server.url, Ask::Streamed, 0);
        let recorder =
            Providers::build_at_pace(&[spec], Some(&path), &Pace::immediate()).expect("a provider");
        let _ = recorder.model("p").expect("a model").complete(&request(), &NoDeltas).await;
        let recording = fs::read_to_string(&path).expect("the recording");
        let Some((recording, cuts)) = cut_everywhere(&recording) else { continue };
        fs::write(&path, recording).expect("a recording");
        let spec = ProviderSpec { api: Api::Replay { path }, ..spec_of(format, "", Ask::Streamed, 0) };
        let model = Providers::build(&[spec], None).expect("a replay").model("p").expect("a model");
        for cut in 0..cuts {
            let outcome = model.complete(&request(), &NoDeltas).await;
            let found = lines(&outcome);
            match &outcome {
                Ok(_) => assert_eq!(without_usage(&found), without_usage(expected), "{name}, cut at {cut}"),
                // Whatever else is wrong with the whole may show before its end.
                Err(error) => assert!(
                    matches!(error, ModelError::Cut { .. }) || expected.starts_with("error: "),
                    "{name}, cut at {cut}: {found}"
                ),
            }
        }
    }
}

#[tokio::test]
async fn chat_cut_everywhere() {
    every_fixture_cut_everywhere(Format::OpenAiChat).await;
}

#[tokio::test]
async fn responses_cut_everywhere() {
    every_fixture_cut_everywhere(Format::OpenAiResponses).await;
}

#[tokio::test]
async fn messages_cut_everywhere() {
    every_fixture_cut_everywhere(Format::AnthropicMessages).await;
}

fn find(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).position(|window| window == wanted).expect("it is there")
}

#[tokio::test]
async fn a_cut_reply_is_asked_for_again_and_only_the_whole_one_counts() {
    let bytes = fixture("recorded-chunked");
    let cut = bytes[..bytes.len() / 2].to_vec();
    let server = Server::play(vec![cut, bytes]).await;
    let providers =
        Providers::build_at_pace(&[spec(&server.url, Ask::Streamed, 1)], None, &Pace::immediate())
            .expect("a provider");
    let shown = Shown::default();
    let outcome = providers.model("p").expect("a model").complete(&request(), &shown).await;
    assert_eq!(lines(&outcome), RECORDED);
    assert_eq!(outcome.map(|reply| reply.attempts), Ok(2));
    assert_eq!(shown.take(), "<Two files: café.>I read both.[again]<Two files: café.>I read both.");
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert_eq!(received[0].body, received[1].body);
}
