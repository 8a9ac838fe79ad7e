//! The window: the ordered messages that the next request will carry, as facts. Texts stay in the store.

use crate::{
    id::{CallId, MessageId, Turn},
    message::{Message, Role},
};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The facts of one message in a window, within 24 bytes: forking a window copies only these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The message.
    pub id: MessageId,
    /// The turn it belongs to.
    pub turn: Turn,
    /// The estimate of its size.
    pub tokens: u32,
    /// How many calls it makes.
    pub calls: u16,
    /// Never folded away.
    pub pinned: bool,
    /// Who it speaks for.
    pub role: Role,
}

const _: () = assert!(size_of::<Entry>() <= 24);

/// Whether compaction may fold a message away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// It may.
    Foldable,
    /// Never: a prompt, an opening note.
    Pinned,
}

impl Entry {
    /// The facts of `message`, in `turn`, at an estimated size.
    pub fn of(message: &Message, turn: Turn, tokens: u32, keep: Keep) -> Self {
        Self {
            id: message.id,
            turn,
            tokens,
            calls: u16::try_from(message.calls().count()).unwrap_or(u16::MAX),
            pinned: keep == Keep::Pinned,
            role: message.role,
        }
    }
}

/// What changed in a history's window since a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changes {
    /// The revision now.
    pub revision: u64,
    /// How many known entries still stand at the front.
    pub kept: u32,
    /// The entries after those.
    pub entries: Vec<Entry>,
    /// The last turn seen.
    pub turn: Turn,
    /// The sum of all entries' tokens, as the module says.
    pub tokens: u64,
}

/// The host's copy of a history's window, kept up to date by what changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The revision it stands at.
    pub revision: u64,
    /// The entries, in order.
    pub entries: Vec<Entry>,
    /// The last turn seen.
    pub turn: Turn,
}

/// A module's answer about its window that the host does not accept. See [`Window::apply`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WindowError {
    /// It kept more entries than there were.
    #[error("it says it kept {kept} entries of {known}")]
    Kept {
        /// What it said.
        kept: u32,
        /// What there was.
        known: usize,
    },
    /// It named a message that it was never lent.
    #[error("it names message {0}, which it was never lent")]
    NotLent(MessageId),
    /// It named a message twice.
    #[error("it names message {0} twice")]
    Twice(MessageId),
    /// It changed the facts of a message.
    #[error("it changed the facts of message {0}")]
    Facts(MessageId),
    /// A message with calls is not followed by its results.
    #[error("message {0} makes calls, and their results do not follow it")]
    NoResults(MessageId),
    /// Results do not follow their calls.
    #[error("message {0} holds results, and their calls do not stand before it")]
    NoCalls(MessageId),
    /// Results that answer other calls than those before them.
    #[error("the results of message {0} do not answer exactly the calls before them")]
    Mismatch(MessageId),
    /// A pinned message is gone.
    #[error("it let go of message {0}, which is pinned")]
    Unpinned(MessageId),
    /// The turn counter went back.
    #[error("its turn counter went back from {from} to {to}")]
    TurnWentBack {
        /// What it was.
        from: Turn,
        /// What it said.
        to: Turn,
    },
}

/// What the host knows of the messages it lent to one history module.
pub trait Lent {
    /// The facts the message was lent with, if it was lent to this very module.
    fn entry(&self, id: MessageId) -> Option<Entry>;
    /// The ids of the calls it makes, in order.
    fn calls(&self, id: MessageId) -> Vec<CallId>;
    /// The ids of the calls it answers, in order.
    fn answers(&self, id: MessageId) -> Vec<CallId>;
}

impl Window {
    /// The window after `changes`, or why the module's answer is not accepted: every id was lent to it, no
    /// fact was changed, nothing stands twice, calls and results are paired, the turn counter did not go
    /// back. The window itself is not changed.
    pub fn apply(&self, changes: &Changes, lent: &impl Lent) -> Result<Window, WindowError> {
        let kept = changes.kept as usize;
        if kept > self.entries.len() {
            return Err(WindowError::Kept { kept: changes.kept, known: self.entries.len() });
        }
        if changes.turn < self.turn {
            return Err(WindowError::TurnWentBack { from: self.turn, to: changes.turn });
        }
        let (front, gone) = self.entries.split_at(kept);
        let mut entries = Vec::with_capacity(kept + changes.entries.len());
        entries.extend_from_slice(front);
        for entry in &changes.entries {
            let known = lent.entry(entry.id).ok_or(WindowError::NotLent(entry.id))?;
            if known != *entry {
                return Err(WindowError::Facts(entry.id));
            }
            entries.push(*entry);
        }
        // Only what is new can stand twice: a window grows by a few messages and may have thousands.
        let mut fresh: Vec<MessageId> = changes.entries.iter().map(|entry| entry.id).collect();
        fresh.sort_unstable();
        if let Some(twice) = fresh.windows(2).find(|two| two[0] == two[1]) {
            return Err(WindowError::Twice(twice[0]));
        }
        let lowest = fresh.first().copied().unwrap_or(MessageId(u64::MAX));
        let is_fresh = |id: MessageId| id >= lowest && fresh.binary_search(&id).is_ok();
        if let Some(twice) = front.iter().find(|entry| is_fresh(entry.id)) {
            return Err(WindowError::Twice(twice.id));
        }
        if let Some(gone) = gone.iter().find(|entry| entry.pinned && !is_fresh(entry.id)) {
            return Err(WindowError::Unpinned(gone.id));
        }
        check_pairing(&entries, kept.saturating_sub(1), lent)?;
        Ok(Window { revision: changes.revision, entries, turn: changes.turn })
    }

    /// The sum of the entries' estimates.
    pub fn tokens(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.tokens)).sum()
    }
}

/// Checks that each message with calls is followed by exactly their results, from the entry at `from` on.
pub fn check_pairing(entries: &[Entry], from: usize, lent: &impl Lent) -> Result<(), WindowError> {
    for (at, entry) in entries.iter().enumerate().skip(from) {
        if entry.calls > 0 {
            let Some(next) = entries.get(at + 1).filter(|next| next.role == Role::Results) else {
                return Err(WindowError::NoResults(entry.id));
            };
            if lent.calls(entry.id) != lent.answers(next.id) {
                return Err(WindowError::Mismatch(next.id));
            }
        }
        if entry.role == Role::Results && (at == 0 || entries[at - 1].calls == 0) {
            return Err(WindowError::NoCalls(entry.id));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[derive(Default)]
    struct Known(HashMap<u64, (Entry, Vec<&'static str>)>);

    impl Known {
        fn add(&mut self, id: u64, role: Role, ids: &[&'static str]) -> Entry {
            let entry = Entry {
                id: MessageId(id),
                turn: Turn(1),
                tokens: 3,
                calls: if role == Role::Assistant { ids.len() as u16 } else { 0 },
                pinned: false,
                role,
            };
            self.0.insert(id, (entry, ids.to_vec()));
            entry
        }
    }

    impl Lent for Known {
        fn entry(&self, id: MessageId) -> Option<Entry> {
            self.0.get(&id.0).map(|known| known.0)
        }
        fn calls(&self, id: MessageId) -> Vec<CallId> {
            self.answers(id)
        }
        fn answers(&self, id: MessageId) -> Vec<CallId> {
            self.0[&id.0].1.iter().map(CallId::new).collect()
        }
    }

    fn changes(kept: u32, entries: &[Entry]) -> Changes {
        Changes { revision: 2, kept, entries: entries.to_vec(), turn: Turn(1), tokens: 0 }
    }

    #[test]
    fn accepts_paired_and_lent_entries_only() {
        let mut known = Known::default();
        let user = known.add(1, Role::User, &[]);
        let asks = known.add(2, Role::Assistant, &["x", "y"]);
        let answers = known.add(3, Role::Results, &["x", "y"]);
        let wrong = known.add(4, Role::Results, &["y", "x"]);
        let empty = Window::default();
        let check = |entries: &[Entry]| empty.apply(&changes(0, entries), &known).map(|w| w.entries.len());

        assert_eq!(check(&[user, asks, answers]), Ok(3));
        assert_eq!(check(&[user, asks]), Err(WindowError::NoResults(asks.id)));
        assert_eq!(check(&[user, answers]), Err(WindowError::NoCalls(answers.id)));
        assert_eq!(check(&[answers]), Err(WindowError::NoCalls(answers.id)));
        assert_eq!(check(&[asks, user, answers]), Err(WindowError::NoResults(asks.id)));
        assert_eq!(check(&[asks, wrong]), Err(WindowError::Mismatch(wrong.id)));
        assert_eq!(check(&[user, user]), Err(WindowError::Twice(user.id)));
        let stranger = Entry { id: MessageId(9), ..user };
        assert_eq!(check(&[stranger]), Err(WindowError::NotLent(MessageId(9))));
        let heavier = Entry { tokens: 4, ..user };
        assert_eq!(check(&[heavier]), Err(WindowError::Facts(user.id)));
    }

    #[test]
    fn keeps_a_prefix_and_refuses_one_it_never_had() {
        let mut known = Known::default();
        let user = known.add(1, Role::User, &[]);
        let more = known.add(2, Role::User, &[]);
        let window = Window { revision: 1, entries: vec![user], turn: Turn(1) };
        let next = window.apply(&changes(1, &[more]), &known).map(|w| w.entries);
        assert_eq!(next, Ok(vec![user, more]));
        assert_eq!(window.apply(&changes(2, &[]), &known), Err(WindowError::Kept { kept: 2, known: 1 }));
        let prompt = Entry { pinned: true, ..known.add(3, Role::User, &[]) };
        let pinned = Window { revision: 1, entries: vec![prompt], turn: Turn(1) };
        assert_eq!(pinned.apply(&changes(0, &[]), &known), Err(WindowError::Unpinned(prompt.id)));
        let back = Changes { turn: Turn(0), ..changes(1, &[]) };
        assert_eq!(
            window.apply(&back, &known),
            Err(WindowError::TurnWentBack { from: Turn(1), to: Turn(0) })
        );
    }

    #[test]
    fn a_cut_pair_at_the_kept_edge_is_seen() {
        let mut known = Known::default();
        let asks = known.add(2, Role::Assistant, &["x"]);
        let answers = known.add(3, Role::Results, &["x"]);
        let window = Window { revision: 1, entries: vec![asks, answers], turn: Turn(1) };
        assert_eq!(window.apply(&changes(1, &[]), &known), Err(WindowError::NoResults(asks.id)));
    }
}
