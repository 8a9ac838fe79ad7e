//! Recording a session, and playing it back through the same client.

use crate::exchange::{Ask, KEY, Server, Shown, fixture, fixture_of, folder, lines, request, spec, spec_of};
use gg_core::Turn;
use gg_providers::{Api, BuildError, Format, ModelError, NoDeltas, Pace, ProviderSpec, Providers, Request};
use std::{fs, path::Path};

fn in_turn(turn: u32) -> Request {
    // Each turn sends another body.
    Request { turn: Turn(turn), system: format!("turn {turn}"), ..request() }
}

/// What a session comes to: each outcome, and what was shown on the way.
async fn session(providers: &Providers, turns: &[u32]) -> Vec<(String, u32, String)> {
    let model = providers.model("p").expect("a model");
    let mut outcomes = Vec::new();
    for turn in turns {
        let shown = Shown::default();
        let outcome = model.complete(&in_turn(*turn), &shown).await;
        let attempts = outcome.as_ref().map_or(0, |reply| reply.attempts);
        outcomes.push((lines(&outcome), attempts, shown.take()));
    }
    outcomes
}

fn replay(path: &Path) -> Result<Providers, BuildError> {
    let spec = ProviderSpec { api: Api::Replay { path: path.into() }, ..spec("", Ask::Streamed, 5) };
    Providers::build(&[spec], None)
}

async fn record(path: &Path, ask: Ask, responses: Vec<Vec<u8>>, turns: &[u32]) -> Vec<(String, u32, String)> {
    let server = Server::play(responses).await;
    let providers = Providers::build_at_pace(&[spec(&server.url, ask, 5)], Some(path), &Pace::immediate())
        .expect("a provider");
    session(&providers, turns).await
}

#[tokio::test]
async fn a_session_plays_back_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    for ask in [Ask::Streamed, Ask::Whole] {
        let path = folder.path().join(format!("{ask:?}.jsonl"));
        let cut = fixture("recorded-chunked");
        let responses = vec![
            fixture("error-429"),
            fixture("split-utf8"),
            cut[..cut.len() / 2].to_vec(),
            fixture("error-in-stream"),
            fixture("recorded-chunked"),
            fixture("error-401"),
            fixture("openai-text"),
        ];
        let recorded = record(&path, ask, responses, &[1, 2, 3, 4]).await;
        let attempts: Vec<_> = recorded.iter().map(|(_, attempts, _)| *attempts).collect();
        assert_eq!(attempts, [2, 3, 0, 1], "{recorded:?}");

        let text = fs::read_to_string(&path).expect("the recording");
        assert!(!text.contains(KEY) && !text.to_lowercase().contains("authorization"), "{text}");
        assert_eq!(text.lines().count(), 8, "a line for the provider, and one for each exchange");
        assert!(text.contains("\"base64\""), "pieces that are not text by themselves");

        let replayed = session(&replay(&path).expect("a replay"), &[1, 2, 3, 4]).await;
        assert_eq!(replayed, recorded);
        // Agents that ran side by side may come in another order.
        let mut shuffled = session(&replay(&path).expect("a replay"), &[4, 2, 1, 3]).await;
        shuffled.swap(0, 3);
        shuffled.swap(0, 2);
        assert_eq!(shuffled, recorded);
    }
}

#[tokio::test]
async fn a_recording_knows_its_format() {
    let temporary = tempfile::tempdir().expect("a folder");
    for format in [Format::OpenAiResponses, Format::AnthropicMessages] {
        let path = temporary.path().join(folder(format));
        let server = Server::play(vec![
            fixture_of(folder(format), "error-429"),
            fixture_of(folder(format), "chunked"),
            fixture_of(folder(format), "parallel-calls"),
        ]);
        let spec = spec_of(format, &server.await.url, Ask::Streamed, 5);
        let providers =
            Providers::build_at_pace(&[spec], Some(&path), &Pace::immediate()).expect("a provider");
        let recorded = session(&providers, &[1, 2]).await;
        assert_eq!(
            recorded.iter().map(|(_, attempts, _)| *attempts).collect::<Vec<_>>(),
            [2, 1],
            "{recorded:?}"
        );
        assert_eq!(session(&replay(&path).expect("a replay"), &[1, 2]).await, recorded);
    }
}

#[tokio::test]
async fn an_unknown_request_says_where_it_differs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.jsonl");
    record(&path, Ask::Whole, vec![fixture("whole-text")], &[1]).await;
    let outcomes = session(&replay(&path).expect("a replay"), &[2, 1, 1]).await;
    assert_eq!(
        outcomes[0].0,
        "error: the recording does not know this request: from byte 58 on, \
         `ole\":\"system\",\"content\":\"turn 1\"},{\"role\":\"user\",\"content\":\"go\"}],\
         \"max_tokens\":100}` was recorded and \
         `ole\":\"system\",\"content\":\"turn 2\"},{\"role\":\"user\",\"content\":\"go\"}],\
         \"max_tokens\":100}` was sent"
    );
    assert_eq!(outcomes[1].0, "text: Hello\nstop: End\nusage: 10 (0 cached) and 2 (0 reasoning)");
    assert_eq!(
        outcomes[2].0,
        "error: the recording does not know this request: it was sent more often than it was recorded"
    );
}

#[tokio::test]
async fn a_recording_is_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.jsonl");
    fs::write(&path, "mine").expect("a file");
    let refused = Providers::build_at_pace(
        &[spec("http://127.0.0.1:9/v1", Ask::Whole, 0)],
        Some(&path),
        &Pace::immediate(),
    );
    let refused = refused.err().expect("a refusal").to_string();
    assert!(refused.starts_with("provider `p`: the recording `"), "{refused}");
    assert_eq!(fs::read_to_string(&path).expect("the file"), "mine");
}

#[test]
fn a_broken_recording_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.jsonl");
    let provider = |name: &str| {
        format!(r#"{{"line":"provider","version":2,"provider":"{name}","api":"openai-chat","stream":true}}"#)
    };
    for (text, why) in [
        (String::new(), "it holds no provider's exchanges"),
        ("{}".into(), "line 1: missing field `line`"),
        (format!("{}\noops", provider("p")), "line 2: expected value"),
        (provider("p").replace("\"version\":2", "\"version\":3"), "line 1: format version 3"),
        (provider("p").replace("openai-chat", "telepathy"), "line 1: unknown variant `telepathy`"),
        (format!("{}\n{}", provider("x"), provider("y")), "(`x`, `y`) and none of `p`"),
    ] {
        fs::write(&path, text).expect("a file");
        let refused = replay(&path).err().expect("a refusal").to_string();
        assert!(refused.contains(why), "{why}: {refused}");
    }
}

#[tokio::test]
async fn a_reply_that_repeats_the_key_is_recorded_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.jsonl");
    let server = Server::play(vec![fixture("error-401")]).await;
    let providers =
        Providers::build_at_pace(&[spec(&server.url, Ask::Whole, 0)], Some(&path), &Pace::immediate())
            .expect("a provider");
    let request = Request { system: format!("the key is {KEY}"), ..request() };
    let refused = providers.model("p").expect("a model").complete(&request, &NoDeltas).await;
    assert!(matches!(refused, Err(ModelError::Auth { .. })), "{refused:?}");
    let text = fs::read_to_string(&path).expect("the recording");
    assert!(!text.contains(KEY), "{text}");
    assert!(text.contains("the key is [key]") && text.contains("provided: [key]"), "{text}");
    // The digest is of what was sent, so the exchange is still found.
    let replayed = replay(&path).expect("a replay").model("p").expect("a model");
    assert_eq!(replayed.complete(&request, &NoDeltas).await.map(|_| ()), refused.map(|_| ()));
}
