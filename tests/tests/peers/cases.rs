//! What is asked of the mock, and what has to come of it, whoever asks.

use crate::servers::{journal, line, rejects};
use serde_json::Value;

/// How replies are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Streamed,
    Whole,
}

/// One case.
#[derive(Debug)]
pub(crate) struct Case {
    /// The prompt, by which the mock knows it.
    pub(crate) prompt: &'static str,
    /// The requests that the mock gets, in order, without the system prompt.
    pub(crate) requests: &'static [&'static str],
    /// The calls that run or are refused, in order.
    pub(crate) calls: &'static [&'static str],
    /// What is then in `out.txt`.
    pub(crate) written: Option<&'static str>,
    /// The last reply.
    pub(crate) text: &'static str,
}

pub(crate) const PARALLEL: Case = Case {
    prompt: "gg-peers: parallel calls",
    requests: &["200: user", "200: user assistant(3) tool tool tool"],
    calls: &[
        "read_file {\"path\":\"a.txt\"} ok",
        "read_file {\"path\":\"b.txt\"} ok",
        "read_file {\"path\":\"c.txt\"} ok",
    ],
    written: None,
    text: "All three are read.",
};

pub(crate) const RATE_LIMIT: Case = Case {
    prompt: "gg-peers: rate limit",
    requests: &["429: user", "200: user"],
    calls: &[],
    written: None,
    text: "Here I am again.",
};

pub(crate) const SERVER_ERROR: Case = Case {
    prompt: "gg-peers: server error",
    requests: &["500: user", "200: user"],
    calls: &[],
    written: None,
    text: "Up again.",
};

pub(crate) const CUT_IN_MID_STREAM: Case = Case {
    prompt: "gg-peers: disconnect in mid-stream",
    requests: &["cut: user", "200: user", "200: user assistant(1) tool"],
    calls: &["write_file {\"content\":\"from the whole reply\",\"path\":\"out.txt\"} ok"],
    written: Some("from the whole reply"),
    text: "It is written.",
};

pub(crate) const CUT_BEFORE_THE_REPLY: Case =
    Case { prompt: "gg-peers: disconnect before the reply", ..CUT_IN_MID_STREAM };

pub(crate) const MALFORMED: Case = Case {
    prompt: "gg-peers: malformed arguments",
    requests: &["200: user", "200: user assistant(2) tool tool"],
    calls: &[
        "write_file {\"malformed\":\"{\\\"path\\\": \\\"out.txt\\\", \\\"content\\\": \"} refused",
        "read_file {\"path\":\"a.txt\"} ok",
    ],
    written: None,
    text: "I see that the first was no JSON.",
};

pub(crate) const NOT_OFFERED: Case = Case {
    prompt: "gg-peers: a call that is not offered",
    requests: &["200: user", "200: user assistant(1) tool"],
    calls: &["launch_rocket {\"to\":\"the moon\"} refused"],
    written: None,
    text: "No rocket, then.",
};

/// What came of a case.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) calls: Vec<String>,
    pub(crate) written: Option<String>,
    pub(crate) text: String,
}

/// Compares all of it, and what both servers saw.
pub(crate) fn check(case: &Case, ask: Ask, test_id: &str, outcome: &Outcome) {
    let what = format!("{}, {ask:?}", case.prompt);
    assert_eq!(outcome.calls, case.calls, "{what}: the calls");
    assert_eq!(outcome.written.as_deref(), case.written, "{what}: out.txt");
    assert_eq!(outcome.text, case.text, "{what}: the last reply");
    let journal = journal(test_id);
    let requests: Vec<_> = journal.iter().map(|entry| line(entry).replace(": system ", ": ")).collect();
    assert_eq!(requests, case.requests, "{what}: the requests");
    for entry in &journal {
        let streamed = entry["body"]["stream"] == true;
        assert_eq!(streamed, ask == Ask::Streamed, "{what}: {entry}");
    }
    check_retries(case, &journal, &what);
    assert_eq!(rejects(), Value::Array(vec![]), "{what}: the gate's refusals");
}

/// A request that is sent again is the same request, and a server's `Retry-After` is granted.
fn check_retries(case: &Case, journal: &[Value], what: &str) {
    for (at, pair) in journal.windows(2).enumerate() {
        if case.requests[at].starts_with("200") {
            continue;
        }
        assert_eq!(pair[0]["body"], pair[1]["body"], "{what}: the retry");
        if case.requests[at].starts_with("429") {
            let time = |entry: &Value| entry["timestamp"].as_u64().expect("a time");
            let waited = time(&pair[1]) - time(&pair[0]);
            assert!(waited >= 1000, "{what}: Retry-After was 1 s, and gg waited {waited} ms");
        }
    }
}
