//! The note that opens a window which an agent goes on with: where it comes from, what became of each module, and what
//! it is told.

use crate::{identity::Identity, profile::ReadyProfile, scope::Scope};
use gg_core::{
    SuccessionKind, Turn,
    succession::{Arrives, Fate, Leaves},
};
use std::collections::BTreeSet;

/// What the agent that goes on is told by the one before it.
pub(super) struct Handoff<'a> {
    pub(super) kind: SuccessionKind,
    pub(super) from: &'a Identity,
    /// The turn at whose end it was.
    pub(super) turn: Turn,
    pub(super) fates: &'a [Fate],
    /// The kinds of which the next agent has what all agents of its profile have.
    pub(super) shared: BTreeSet<String>,
    /// What came of other things that the turn had asked for.
    pub(super) notices: &'a [String],
    /// The prompt or the note.
    pub(super) said: Option<&'a str>,
}

impl Handoff<'_> {
    /// The note for `next`, the agent that goes on.
    pub(super) fn note(&self, next: &Identity) -> String {
        let Self { from, turn, .. } = self;
        let mut note = match self.kind {
            SuccessionKind::Fork => format!(
                "You are agent {}, a copy of agent {}, made at the end of its turn {turn}. What stands above is your own \
                 copy of that conversation. The original is still running, with its own copy of it, in parallel. Its \
                 subagents, its messages and whatever else it asked for in that turn are its own.",
                next.id, from.id
            ),
            SuccessionKind::Exec | SuccessionKind::Fsm => format!(
                "You go on from agent {} ({}), which ended its turn {turn} by becoming you, {} ({}).",
                from.id, from.profile.id, next.id, next.profile.id
            ),
        };
        note.push_str(&self.place(next));
        note.push_str("\nWhat became of what it held:");
        for fate in self.fates {
            let title = title_of(&fate.kind, &next.profile).or_else(|| title_of(&fate.kind, &from.profile));
            let title = title.unwrap_or(&fate.kind);
            note.push_str(&format!("\n- {title}: {}", self.became(fate, next)));
        }
        for notice in self.notices {
            note.push_str(&format!("\nIt was told at the end of that turn: {notice}"));
        }
        if let Some(said) = self.said {
            let lead = match self.kind {
                SuccessionKind::Fork => "What you are to do, and the original is not",
                SuccessionKind::Exec | SuccessionKind::Fsm => "It tells you",
            };
            note.push_str(&format!("\n{lead}:\n{said}"));
        }
        note
    }

    /// What became of a module, for the agent that goes on.
    fn became(&self, fate: &Fate, next: &Identity) -> &'static str {
        let held = next.profile.held.iter().find(|held| held.kind == fate.kind);
        let shares = held.is_some_and(|held| matches!(held.scope, Scope::Shared { .. }));
        let is_shared = self.shared.contains(&fate.kind);
        match (fate.leaves, fate.arrives) {
            (_, Some(Arrives::Transferred)) if shares && !is_shared => {
                "carried over to you, with what is in it; other agents of your profile have others"
            }
            (_, Some(Arrives::Transferred)) => "carried over to you, with what is in it",
            (_, Some(Arrives::Cloned)) => "you have a copy of your own",
            (_, Some(Arrives::Linked)) => "you hold the same one together",
            (Some(Leaves::Dropped), Some(Arrives::Initialized)) if is_shared => {
                "dropped; you hold those of your profile's agents"
            }
            (_, Some(Arrives::Initialized)) if is_shared => {
                "it had none; you hold those of your profile's agents"
            }
            (Some(Leaves::Dropped), Some(Arrives::Initialized)) => "dropped; yours is new",
            (_, Some(Arrives::Initialized)) => "it had none; yours is new",
            (_, None) => "dropped; you have none",
        }
    }

    /// Where the next agent stands, in a machine.
    fn place(&self, next: &Identity) -> String {
        let Some(standing) = &next.standing else { return String::new() };
        let (machine, state) = (&standing.machine.id, standing.name());
        match self.from.standing.as_ref().filter(|_| self.kind == SuccessionKind::Fsm) {
            Some(before) => {
                format!(
                    " In the process \"{machine}\" you came from the state {:?} to the state {state:?}.",
                    before.name()
                )
            }
            None => format!(
                " With that the process \"{machine}\" begins, and you are in its first state, {state:?}: what you hold is \
                 what the agent of that state, {}, may hold.",
                next.profile.id
            ),
        }
    }
}

/// What people call the modules of a kind.
fn title_of<'a>(kind: &str, profile: &'a ReadyProfile) -> Option<&'a str> {
    let held = std::iter::once(&profile.history).chain(&profile.held).find(|held| held.kind == kind)?;
    Some(&held.component.descriptor().title)
}
