//! The window: its entries in order, and the rules of changing them.

use crate::{
    archive::Archive,
    log::Log,
    packed::{ENTRY_BYTES, Packed},
};
use gg_module_sdk::{Changes, Entry, Error, Summary};
use std::ops::Range;

/// The most entries. At twenty bytes each this is a state of 20 MiB, far over what any model's window holds;
/// a host that appends for ever is told so.
pub(crate) const MAX_ENTRIES: usize = 1 << 20;

/// The conversation of one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// In order. Kept as bytes, so that saving them is one copy.
    pub(crate) entries: Vec<[u8; ENTRY_BYTES]>,
    /// The sum of the entries' tokens.
    pub(crate) tokens: u64,
    /// The last turn seen; it outlives the entries.
    pub(crate) turn: u32,
    pub(crate) log: Log,
    /// The number of the last archive. Numbers are never given twice.
    pub(crate) last_archive: u32,
    pub(crate) archives: Vec<Archive>,
}

/// Neighbouring entries that are never parted: one entry, or calls with their results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) range: Range<usize>,
    /// The turn of its first entry.
    pub(crate) turn: u32,
    pub(crate) tokens: u64,
    pub(crate) state: UnitState,
}

/// What may be done with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitState {
    /// It may be replaced.
    Free,
    /// It is pinned, or its results are still to come.
    Fixed,
    /// It may be replaced along with others, but is itself what replaced some.
    StandIn,
}

impl Window {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn at(&self, index: usize) -> Option<Packed> {
        self.entries.get(index).copied().map(Packed)
    }

    /// The units in order.
    pub(crate) fn units(&self) -> impl Iterator<Item = Unit> {
        let mut next = 0;
        std::iter::from_fn(move || {
            let unit = self.unit_at(next)?;
            next = unit.range.end;
            Some(unit)
        })
    }

    fn unit_at(&self, start: usize) -> Option<Unit> {
        let first = self.at(start)?;
        let results = self.at(start + 1).filter(|next| first.calls() > 0 && next.is_results());
        let tokens = u64::from(first.tokens()) + results.map_or(0, |results| u64::from(results.tokens()));
        let waits = first.calls() > 0 && results.is_none();
        let state = if waits || first.is_pinned() || results.is_some_and(|results| results.is_pinned()) {
            UnitState::Fixed
        } else if first.stands_for_others() {
            UnitState::StandIn
        } else {
            UnitState::Free
        };
        let end = start + 1 + usize::from(results.is_some());
        Some(Unit { range: start..end, turn: first.turn(), tokens, state })
    }

    /// Adds to the end, in constant time per entry.
    ///
    /// # Errors
    /// [`Error::Request`] if results are added without their calls, calls are parted from their results, or
    /// the window is full. Nothing is added then.
    pub(crate) fn append(&mut self, now: u32, entries: &[Entry]) -> Result<(), Error> {
        if entries.is_empty() {
            return Ok(());
        }
        if self.entries.len() + entries.len() > MAX_ENTRIES {
            return Err(Error::Request(format!("a window holds at most {MAX_ENTRIES} messages")));
        }
        let mut waiting = self.entries.last().is_some_and(|last| Packed(*last).calls() > 0);
        for entry in entries {
            let packed = Packed::new(entry);
            if waiting != packed.is_results() {
                return Err(Error::Request(match waiting {
                    true => format!("the calls before message {} lack their results", entry.id),
                    false => format!("message {} holds results of no calls", entry.id),
                }));
            }
            if packed.is_results() && entry.calls > 0 {
                return Err(Error::Request(format!("message {} holds both calls and results", entry.id)));
            }
            waiting = entry.calls > 0;
        }
        let kept = self.entries.len() as u32;
        self.entries.extend(entries.iter().map(|entry| Packed::new(entry).0));
        self.tokens += entries.iter().map(|entry| u64::from(entry.tokens)).sum::<u64>();
        let last = entries.iter().map(|entry| entry.turn).max().unwrap_or(0);
        self.turn = self.turn.max(last).max(now);
        self.log.push(kept);
        Ok(())
    }

    /// What changed since a revision; only the tail is written out.
    pub(crate) fn changes(&self, since: u64) -> Changes {
        let kept = self.log.kept(since, self.entries.len() as u32).unwrap_or(0);
        let tail = self.entries.get(kept as usize..).unwrap_or(&[]);
        Changes {
            revision: self.log.revision,
            kept,
            entries: tail.iter().map(|bytes| Packed(*bytes).entry()).collect(),
            turn: self.turn,
            tokens: self.tokens,
        }
    }

    /// Replaces each segment by its summary.
    ///
    /// # Errors
    /// [`Error::Request`] if a segment does not stand there in the given order, holds a pinned entry, or cuts
    /// calls from their results, or if a summary holds calls or results. Nothing is replaced then.
    pub(crate) fn folded(&mut self, summaries: &[Summary]) -> Result<(), Error> {
        let mut replacements = Vec::with_capacity(summaries.len());
        let mut from = 0;
        for summary in summaries {
            let range = self.segment(from, summary)?;
            let stand_in = Packed::standing_for_others(&summary.entry);
            if stand_in.is_results() || stand_in.calls() > 0 {
                return Err(Error::Request(format!(
                    "message {} cannot be a summary: it holds calls or results",
                    summary.entry.id
                )));
            }
            from = range.end;
            replacements.push((range, stand_in));
        }
        self.replace(&replacements);
        Ok(())
    }

    /// Where a summary's segment stands, at `from` or after.
    fn segment(&self, from: usize, summary: &Summary) -> Result<Range<usize>, Error> {
        let wrong =
            |why: &str| Err(Error::Request(format!("messages {} to {} {why}", summary.first, summary.last)));
        let Some(start) = self.find(from, summary.first) else {
            return wrong("do not stand in the window in this order");
        };
        let Some(last) = self.find(start, summary.last) else {
            return wrong("do not stand in the window in this order");
        };
        let range = start..last + 1;
        if self.entries[range.clone()].iter().any(|bytes| Packed(*bytes).is_pinned()) {
            return wrong("hold a pinned one");
        }
        let cut_before = self.at(start).is_some_and(|first| first.is_results());
        let cut_after = self.at(last).is_some_and(|last| last.calls() > 0);
        if cut_before || cut_after {
            return wrong("cut calls from their results");
        }
        Ok(range)
    }

    fn find(&self, from: usize, id: u64) -> Option<usize> {
        let at = self.entries.iter().skip(from).position(|bytes| Packed(*bytes).id() == id)?;
        Some(from + at)
    }

    /// Puts one entry in the place of each range. The ranges are in order and apart.
    pub(crate) fn replace(&mut self, replacements: &[(Range<usize>, Packed)]) {
        let Some((first, _)) = replacements.first() else { return };
        let kept = first.start;
        let mut after = Vec::with_capacity(self.entries.len());
        let mut copied = 0;
        for (range, stand_in) in replacements {
            after.extend_from_slice(&self.entries[copied..range.start]);
            after.push(stand_in.0);
            copied = range.end;
        }
        after.extend_from_slice(&self.entries[copied..]);
        self.settle(after, kept);
    }

    /// Makes these the entries; the first `kept` are as they were.
    pub(crate) fn settle(&mut self, entries: Vec<[u8; ENTRY_BYTES]>, kept: usize) {
        self.entries = entries;
        self.tokens = sum(&self.entries);
        self.log.push(kept as u32);
    }
}

/// The sum of the entries' tokens.
pub(crate) fn sum(entries: &[[u8; ENTRY_BYTES]]) -> u64 {
    entries.iter().map(|bytes| u64::from(Packed(*bytes).tokens())).sum()
}
