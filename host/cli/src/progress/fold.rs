//! Which agents of a tree are shown where there is not room for all: every agent either has a line, or is
//! counted in exactly one.

use super::{
    agent::Standing,
    tree::{RowId, Sum, Tree},
};
use std::collections::BTreeMap;

/// How many agents that found no room are tried before it is given up: smaller branches that would still fit
/// are among the next few, or are not missed.
const MAX_MISSES: usize = 32;

/// A line of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Folded {
    /// Where it stands.
    pub(crate) rails: Rails,
    /// What it shows.
    pub(crate) entry: Entry,
}

/// What a line of a tree shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Entry {
    /// An agent.
    Row(RowId),
    /// Agents at this place that have no lines of their own, and all below them.
    More(Sum),
}

/// The lines that lead from a root to a line of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rails {
    /// How many levels below a root it stands.
    pub(crate) depth: usize,
    /// The lowest bit: whether a sibling follows. The next: whether one of its parent follows. Deeper trees than
    /// this has bits for are never drawn from their roots on.
    follows: u64,
}

impl Rails {
    fn below(self, follows: bool) -> Self {
        Self { depth: self.depth + 1, follows: self.follows << 1 | u64::from(follows) }
    }

    /// Whether a sibling follows the line's ancestor so many levels up; 0 is the line itself.
    pub(crate) fn follows(self, levels_up: usize) -> bool {
        u32::try_from(levels_up)
            .ok()
            .and_then(|up| self.follows.checked_shr(up))
            .is_some_and(|bits| bits & 1 == 1)
    }
}

/// The tree in at most so many lines: the most interesting agents, never one without those above it, and counts
/// of all others. With no room at all, nothing.
pub(crate) fn fold(tree: &Tree, max_lines: usize) -> Vec<Folded> {
    if max_lines == 0 || tree.len() == 0 {
        return Vec::new();
    }
    let mut shown = Shown { tree, rows: BTreeMap::new(), roots: 0, lines: 1 };
    let mut misses = 0;
    for row in tree.by_interest() {
        misses += usize::from(!shown.add(row, max_lines));
        if misses == MAX_MISSES {
            break;
        }
    }
    shown.lines()
}

/// The same of a run at work: whoever runs too deep for a line below all those above it stands last, by itself, so
/// that one who is at work is always seen.
pub(crate) fn fold_at_work(tree: &Tree, max_lines: usize) -> Vec<Folded> {
    let folded = fold(tree, max_lines);
    let is_shown = |row: RowId| folded.iter().any(|line| line.entry == Entry::Row(row));
    let Some(first) = tree.of(Standing::Running).next() else { return folded };
    if max_lines < 2 || tree.of(Standing::Running).any(is_shown) {
        return folded;
    }
    let mut folded = fold(tree, max_lines - 1);
    folded.push(Folded { rails: Rails::default(), entry: Entry::Row(first) });
    folded
}

/// Which rows have lines. Where not all children of one have, a line counts the others.
struct Shown<'a> {
    tree: &'a Tree,
    /// The shown rows, and how many of each one's children are.
    rows: BTreeMap<RowId, usize>,
    roots: usize,
    lines: usize,
}

impl Shown<'_> {
    /// Shows a row and whatever is above it, if there is room.
    fn add(&mut self, row: RowId, max_lines: usize) -> bool {
        let mut path = Vec::new();
        let mut next = Some(row);
        while let Some(row) = next.filter(|row| !self.rows.contains_key(row)) {
            if path.len() == max_lines {
                return false;
            }
            path.push(row);
            next = self.tree.row(row).parent;
        }
        if path.is_empty() {
            return true;
        }
        let (shown, siblings) = match next {
            Some(parent) => (self.rows[&parent], self.tree.row(parent).children.len()),
            None => (self.roots, self.tree.roots().len()),
        };
        // The last of the hidden ones takes the place of their count.
        let counted_no_longer = usize::from(shown + 1 == siblings);
        let newly_counted = path.iter().enumerate().filter(|(up, row)| {
            let children = self.tree.row(**row).children.len();
            children > usize::from(*up > 0)
        });
        let lines = self.lines + path.len() + newly_counted.count() - counted_no_longer;
        if lines > max_lines {
            return false;
        }
        self.lines = lines;
        match next {
            Some(parent) => *self.rows.entry(parent).or_default() += 1,
            None => self.roots += 1,
        }
        self.rows.extend(path.iter().enumerate().map(|(up, row)| (*row, usize::from(up > 0))));
        true
    }

    fn lines(&self) -> Vec<Folded> {
        let mut below: BTreeMap<Option<RowId>, Vec<RowId>> = BTreeMap::new();
        for row in self.rows.keys() {
            below.entry(self.tree.row(*row).parent).or_default().push(*row);
        }
        let mut lines = Vec::with_capacity(self.lines);
        // What is still to be drawn, the next one last.
        let mut stack = Vec::new();
        self.push_level(&mut stack, &below, None, Rails::default());
        while let Some(folded) = stack.pop() {
            lines.push(folded);
            if let Entry::Row(row) = folded.entry {
                self.push_level(&mut stack, &below, Some(row), folded.rails);
            }
        }
        lines
    }

    /// Puts the children of `parent` on the stack, or the roots, and below them the count of those not shown.
    fn push_level(
        &self,
        stack: &mut Vec<Folded>,
        below: &BTreeMap<Option<RowId>, Vec<RowId>>,
        parent: Option<RowId>,
        above: Rails,
    ) {
        let shown = below.get(&parent).map_or(&[][..], Vec::as_slice);
        let all = match parent {
            Some(row) => self.tree.row(row).branch.without(Sum::of_one(&self.tree.row(row).agent)),
            None => self.tree.all(),
        };
        let hidden = shown.iter().fold(all, |all, row| all.without(self.tree.row(*row).branch));
        let rails = |follows| if parent.is_some() { above.below(follows) } else { above };
        let mut follows = false;
        if hidden.count() > 0 {
            stack.push(Folded { rails: rails(false), entry: Entry::More(hidden) });
            follows = true;
        }
        for row in shown.iter().rev() {
            stack.push(Folded { rails: rails(follows), entry: Entry::Row(*row) });
            follows = true;
        }
    }
}

#[cfg(test)]
mod tests;
