//! What a scripted reply expects of the request it answers.

use crate::model::Request;
use gg_core::{Message, Purpose, text};
use serde::Deserialize;
use std::{collections::BTreeMap, collections::BTreeSet, fmt};

/// How much of a text a mismatch shows, in characters.
const SHOWN_TEXT: usize = 600;

/// How many of the last messages a mismatch shows.
const SHOWN_MESSAGES: usize = 6;

/// Conditions; all of them must hold. Texts are looked for as they are, in a message's text, calls and
/// results.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Expect {
    /// In the system prompt.
    #[serde(default)]
    system_contains: Texts,
    /// Not in the system prompt.
    #[serde(default)]
    system_not_contains: Texts,
    /// In the last message.
    #[serde(default)]
    last_contains: Texts,
    /// In some message.
    #[serde(default)]
    contains: Texts,
    /// In no message.
    #[serde(default)]
    not_contains: Texts,
    /// How many messages there are.
    #[serde(default)]
    messages: Option<usize>,
    /// Exactly these calls are offered, in any order.
    #[serde(default)]
    calls: Option<BTreeSet<String>>,
    /// These calls are offered, among others.
    #[serde(default)]
    offered: Texts,
    /// These calls are not offered.
    #[serde(default)]
    not_offered: Texts,
    /// The last message holds results of these calls, and among each call's results are these texts.
    #[serde(default)]
    results: BTreeMap<String, Texts>,
}

/// One text or several.
#[derive(Clone, Debug, Default, PartialEq)]
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a text or a list of texts")]
        enum OneOrMore {
            One(String),
            More(Vec<String>),
        }
        Ok(Self(match OneOrMore::deserialize(from)? {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }))
    }
}

impl Texts {
    fn missing_in<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a String> {
        self.0.iter().filter(move |wanted| !text.contains(wanted.as_str()))
    }

    fn found_in<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a String> {
        self.0.iter().filter(move |unwanted| text.contains(unwanted.as_str()))
    }
}

impl Expect {
    /// What does not hold of `request`; nothing if all does.
    pub(super) fn problems(&self, request: &Request) -> Vec<String> {
        let mut problems = Vec::new();
        self.check_system(request, &mut problems);
        self.check_messages(request, &mut problems);
        self.check_calls(request, &mut problems);
        self.check_results(request, &mut problems);
        problems
    }

    fn check_system(&self, request: &Request, problems: &mut Vec<String>) {
        for text in self.system_contains.missing_in(&request.system) {
            problems.push(format!("expected the system prompt to contain {text:?}"));
        }
        for text in self.system_not_contains.found_in(&request.system) {
            problems.push(format!("expected the system prompt not to contain {text:?}"));
        }
    }

    fn check_messages(&self, request: &Request, problems: &mut Vec<String>) {
        let last = request.messages.last().map(|message| message.transcript()).unwrap_or_default();
        for text in self.last_contains.missing_in(&last) {
            problems.push(format!("expected the last message to contain {text:?}"));
        }
        if !self.contains.0.is_empty() || !self.not_contains.0.is_empty() {
            let all: Vec<_> = request.messages.iter().map(|message| message.transcript()).collect();
            for text in self.contains.0.iter().filter(|text| !all.iter().any(|one| one.contains(*text))) {
                problems.push(format!("expected a message to contain {text:?}"));
            }
            for text in self.not_contains.0.iter().filter(|text| all.iter().any(|one| one.contains(*text))) {
                problems.push(format!("expected no message to contain {text:?}"));
            }
        }
        if let Some(expected) = self.messages.filter(|expected| *expected != request.messages.len()) {
            problems.push(format!("expected {expected} messages, and there are {}", request.messages.len()));
        }
    }

    fn check_calls(&self, request: &Request, problems: &mut Vec<String>) {
        let offered: BTreeSet<_> = request.calls.iter().map(|spec| spec.name.clone()).collect();
        if let Some(expected) = self.calls.as_ref().filter(|expected| **expected != offered) {
            problems.push(format!("expected the calls {expected:?}, and offered are {offered:?}"));
        }
        for name in self.offered.0.iter().filter(|name| !offered.contains(*name)) {
            problems.push(format!("expected `{name}` among the calls offered, which are {offered:?}"));
        }
        for name in self.not_offered.0.iter().filter(|name| offered.contains(*name)) {
            problems.push(format!("expected `{name}` not to be offered"));
        }
    }

    fn check_results(&self, request: &Request, problems: &mut Vec<String>) {
        for (name, texts) in &self.results {
            let results = request.messages.last().into_iter().flat_map(|message| message.call_results());
            let contents: Vec<_> =
                results.filter(|result| result.name == *name).map(|result| result.content.as_str()).collect();
            if contents.is_empty() {
                problems.push(format!("expected the last message to hold a result of `{name}`"));
            } else {
                for text in texts.0.iter().filter(|text| !contents.iter().any(|one| one.contains(*text))) {
                    problems.push(format!("expected a result of `{name}` to contain {text:?}"));
                }
            }
        }
    }
}

/// A request that is not what a script expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The script.
    pub script: String,
    /// Which of its replies, counted from 1; absent if none is left for the request.
    pub reply: Option<usize>,
    /// What was expected and does not hold.
    pub problems: Vec<String>,
    /// Who asked, in which turn, what for.
    pub asked: String,
    /// What was sent, shortened.
    pub sent: Vec<String>,
}

impl Mismatch {
    pub(super) fn new(script: &str, reply: Option<usize>, problems: Vec<String>, request: &Request) -> Self {
        Self { script: script.to_owned(), reply, problems, asked: asked(request), sent: sent(request) }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reply {
            Some(reply) => write!(f, "{}: reply {reply} does not fit {}", self.script, self.asked)?,
            None => write!(f, "{}: there is no reply for {}", self.script, self.asked)?,
        }
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        write!(f, "\nsent:")?;
        for line in &self.sent {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

fn asked(request: &Request) -> String {
    let Request { agent, profile, turn, .. } = request;
    let what = match request.purpose {
        Purpose::Turn => "turn",
        Purpose::Summary => "a summary in turn",
    };
    format!("agent {agent} (profile `{profile}`), {what} {turn}")
}

fn sent(request: &Request) -> Vec<String> {
    let mut lines = vec![format!("system: {:?}", text::glance(&request.system, SHOWN_TEXT))];
    let skipped = request.messages.len().saturating_sub(SHOWN_MESSAGES);
    if skipped > 0 {
        lines.push(format!("… {skipped} earlier messages"));
    }
    let line = |(at, message): (usize, &std::sync::Arc<Message>)| {
        let text = text::glance(&message.transcript(), SHOWN_TEXT);
        format!("message {} ({:?}): {text:?}", at + 1, message.role)
    };
    lines.extend(request.messages.iter().enumerate().skip(skipped).map(line));
    let names: Vec<_> = request.calls.iter().map(|spec| spec.name.as_str()).collect();
    lines.push(format!("calls offered: {}", names.join(", ")));
    lines
}
