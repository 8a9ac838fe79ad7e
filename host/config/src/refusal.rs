//! What is told to whoever wrote the configuration.

use crate::{Code, Note};
use serde::Serialize;
use std::ops::Range;

/// One thing that gg cannot honour as it is written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refusal {
    /// The rule.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
    /// The JSON pointer of the value it is about; for something missing, of the object that lacks it.
    pub pointer: String,
    /// The line of the marked place, counted from 1.
    pub line: usize,
    /// The column of the marked place, in characters, counted from 1.
    pub column: usize,
    /// How many characters are marked.
    pub length: usize,
    /// The agent it is about.
    pub profile: Option<String>,
    /// The capability it is about.
    pub capability: Option<String>,
    /// The marked place in bytes, for whoever shows the source.
    #[serde(skip)]
    pub range: Range<usize>,
}

/// The answer of `gg check` as data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// What is refused, in the order of the text.
    pub refusals: Vec<Refusal>,
    /// What is allowed and worth knowing, in the order of the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// Orders by place, and drops what was said twice of one place.
pub(crate) fn sort(refusals: &mut Vec<Refusal>) {
    refusals.sort_by(|a, b| {
        let key = |r: &Refusal| (r.range.start, r.code);
        key(a).cmp(&key(b)).then_with(|| a.pointer.cmp(&b.pointer)).then_with(|| a.message.cmp(&b.message))
    });
    refusals.dedup_by(|a, b| a.code == b.code && a.pointer == b.pointer && a.message == b.message);
}
