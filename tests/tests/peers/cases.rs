//! What is asked of the mock, and what has to come of it, whoever asks.

use crate::servers::{journal, line, rejects};
use gg_providers::Format;
use serde_json::{Map, Value, json};

/// How replies are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Streamed,
    Whole,
}

/// How the mock is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) format: Format,
    pub(crate) ask: Ask,
}

/// All ways with these replies.
pub(crate) fn ways(asks: &[Ask]) -> Vec<Way> {
    let formats = [Format::OpenAiChat, Format::OpenAiResponses, Format::AnthropicMessages];
    formats.into_iter().flat_map(|format| asks.iter().map(move |ask| Way { format, ask: *ask })).collect()
}

pub(crate) const BOTH: &[Ask] = &[Ask::Streamed, Ask::Whole];

impl Way {
    /// The api's name in a configuration.
    pub(crate) fn api(self) -> Value {
        json!(self.format)
    }

    /// A model that the mock believes to reason, as it does in all three formats.
    pub(crate) fn model(self) -> &'static str {
        match self.format {
            Format::OpenAiChat => "deepseek-reasoner",
            Format::OpenAiResponses => "gpt-5",
            Format::AnthropicMessages => "claude-sonnet-4-5",
        }
    }

    /// What has the model reason. With it, the mock insists like the real server that each reply with calls
    /// comes back with what was thought before them.
    pub(crate) fn parameters(self, case: &Case) -> Map<String, Value> {
        if case.thinks && self.format == Format::AnthropicMessages {
            return Map::from_iter([(
                "thinking".into(),
                json!({ "type": "enabled", "budget_tokens": 1024 }),
            )]);
        }
        Map::new()
    }

    /// Where requests go.
    pub(crate) fn path(self) -> &'static str {
        match self.format {
            Format::OpenAiChat => "/v1/chat/completions",
            Format::OpenAiResponses => "/v1/responses",
            Format::AnthropicMessages => "/v1/messages",
        }
    }

    /// Whether the mock notes what is said beside results before them: in Messages they are one message.
    pub(crate) fn notes_text_first(self) -> bool {
        self.format == Format::AnthropicMessages
    }

    /// The roles of a request as the mock notes them. In Responses it makes one message of each call, and in
    /// Messages gg makes one of neighbours that speak for the user.
    fn noted(self, request: &str) -> String {
        let mut roles: Vec<&str> = Vec::new();
        for role in request.split(' ') {
            match (self.format, role.strip_prefix("assistant(").and_then(|rest| rest.strip_suffix(')'))) {
                (Format::OpenAiResponses, Some(calls)) => {
                    roles.extend(vec!["assistant(1)"; calls.parse().expect("a number")]);
                }
                (Format::AnthropicMessages, _) if role == "user" && roles.last() == Some(&"user") => {}
                _ if role == "user" && self.notes_text_first() => {
                    let results = roles.iter().rev().take_while(|role| **role == "tool").count();
                    roles.insert(roles.len() - results, role);
                }
                _ => roles.push(role),
            }
        }
        roles.join(" ")
    }
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
    /// Whether the model is asked to reason.
    pub(crate) thinks: bool,
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
    thinks: false,
};

pub(crate) const RATE_LIMIT: Case = Case {
    prompt: "gg-peers: rate limit",
    requests: &["429: user", "200: user"],
    calls: &[],
    written: None,
    text: "Here I am again.",
    thinks: false,
};

pub(crate) const SERVER_ERROR: Case = Case {
    prompt: "gg-peers: server error",
    requests: &["500: user", "200: user"],
    calls: &[],
    written: None,
    text: "Up again.",
    thinks: false,
};

pub(crate) const CUT_IN_MID_STREAM: Case = Case {
    prompt: "gg-peers: disconnect in mid-stream",
    requests: &["cut: user", "200: user", "200: user assistant(1) tool"],
    calls: &["write_file {\"content\":\"from the whole reply\",\"path\":\"out.txt\"} ok"],
    written: Some("from the whole reply"),
    text: "It is written.",
    thinks: false,
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
    thinks: false,
};

pub(crate) const NOT_OFFERED: Case = Case {
    prompt: "gg-peers: a call that is not offered",
    requests: &["200: user", "200: user assistant(1) tool"],
    calls: &["launch_rocket {\"to\":\"the moon\"} refused"],
    written: None,
    text: "No rocket, then.",
    thinks: false,
};

/// In Messages a call's input is an object, so the mock itself makes an empty one of what is no JSON.
pub(crate) const MALFORMED_IN_MESSAGES: Case =
    Case { calls: &["write_file {} refused", "read_file {\"path\":\"a.txt\"} ok"], ..MALFORMED };

pub(crate) const REASONING: Case = Case {
    prompt: "gg-peers: reasoning",
    requests: &["200: user", "200: user assistant(1) tool"],
    calls: &["read_file {\"path\":\"a.txt\"} ok"],
    written: None,
    text: "I thought before I read.",
    thinks: true,
};

/// The malformed arguments as this format can carry them.
pub(crate) fn malformed(format: Format) -> Case {
    if format == Format::AnthropicMessages { MALFORMED_IN_MESSAGES } else { MALFORMED }
}

/// What came of a case.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) calls: Vec<String>,
    pub(crate) written: Option<String>,
    pub(crate) text: String,
}

/// Compares all of it, and what both servers saw. Returns what the mock was sent.
pub(crate) fn check(case: &Case, way: Way, test_id: &str, outcome: &Outcome) -> Vec<Value> {
    let what = format!("{}, {way:?}", case.prompt);
    assert_eq!(outcome.calls, case.calls, "{what}: the calls");
    assert_eq!(outcome.written.as_deref(), case.written, "{what}: out.txt");
    assert_eq!(outcome.text, case.text, "{what}: the last reply");
    let journal = journal(test_id);
    let requests: Vec<_> = journal.iter().map(|entry| line(entry).replace(": system ", ": ")).collect();
    let expected: Vec<_> = case.requests.iter().map(|request| way.noted(request)).collect();
    assert_eq!(requests, expected, "{what}: the requests");
    for entry in &journal {
        let streamed = entry["body"]["stream"] == true;
        assert_eq!(streamed, way.ask == Ask::Streamed, "{what}: {entry}");
    }
    check_retries(case, &journal, &what);
    assert_eq!(rejects(), Value::Array(vec![]), "{what}: the gate's refusals");
    journal
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
