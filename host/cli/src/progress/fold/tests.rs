//! Whatever the tree and the room: every agent, with what it used, is shown or counted exactly once.

use super::{Entry, Folded, fold, fold_at_work};
use crate::progress::{
    agent::Standing::{self, Blocked, EndedBadly, EndedWell, Queued, Running},
    tree::{
        RowId, Sum, Tree,
        tests::{grown, having_used, standings},
    },
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A tree in which each agent's parent came before it, or which has several roots.
fn trees() -> impl Strategy<Value = Vec<(usize, Standing)>> {
    let agents = prop::collection::vec((0..1000usize, standings()), 0..80);
    (agents, 1..20usize).prop_map(|(agents, width)| {
        let parent = |n: usize, random: usize| match random % 50 {
            0 => usize::MAX,
            // A small width makes deep trees, a large one flat ones.
            _ if n > 0 => n - 1 - random % n.min(width),
            _ => usize::MAX,
        };
        let agents = agents.into_iter().enumerate();
        agents.map(|(n, (random, standing))| (parent(n, random), standing)).collect()
    })
}

fn shown(lines: &[Folded]) -> Vec<RowId> {
    let rows = lines.iter().filter_map(|line| match line.entry {
        Entry::Row(row) => Some(row),
        Entry::More(_) => None,
    });
    rows.collect()
}

/// Whom each count stands below, by the lines' depths; absent for roots.
fn counts(lines: &[Folded]) -> BTreeMap<Option<RowId>, Sum> {
    let mut path: Vec<RowId> = Vec::new();
    let mut counts = BTreeMap::new();
    let is_count = |line: &Folded| matches!(line.entry, Entry::More(_));
    for line in lines {
        // A count of roots stands as deep as a root, and is no child of anything.
        path.truncate(line.rails.depth);
        match line.entry {
            Entry::Row(row) => path.push(row),
            Entry::More(sum) => assert!(counts.insert(path.last().copied(), sum).is_none()),
        }
    }
    assert_eq!(counts.len(), lines.iter().filter(|line| is_count(line)).count());
    counts
}

/// The agents that are hidden below each that is shown.
fn hidden(tree: &Tree, shown: &BTreeSet<RowId>) -> BTreeMap<Option<RowId>, Sum> {
    let mut sums: BTreeMap<Option<RowId>, Vec<RowId>> = BTreeMap::new();
    for row in tree.by_interest().filter(|row| !shown.contains(row)) {
        let mut above = tree.row(row).parent;
        while let Some(row) = above.filter(|row| !shown.contains(row)) {
            above = tree.row(row).parent;
        }
        sums.entry(above).or_default().push(row);
    }
    let sum = |rows: Vec<RowId>| {
        // The only sum that can be made from outside: that of all without all others.
        let others = tree.by_interest().filter(|row| !rows.contains(row));
        others.fold(tree.all(), |all, row| all.without(Sum::of_one(&tree.row(row).agent)))
    };
    sums.into_iter().map(|(above, rows)| (above, sum(rows))).collect()
}

proptest! {
    #[test]
    fn every_agent_is_shown_or_counted_exactly_once(agents in trees(), max_lines in 0..100usize) {
        let tree = having_used(grown(&agents));
        let lines = fold(&tree, max_lines);
        prop_assert!(lines.len() <= max_lines);
        if max_lines == 0 || agents.is_empty() {
            prop_assert_eq!(lines, []);
            return Ok(());
        }
        let rows = shown(&lines);
        let set: BTreeSet<RowId> = rows.iter().copied().collect();
        prop_assert_eq!(set.len(), rows.len(), "a row is shown twice");
        prop_assert_eq!(counts(&lines), hidden(&tree, &set));
        let counted: usize = counts(&lines).values().map(Sum::count).sum();
        prop_assert_eq!(rows.len() + counted, tree.len());
        if tree.len() <= max_lines {
            prop_assert_eq!(counted, 0, "there was room for all");
        }
    }

    #[test]
    fn rows_stand_below_their_parents_and_rails_lead_to_what_follows(
        agents in trees(),
        max_lines in 1..60usize,
    ) {
        let tree = grown(&agents);
        let lines = fold(&tree, max_lines);
        let mut path: Vec<RowId> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            path.truncate(line.rails.depth);
            prop_assert_eq!(path.len(), line.rails.depth);
            if let Entry::Row(row) = line.entry {
                prop_assert_eq!(tree.row(row).parent, path.last().copied());
                path.push(row);
            }
            for up in 0..line.rails.depth {
                // The next line that stands as high as the ancestor, or higher.
                let depth = line.rails.depth - up;
                let next = lines[at + 1..].iter().find(|line| line.rails.depth <= depth);
                let follows = next.is_some_and(|line| line.rails.depth == depth);
                prop_assert_eq!(line.rails.follows(up), follows);
            }
        }
    }
}

fn numbers(lines: &[Folded], tree: &Tree) -> Vec<String> {
    let number = |line: &Folded| match line.entry {
        Entry::Row(row) => tree.row(row).agent.id().to_string(),
        Entry::More(sum) => format!("+{}", sum.count()),
    };
    lines.iter().map(number).collect()
}

#[test]
fn those_at_work_come_first_with_whoever_leads_to_them() {
    let mut agents = vec![(9999, Blocked)];
    agents.extend((1..=20).map(|n| (0, if n % 4 == 0 { EndedWell } else { Queued })));
    agents.extend([(0, Blocked), (21, Queued), (21, Running), (0, EndedBadly), (0, Running)]);
    let tree = grown(&agents);
    for (max_lines, expected) in [
        (1, "+26"),
        (2, "a0 +25"),
        (3, "a0 a25 +24"),
        (4, "a0 a24 a25 +23"),
        (5, "a0 a21 a22 a23 +22"),
        (6, "a0 a21 a22 a23 a25 +21"),
        (7, "a0 a21 a22 a23 a24 a25 +20"),
        (8, "a0 a1 a21 a22 a23 a24 a25 +19"),
        (9, "a0 a1 a2 a21 a22 a23 a24 a25 +18"),
    ] {
        assert_eq!(numbers(&fold(&tree, max_lines), &tree).join(" "), expected, "in {max_lines} lines");
    }
}

#[test]
fn a_count_of_one_gives_way_to_that_one() {
    let tree = grown(&[(9, Blocked), (0, Running), (0, EndedWell)]);
    assert_eq!(numbers(&fold(&tree, 3), &tree), ["a0", "a1", "a2"]);
    assert_eq!(numbers(&fold(&tree, 2), &tree), ["a0", "+2"]);
}

/// An agent far down does not hide those for whom there is room.
#[test]
fn a_chain_longer_than_the_room_is_counted() {
    let mut agents = vec![(9999, Blocked)];
    agents.extend((1..=30).map(|n| (n - 1, Blocked)));
    agents.extend([(30, Running), (0, Queued)]);
    let tree = grown(&agents);
    assert_eq!(numbers(&fold(&tree, 5), &tree), ["a0", "a1", "a2", "+29", "a32"]);
}

#[test]
fn one_who_runs_at_the_bottom_of_a_deep_tree_is_seen() {
    let mut agents: Vec<(usize, Standing)> = (0..50).map(|n: usize| (n.wrapping_sub(1), Blocked)).collect();
    agents[49].1 = Running;
    let tree = grown(&agents);
    let lines = fold_at_work(&tree, 12);
    assert_eq!(lines.len(), 12);
    let seen = shown(&lines);
    assert!(seen.iter().any(|row| tree.of(Running).any(|running| running == *row)), "{lines:?}");
    // Where somebody at work has a line anyway, nothing changes.
    agents[3].1 = Running;
    let tree = grown(&agents);
    assert_eq!(fold_at_work(&tree, 12), fold(&tree, 12));
}
