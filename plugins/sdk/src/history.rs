//! What makes a history.

use crate::{Changes, Cx, Entry, Error, Module, Segment, Summary};

/// A module of the kind `history`: the ordered messages of the next request. Exported with
/// [`export_history!`](crate::export_history).
///
/// Unlike calls, these hooks are not taken back by the SDK when they fail, because copying a window before
/// each append would cost more than the append: check first, then change.
pub trait History: Module {
    /// Adds to the end.
    ///
    /// # Errors
    /// If the entries do not fit what stands there. Nothing is added then.
    fn append(&mut self, cx: &Cx<'_, Self::Params>, entries: Vec<Entry>) -> Result<(), Error>;

    /// What changed since a revision that this gave earlier; everything, with `kept` 0, for any other.
    fn entries(&self, cx: &Cx<'_, Self::Params>, since: u64) -> Changes;

    /// What to summarise so that the window comes near `budget` tokens.
    fn fold(&self, cx: &Cx<'_, Self::Params>, budget: u64, keep_turns: u32) -> Vec<Segment>;

    /// Replaces each segment by its summary.
    ///
    /// # Errors
    /// If a summary's segment does not stand there, or may not be folded. Nothing is replaced then.
    fn folded(&mut self, cx: &Cx<'_, Self::Params>, summaries: Vec<Summary>) -> Result<(), Error>;
}
