//! What servers send, and what it comes to. Every fixture stands in exactly one of the lists here.

mod any;
mod chat;
mod messages;
mod responses;

use crate::exchange::{Ask, ask_once, fixture_of, fixtures, folder, lines};
use gg_providers::{Format, ModelError};
use std::{collections::BTreeSet, fs, time::Duration};

/// Names of fixtures, and what they come to.
type Cases = &'static [(&'static str, &'static str)];

/// The formats with the replies to a request for a streamed one, and to a request for a whole one. A server may
/// send either, whatever it was asked for.
pub(crate) const FORMATS: [(Format, Cases, Cases); 3] = [
    (Format::OpenAiChat, chat::STREAMED, chat::WHOLE),
    (Format::OpenAiResponses, responses::STREAMED, responses::WHOLE),
    (Format::AnthropicMessages, messages::STREAMED, messages::WHOLE),
];

async fn check(format: Format, folder: &str, cases: Cases, ask: Ask) {
    let mut wrong = String::new();
    for (name, expected) in cases {
        let (outcome, shown) = ask_once(format, fixture_of(folder, name), ask).await;
        let found = lines(&outcome);
        if found != *expected {
            wrong
                .push_str(&format!("--- {folder}/{name}, {ask:?}\nexpected:\n{expected}\nfound:\n{found}\n"));
        }
        // What was shown on the way is what the reply then says.
        if let Ok(reply) = &outcome
            && !shown.ends_with(&reply.text())
        {
            wrong.push_str(&format!("--- {folder}/{name}, {ask:?}\nshown: {shown}\nfound: {found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[tokio::test]
async fn streamed() {
    for (format, streamed, _) in FORMATS {
        check(format, folder(format), streamed, Ask::Streamed).await;
    }
}

#[tokio::test]
async fn whole() {
    for (format, _, whole) in FORMATS {
        check(format, folder(format), whole, Ask::Whole).await;
    }
}

#[tokio::test]
async fn whole_where_a_stream_was_asked_for() {
    for (format, _, whole) in FORMATS {
        check(format, folder(format), whole, Ask::Streamed).await;
    }
}

#[tokio::test]
async fn a_stream_where_a_whole_reply_was_asked_for() {
    for (format, streamed, _) in FORMATS {
        check(format, folder(format), streamed, Ask::Whole).await;
    }
}

#[tokio::test]
async fn what_any_server_sends() {
    for (format, ..) in FORMATS {
        for ask in [Ask::Streamed, Ask::Whole] {
            check(format, "any", any::ALL, ask).await;
        }
    }
}

#[tokio::test]
async fn retry_after_is_kept_for_whoever_waits() {
    let slow_down = |seconds, message: &str| {
        let retry_after = Some(Duration::from_secs(seconds));
        Err(ModelError::RateLimited { status: 429, retry_after, message: message.into() })
    };
    for (format, folder, name, expected) in [
        (Format::OpenAiChat, "openai-chat", "error-429", slow_down(7, "Rate limit reached")),
        (Format::OpenAiResponses, "openai-responses", "error-429", slow_down(7, "Rate limit reached")),
        (Format::OpenAiResponses, "any", "error-429-date", slow_down(10, "Rate limit reached")),
        (
            Format::AnthropicMessages,
            "anthropic-messages",
            "error-429",
            slow_down(7, "This request would exceed your organization's rate limit"),
        ),
    ] {
        let (outcome, _) = ask_once(format, fixture_of(folder, name), Ask::Streamed).await;
        assert_eq!(outcome, expected);
    }
}

#[test]
fn every_fixture_is_used_once() {
    let lists = FORMATS.map(|(format, streamed, whole)| (folder(format), [streamed, whole].concat()));
    for (folder, cases) in lists.into_iter().chain([("any", any::ALL.to_vec())]) {
        let files = fs::read_dir(fixtures().join(folder)).expect("the folder").map(|entry| {
            let name = entry.expect("an entry").file_name().into_string().expect("a name");
            name.strip_suffix(".http").expect("a fixture's name ends in .http").to_owned()
        });
        let files: BTreeSet<_> = files.collect();
        let used: Vec<_> = cases.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(used.iter().cloned().collect::<BTreeSet<_>>(), files, "{folder}");
        assert_eq!(used.len(), files.len(), "{folder}");
    }
}
