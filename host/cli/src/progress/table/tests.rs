//! Tables of trees at several widths.

use super::{Style, Tense, table};
use crate::progress::{
    agent::Standing::{Blocked, EndedBadly, EndedWell, Queued, Running},
    fold::fold,
    tree::{Tree, tests::grown},
};
use std::time::Duration;

const STYLE: Style = Style { columns: 80, now: Duration::from_secs(75), tense: Tense::Now, headed: false };

fn drawn(tree: &Tree, max_lines: usize, style: Style) -> String {
    let lines = table(tree, &fold(tree, max_lines), style);
    for line in &lines {
        assert!(line.width() <= style.columns, "{line:?} is wider than {}", style.columns);
    }
    lines.iter().map(|line| format!("{}\n", line.text().trim_end())).collect()
}

fn tree() -> Tree {
    grown(&[
        (9, Blocked),
        (0, EndedWell),
        (0, Blocked),
        (2, Running),
        (2, Queued),
        (3, EndedBadly),
        (0, Queued),
    ])
}

#[test]
fn branches_are_drawn() {
    insta::assert_snapshot!(drawn(&tree(), 20, STYLE), @r"
    ◌ a0 reader              blocked, waits for its slot back (1 min 15 s)
    ├─✓ a1 reader            ended with a text
    ├─◌ a2 reader            blocked, waits for its slot back (1 min 15 s)
    │ ├─● a3 reader    1m15  thinking (1 min 15 s)
    │ │ └─✗ a5 reader        stopped at its limit of 1 turn (maxTurns)
    │ └─○ a4 reader          queued (1 min 15 s)
    └─○ a6 reader            queued (1 min 15 s)
    ");
    insta::assert_snapshot!(drawn(&tree(), 5, STYLE), @r"
    ◌ a0 reader      blocked, waits for its slot back (1 min 15 s)
    ├─◌ a2 reader    blocked, waits for its slot back (1 min 15 s)
    │ ├─○ a4 reader  queued (1 min 15 s)
    │ └─… 2 more     1 running, 1 ended badly
    └─… 2 more       1 queued, 1 ended well
    ");
}

#[test]
fn whoever_had_not_ended_when_the_run_did_never_will() {
    let style = Style { tense: Tense::Then, headed: true, ..STYLE };
    insta::assert_snapshot!(drawn(&tree(), 20, style), @r"
                       time
    ◌ a0 reader              interrupted: was blocked
    ├─✓ a1 reader            ended with a text
    ├─◌ a2 reader            interrupted: was blocked
    │ ├─● a3 reader    1m15  interrupted: was thinking
    │ │ └─✗ a5 reader        stopped at its limit of 1 turn (maxTurns)
    │ └─○ a4 reader          interrupted: was queued
    └─○ a6 reader            interrupted: was queued
    ");
}

#[test]
fn a_deep_tree_does_not_run_out_of_the_screen() {
    let mut agents = vec![(99, Blocked)];
    agents.extend((1..=40).map(|n| (n - 1, if n == 40 { Running } else { Blocked })));
    let drawn = drawn(&grown(&agents), 50, STYLE);
    let last: Vec<&str> = drawn.lines().skip(38).collect();
    insta::assert_snapshot!(last.join("\n"), @r"
    ⋯25                         └─◌ a38 rea…        blocked, waits for its slot bac…
    ⋯26                         └─◌ a39 rea…        blocked, waits for its slot bac…
    ⋯27                         └─● a40 rea…  1m15  thinking (1 min 15 s)
    ");
}
