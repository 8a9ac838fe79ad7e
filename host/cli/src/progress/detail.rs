//! How much of what happens scrolls by: all that one agent does can be read along, and of a hundred what matters.

use super::{
    item::{Item, MAX_GLANCE_CHARS, What, named, status_word, without_status},
    passage::Passage,
};
use crate::styled::{Line, Tone};
use gg_core::{CallStatus, HookOutcome, text::glance};

/// The most characters of a call's arguments that stand before how it came out.
const MAX_BRIEF_ARGUMENTS: usize = 40;

/// Calls whose success other lines tell: the agents that were spawned, and how those that were waited for ended.
const TOLD_OTHERWISE: [&str; 2] = ["spawn_subagent", "wait_for_subagents"];

/// See the module's own text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Detail {
    /// Everything: there is one agent.
    Whole,
    /// A line for each reply, each call once it is answered, and whatever else happened: a few agents work side by
    /// side, so their lines stand among each other's.
    Brief,
    /// What an agent was asked for, how it ended, and what went wrong.
    Milestones,
}

impl Detail {
    /// The lines for an item, each of at most so many columns; perhaps none.
    pub(crate) fn lines(self, item: &Item, columns: usize) -> Vec<Line> {
        match self {
            Self::Whole => item.lines(columns),
            Self::Brief if is_brief(&item.what) => brief(item, columns),
            Self::Milestones if is_milestone(&item.what) => brief(item, columns),
            Self::Brief | Self::Milestones => Vec::new(),
        }
    }
}

fn is_brief(what: &What) -> bool {
    match what {
        What::Turn { .. } | What::Called { .. } | What::Passage(Passage::Carried { .. }) => false,
        // What it was asked for follows, and says the same.
        What::Spawned { parent, .. } => parent.is_none(),
        What::Answered { name, status: CallStatus::Ok, .. } => !TOLD_OTHERWISE.contains(&name.as_str()),
        _ => true,
    }
}

fn is_milestone(what: &What) -> bool {
    match what {
        What::Started { .. }
        | What::Asked { .. }
        | What::ModuleFailed { .. }
        | What::NotCompacted { .. }
        | What::Nudged { .. }
        | What::Ended { .. }
        | What::Waiting { .. } => true,
        What::Passage(passage) => !matches!(passage, Passage::Carried { .. }),
        What::Answered { status, .. } => matches!(status, CallStatus::Failed | CallStatus::Unknown),
        // A gate that says no does its work; one that breaks needs its operator.
        What::Hooked { outcome, .. } => matches!(outcome, HookOutcome::Failed | HookOutcome::Late),
        What::Spawned { .. }
        | What::Told { .. }
        | What::Turn { .. }
        | What::Said { .. }
        | What::Called { .. }
        | What::Compacted { .. }
        | What::Retrying { .. }
        | What::Waits { .. } => false,
    }
}

/// One line, in which a call stands together with its answer.
fn brief(item: &Item, columns: usize) -> Vec<Line> {
    let prefix = item.agent.as_ref().map_or_else(Line::new, named);
    let line = match &item.what {
        What::Asked { profile, parent, glance } => {
            let line = prefix.plain("agent ").with(Tone::Name, profile).plain(", for ");
            line.with(Tone::Name, parent.as_str()).with(Tone::Faint, format!(": {glance}"))
        }
        What::Said { text } => prefix.plain("  ").plain(glance(text, MAX_GLANCE_CHARS)),
        What::Answered { name, arguments, status, glance: result, .. } => {
            let (tone, word) = status_word(*status);
            let arguments = glance(arguments, MAX_BRIEF_ARGUMENTS);
            let gap = if arguments.is_empty() { "" } else { " " };
            prefix
                .with(Tone::Faint, "  → ")
                .with(Tone::Name, name)
                .plain(format!("{gap}{arguments} "))
                .with(tone, word)
                .with(Tone::Faint, format!("  {}", without_status(result, *status)))
        }
        what => what.line(prefix),
    };
    vec![line.fit(columns)]
}

#[cfg(test)]
mod tests;
