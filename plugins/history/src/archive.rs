//! Turns taken out of the window on the model's word, to be read back when they are needed.

use crate::{
    packed::{ENTRY_BYTES, Packed},
    window::{Unit, UnitState, Window, sum},
};
use gg_module_sdk::{CallError, Messages, Role, page};
use std::ops::Range;

/// The most archives. Each is told in the prompt and kept in the state, so they must not grow for ever.
pub(crate) const MAX_ARCHIVES: usize = 1000;

/// The longest title, in bytes.
pub(crate) const MAX_TITLE_BYTES: usize = 200;

/// The most of an archive that one reading gives, in bytes: about five thousand tokens.
pub(crate) const PAGE_BYTES: usize = 16 * 1024;

/// The most of one message that can be read back, in bytes. Results are at most 64 KiB each and replies are
/// bounded by the model's output, so this cuts nothing real.
const MESSAGE_BYTES: u32 = 4 << 20;

/// Turns that were taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Its number, by which it is read back.
    pub number: u32,
    /// The first turn it was asked for.
    pub from: u32,
    /// The last.
    pub to: u32,
    /// What the model called it.
    pub title: String,
    /// The entries as they stood.
    pub(crate) entries: Vec<[u8; ENTRY_BYTES]>,
}

/// Turns that are to be taken out, and where they stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) units: Vec<Unit>,
    pub(crate) messages: usize,
    pub(crate) tokens: u64,
}

impl Window {
    /// What archiving these turns would take out, in the turn `now`.
    ///
    /// # Errors
    /// What the model should ask for instead.
    pub(crate) fn plan_archive(&self, now: u32, turns: (u32, u32), title: &str) -> Result<Plan, CallError> {
        let (from, to) = turns;
        if title.trim().is_empty() || title.contains(['\n', '\r']) || title.len() > MAX_TITLE_BYTES {
            return Err(CallError::refused(format!(
                "`title` is one line of 1 to {MAX_TITLE_BYTES} bytes that says what the turns were about."
            )));
        }
        if from > to {
            return Err(CallError::refused(format!(
                "`from` is the first turn and `to` the last, so {from} to {to} is empty. {}",
                self.turns_at_hand(now)
            )));
        }
        if to >= now {
            return Err(CallError::refused(format!(
                "Only turns that are over can be archived, and this is turn {now}. {}",
                self.turns_at_hand(now)
            )));
        }
        if self.archives.len() >= MAX_ARCHIVES {
            return Err(CallError::refused(format!(
                "There are {MAX_ARCHIVES} archives, and no more are kept."
            )));
        }
        let units: Vec<Unit> = self
            .units()
            .filter(|unit| unit.state != UnitState::Fixed && (from..=to).contains(&unit.turn))
            .collect();
        if units.iter().all(|unit| unit.state == UnitState::StandIn) {
            return Err(CallError::refused(format!(
                "Nothing of turns {from} to {to} can be archived. {}",
                self.turns_at_hand(now)
            )));
        }
        let messages = units.iter().map(|unit| unit.range.len()).sum();
        let tokens = units.iter().map(|unit| unit.tokens).sum();
        Ok(Plan { units, messages, tokens })
    }

    /// Takes these turns out, and leaves a note in their place.
    ///
    /// # Errors
    /// As [`plan_archive`](Self::plan_archive), or if the host makes no note.
    pub(crate) fn archive(
        &mut self,
        now: u32,
        turns: (u32, u32),
        title: &str,
        messages: &dyn Messages,
    ) -> Result<String, CallError> {
        let plan = self.plan_archive(now, turns, title)?;
        let number =
            self.last_archive.checked_add(1).ok_or_else(|| CallError::failed("no numbers are left"))?;
        let (from, to) = turns;
        let what = format!("{} messages, about {} tokens", plan.messages, plan.tokens);
        let stub = messages
            .note(&format!(
                "[Turns {from} to {to} were archived as archive {number}, \"{title}\": {what}. \
                 read_archive gives them back.]"
            ))
            .map_err(|error| CallError::failed(format!("the stub could not be made: {error}")))?;

        let mut archived = Vec::with_capacity(plan.messages);
        let mut left = Vec::with_capacity(self.entries.len());
        let mut copied = 0;
        for (at, unit) in plan.units.iter().enumerate() {
            left.extend_from_slice(&self.entries[copied..unit.range.start]);
            if at == 0 {
                left.push(Packed::standing_for_others(&stub).0);
            }
            archived.extend_from_slice(&self.entries[unit.range.clone()]);
            copied = unit.range.end;
        }
        left.extend_from_slice(&self.entries[copied..]);
        let kept = plan.units.first().map_or(0, |unit| unit.range.start);
        self.settle(left, kept);
        self.last_archive = number;
        self.archives.push(Archive { number, from, to, title: title.into(), entries: archived });
        Ok(format!("Turns {from} to {to} are archived as archive {number}: {what}."))
    }

    /// Which turns could be archived, for a refusal.
    fn turns_at_hand(&self, now: u32) -> String {
        /// Enough to choose from, and little enough to read.
        const NAMED: usize = 20;
        let mut turns: Vec<u32> = self
            .units()
            .filter(|unit| unit.state == UnitState::Free && unit.turn < now)
            .map(|unit| unit.turn)
            .collect();
        turns.sort_unstable();
        turns.dedup();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for turn in turns {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == turn => *last = turn,
                _ => ranges.push((turn, turn)),
            }
        }
        if ranges.is_empty() {
            return "No turn can be archived now.".into();
        }
        let more = if ranges.len() > NAMED { " and later ones" } else { "" };
        let named: Vec<String> = ranges
            .iter()
            .take(NAMED)
            .map(|(from, to)| if from == to { from.to_string() } else { format!("{from} to {to}") })
            .collect();
        format!("The turns that can be archived are {}{more}.", named.join(", "))
    }

    /// The archive with this number.
    ///
    /// # Errors
    /// Names the archives that exist.
    pub(crate) fn archive_numbered(&self, number: u32) -> Result<&Archive, CallError> {
        self.archives.iter().find(|archive| archive.number == number).ok_or_else(|| {
            CallError::refused(match self.archives.is_empty() {
                true => format!("There is no archive {number}: nothing was archived yet."),
                false => format!("There is no archive {number}. There are: {}.", self.latest_archives("; ")),
            })
        })
    }

    /// The latest archives, by number and title.
    pub(crate) fn latest_archives(&self, separator: &str) -> String {
        /// Enough for a prompt that does not grow with the run.
        const NAMED: usize = 20;
        let skipped = self.archives.len().saturating_sub(NAMED);
        let mut named: Vec<String> = self.archives[skipped..]
            .iter()
            .map(|archive| {
                format!("{} \"{}\" (turns {} to {})", archive.number, archive.title, archive.from, archive.to)
            })
            .collect();
        if skipped > 0 {
            named.insert(0, format!("{skipped} older ones"));
        }
        named.join(separator)
    }
}

impl Archive {
    /// The archived text from byte `offset` on, one page of it.
    ///
    /// # Errors
    /// If there is nothing at `offset`, or the host does not give a text.
    pub(crate) fn read(&self, offset: usize, messages: &dyn Messages) -> Result<String, CallError> {
        let mut out = String::new();
        let mut shown: Range<usize> = offset..offset;
        let mut at = 0;
        for bytes in &self.entries {
            let entry = Packed(*bytes).entry();
            let who = match entry.role {
                Role::User => "user",
                Role::Assistant => "reply",
                Role::Results => "results",
            };
            let text = messages
                .text(entry.id, MESSAGE_BYTES)
                .map_err(|error| CallError::failed(format!("message {}: {error}", entry.id)))?;
            let piece = format!("[turn {}, {who}]\n{text}\n", entry.turn);
            let end = at + piece.len();
            if end > shown.end {
                if out.len() >= PAGE_BYTES {
                    return Ok(format!("{out}\n[the archive goes on at offset {}]", shown.end));
                }
                let (start, part) = page(&piece, shown.end - at, PAGE_BYTES - out.len());
                if out.is_empty() {
                    shown.start = at + start;
                }
                out.push_str(part);
                shown.end = at + start + part.len();
                if shown.end < end {
                    return Ok(format!("{out}\n[the archive goes on at offset {}]", shown.end));
                }
            }
            at = end;
        }
        if offset >= at {
            return Err(CallError::refused(format!(
                "Archive {} is {at} bytes long, so there is nothing at offset {offset}.",
                self.number
            )));
        }
        if shown.start > 0 {
            out.push_str("\n[the archive ends here]");
        }
        Ok(out)
    }

    /// The sum of its entries' tokens.
    pub fn tokens(&self) -> u64 {
        sum(&self.entries)
    }
}
