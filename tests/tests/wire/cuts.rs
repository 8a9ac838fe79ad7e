//! A stream that is cut, at every byte.

use crate::exchange::{Ask, Server, Shown, ask_once, fixture, lines, request, spec};
use gg_providers::{ModelError, Pace, Providers};

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
        let (outcome, _) = ask_once(bytes[..cut].to_vec(), Ask::Streamed).await;
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
