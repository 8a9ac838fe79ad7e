//! The library: what is kept of the programs that ran, and for how long.

use crate::ids::{Issued, MAX_LENGTH, holder};
use gg_module_sdk::{CallError, cut};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The least length of ids that a configuration may ask for: three digits have room for a small run.
pub(crate) const MIN_ID_LENGTH: u8 = 3;

/// The most. What is longer is only more to read.
pub(crate) const MAX_ID_LENGTH: u8 = 16;

/// What a configuration may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Params {
    /// How many programs are kept. The oldest go first.
    pub max_entries: usize,
    /// How much all that is kept may take, in bytes. The oldest go first.
    pub max_bytes: usize,
    /// The longest program that is kept, in bytes.
    pub max_source_bytes: usize,
    /// How much of an outcome is kept, in bytes.
    pub max_outcome_bytes: usize,
    /// The length of an id, in characters.
    pub id_length: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            max_entries: 50,
            max_bytes: 1024 * 1024,
            max_source_bytes: 64 * 1024,
            max_outcome_bytes: 4 * 1024,
            id_length: 6,
        }
    }
}

/// A program that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// What it is fetched by.
    pub id: String,
    /// Its source.
    pub source: String,
    /// What came of it, as its author was told.
    pub outcome: String,
    /// The agent that ran it.
    pub agent: String,
    /// The turn of that agent in which it ran.
    pub turn: u32,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.source.len() + self.outcome.len()
    }
}

/// The programs that are kept, and every id that was issued.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    entries: VecDeque<Entry>,
    issued: Issued,
}

/// A program to be kept, and the moment it ran in.
pub(crate) struct Ran<'a> {
    pub(crate) source: String,
    pub(crate) outcome: &'a str,
    pub(crate) agent: &'a str,
    pub(crate) turn: u32,
    pub(crate) salt: u64,
}

impl Library {
    /// The programs, the newest first.
    pub fn newest(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A program.
    ///
    /// # Errors
    /// Says whether it is gone or never was, and which are there.
    pub fn get(&self, id: &str) -> Result<&Entry, CallError> {
        self.entries.iter().find(|entry| entry.id == id).ok_or_else(|| self.missing(id))
    }

    /// Keeps a program, and lets go of the oldest where there are too many. Gives its id, and those of the
    /// programs that went.
    ///
    /// # Errors
    /// If it is too long to be kept.
    pub(crate) fn record(
        &mut self,
        ran: Ran<'_>,
        params: &Params,
    ) -> Result<(String, Vec<String>), CallError> {
        if ran.source.len() > params.max_source_bytes {
            return Err(CallError::refused(format!(
                "The program is {} bytes long, and at most {} are kept.",
                ran.source.len(),
                params.max_source_bytes
            )));
        }
        let length = params.id_length.clamp(MIN_ID_LENGTH, MAX_LENGTH);
        let holder = holder(ran.agent, ran.salt);
        let id = loop {
            let id = self.issued.issue(holder, length).ok_or_else(|| CallError::failed("no ids are left"))?;
            // Only a state that was made up can hold an id that was not issued.
            if self.entries.iter().all(|entry| entry.id != id) {
                break id;
            }
        };
        self.entries.push_back(Entry {
            id: id.clone(),
            source: ran.source,
            outcome: shortened(ran.outcome, params.max_outcome_bytes),
            agent: ran.agent.to_owned(),
            turn: ran.turn,
        });
        Ok((id, self.retain(params)))
    }

    /// Lets go of the oldest programs, as far as these settings want it; the newest always stays.
    fn retain(&mut self, params: &Params) -> Vec<String> {
        let mut bytes: usize = self.entries.iter().map(Entry::bytes).sum();
        let mut gone = Vec::new();
        while self.len() > 1 && (self.len() > params.max_entries || bytes > params.max_bytes) {
            let Some(oldest) = self.entries.pop_front() else { break };
            bytes -= oldest.bytes();
            gone.push(oldest.id);
        }
        gone
    }

    fn missing(&self, id: &str) -> CallError {
        /// Enough to find a mistyped id, and little enough to read.
        const NAMED: usize = 20;
        if self.issued.has(id) {
            return CallError::refused(format!(
                "The program \"{id}\" is not kept any more: only the newest are, and there are {}.",
                self.len()
            ));
        }
        let id = cut(id, MAX_LENGTH.into());
        if self.is_empty() {
            return CallError::refused(format!("There is no program \"{id}\". None has been kept yet."));
        }
        let ids: Vec<&str> = self.newest().take(NAMED).map(|entry| entry.id.as_str()).collect();
        let which = if self.len() > NAMED { "The newest are" } else { "There are" };
        CallError::refused(format!("There is no program \"{id}\". {which}: {}.", ids.join(", ")))
    }
}

/// An outcome as it is kept. A program that ran is kept however much it had to say.
fn shortened(outcome: &str, most: usize) -> String {
    let kept = cut(outcome, most);
    match outcome.len() - kept.len() {
        0 => kept.to_owned(),
        left => format!("{kept}\n[{left} bytes more were not kept]"),
    }
}
