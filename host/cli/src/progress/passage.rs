//! What there is to say of an agent that becomes another, or is copied.

use super::item::MAX_GLANCE_CHARS;
use crate::{
    amounts,
    styled::{Line, Tone},
};
use gg_core::{
    AgentId, Event, SuccessionKind,
    succession::{Arrives, Fate, Leaves},
    text::glance,
};

/// A step of an agent's way through its incarnations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Passage {
    /// It became another, which goes on in its place.
    Became { from: AgentId, to: AgentId, profile: String, kind: SuccessionKind, modules: String },
    /// A copy of it was made.
    Copied { from: AgentId, to: AgentId, modules: String },
    /// One of both was to be, and is not.
    Failed { kind: SuccessionKind, profile: String, copy: Option<AgentId>, error: String },
    /// It stands in a state of a machine.
    Entered { machine: String, state: String, from: Option<String> },
    /// It is what another became.
    Continues { profile: String, model: String, from: AgentId },
    /// Its window began with messages of the agent it comes from.
    Carried { messages: u64, from: AgentId },
}

impl Passage {
    /// What an event of an agent's stream says of it.
    pub(crate) fn of_event(agent: &AgentId, event: &Event) -> Option<Self> {
        Some(match event {
            Event::AgentTransition { kind: SuccessionKind::Fork, to, modules, .. } => {
                Self::Copied { from: agent.clone(), to: to.clone(), modules: modules_glance(modules) }
            }
            Event::AgentTransition { kind, to, profile, modules, .. } => Self::Became {
                from: agent.clone(),
                to: to.clone(),
                profile: profile.to_string(),
                kind: *kind,
                modules: modules_glance(modules),
            },
            Event::SuccessionFailed { kind, profile, copy, error, .. } => Self::Failed {
                kind: *kind,
                profile: profile.to_string(),
                copy: copy.clone(),
                error: glance(error, MAX_GLANCE_CHARS),
            },
            Event::FsmState { machine, state, from, .. } => {
                Self::Entered { machine: machine.to_string(), state: state.clone(), from: from.clone() }
            }
            _ => return None,
        })
    }

    /// Its line, begun with `line`.
    pub(crate) fn line(&self, line: Line) -> Line {
        match self {
            Self::Became { from, to, profile, kind, modules } => whose(line, from)
                .plain("became ")
                .with(Tone::Name, to.as_str())
                .plain(": ")
                .with(Tone::Name, profile)
                .plain(format!(" ({kind})"))
                .with(Tone::Faint, behind(modules)),
            Self::Copied { from, to, modules } => whose(line, from)
                .plain("copied itself: ")
                .with(Tone::Name, to.as_str())
                .plain(format!(" ({})", SuccessionKind::Fork))
                .with(Tone::Faint, behind(modules)),
            Self::Failed { kind, profile, copy, error } => {
                line.with(Tone::Bad, failure(*kind, profile, copy.as_ref())).plain(format!(": {error}"))
            }
            Self::Entered { machine, state, from } => {
                let from = from.as_ref().map_or_else(String::new, |from| format!(", after {from}"));
                line.with(Tone::Strong, format!("state {state}")).plain(format!(" of {machine}{from}"))
            }
            Self::Continues { profile, model, from } => {
                let line = line.plain("agent ").with(Tone::Name, profile).plain(format!(" on {model}, was "));
                line.with(Tone::Name, from.as_str())
            }
            Self::Carried { messages, from } => line.with(Tone::Faint, carried(*messages, from)),
        }
    }
}

/// `  begins with 12 messages of a1`: the conversation where that crossed, else what both were asked for, which is one.
pub(crate) fn carried(messages: u64, from: &AgentId) -> String {
    match messages {
        1 => "  begins with the prompt alone".into(),
        _ => format!("  begins with {} of {from}", amounts::count(messages, "message", "messages")),
    }
}

/// Such a line is about two agents, so it names the first even where there is no need to say whose lines these are.
fn whose(line: Line, from: &AgentId) -> Line {
    if line.width() > 0 { line } else { line.with(Tone::Name, from.as_str()).plain(" ") }
}

fn behind(modules: &str) -> String {
    if modules.is_empty() { String::new() } else { format!("  {modules}") }
}

fn failure(kind: SuccessionKind, profile: &str, copy: Option<&AgentId>) -> String {
    match (kind, copy) {
        (SuccessionKind::Fork, Some(copy)) => format!("  could not be copied as {copy}"),
        (SuccessionKind::Fork, None) => "  could not be copied".into(),
        (SuccessionKind::Exec | SuccessionKind::Fsm, _) => format!("  could not become {profile} ({kind})"),
    }
}

/// What became of an agent's modules, in short: `history, tasks moved · notebook dropped · memories new`.
pub(crate) fn modules_glance(fates: &[Fate]) -> String {
    let mut groups: [(&str, Vec<&str>); 6] =
        ["moved", "cloned", "linked", "dropped", "begun anew", "new"].map(|word| (word, Vec::new()));
    for fate in fates {
        let word = match (fate.leaves, fate.arrives) {
            (Some(Leaves::Dropped), Some(Arrives::Initialized)) => "begun anew",
            (Some(Leaves::Moved), _) | (None, Some(Arrives::Transferred)) => "moved",
            (Some(Leaves::Cloned), _) | (None, Some(Arrives::Cloned)) => "cloned",
            (Some(Leaves::Linked), _) | (None, Some(Arrives::Linked)) => "linked",
            (Some(Leaves::Dropped), _) => "dropped",
            (None, Some(Arrives::Initialized)) => "new",
            (None, None) => continue,
        };
        if let Some((_, kinds)) = groups.iter_mut().find(|(group, _)| *group == word) {
            kinds.push(&fate.kind);
        }
    }
    let groups = groups.into_iter().filter(|(_, kinds)| !kinds.is_empty());
    let groups: Vec<String> = groups.map(|(word, kinds)| format!("{} {word}", kinds.join(", "))).collect();
    glance(&groups.join(" · "), MAX_GLANCE_CHARS)
}

#[cfg(test)]
mod tests;
