//! The tree against sums that are made anew from all agents.

use super::{RowId, Spawned, Sum, Tree};
use crate::progress::agent::{Agent, Standing};
use gg_core::{AgentId, AgentState, Cost, Ending, Event, Purpose, Turn, Usage, event::Event::AgentEnded};
use proptest::prelude::*;
use std::time::Duration;

const AT: Duration = Duration::ZERO;

fn state(state: AgentState) -> Event {
    Event::AgentState { state, on: Vec::new() }
}

fn end(ending: Ending) -> Event {
    AgentEnded { ending, state: None, turns: 1, usage: Usage::default(), cost: None, said: None, unread: 0 }
}

/// The event that brings a queued agent there.
fn event_to(standing: Standing) -> Event {
    match standing {
        Standing::Running => state(AgentState::Running),
        Standing::Blocked => state(AgentState::Blocked),
        Standing::Queued => state(AgentState::Queued),
        Standing::EndedWell => end(Ending::Text { text: String::new() }),
        Standing::EndedBadly => end(Ending::TurnLimit { limit: 1 }),
    }
}

/// A tree of agents, each given as its parent's number and where it stands. The first is a root; a parent that is
/// not there yet makes another root.
pub(in crate::progress) fn grown(agents: &[(usize, Standing)]) -> Tree {
    let mut tree = Tree::default();
    for (n, (parent, _)) in agents.iter().enumerate() {
        spawn(&mut tree, n, *parent);
    }
    for (n, (_, standing)) in agents.iter().enumerate() {
        apply(&mut tree, n, &event_to(*standing));
    }
    tree
}

/// The tree after each agent has used as many tokens as its number says.
pub(in crate::progress) fn having_used(mut tree: Tree) -> Tree {
    (0..tree.len()).for_each(|n| apply(&mut tree, n, &usage(n as u64)));
    tree
}

fn spawn(tree: &mut Tree, n: usize, parent: usize) {
    let id = AgentId::nth(n as u64);
    let above = tree.find(&AgentId::nth(parent as u64)).map(|row| tree.row(row).depth);
    let parent = above.map(|_| AgentId::nth(parent as u64));
    let depth = above.map_or(0, |depth| depth + 1);
    let profile = "reader".into();
    let spawned = Spawned {
        id: &id,
        profile: &profile,
        parent: parent.as_ref(),
        depth,
        turn_limit: None,
        is_copy: false,
    };
    tree.spawn(spawned, AT);
}

/// The agent of a row becomes another.
fn succeed(tree: &mut Tree, row: usize, id: u64) {
    let depth = tree.row(RowId(row)).depth;
    let (id, parent) = (AgentId::nth(id), tree.row(RowId(row)).agent.id().clone());
    let profile = "writer".into();
    let parent = Some(&parent);
    tree.spawn(Spawned { id: &id, profile: &profile, parent, depth, turn_limit: None, is_copy: false }, AT);
}

fn apply(tree: &mut Tree, n: usize, event: &Event) {
    let row = tree.find(&AgentId::nth(n as u64)).unwrap();
    tree.update(row, |agent| agent.event(event, AT, &mut Vec::new()));
}

fn usage(tokens: u64) -> Event {
    let usage = Usage { input: tokens, ..Usage::default() };
    // Halves of a power of two add up exactly, in any order.
    let cost = Some(Cost(tokens as f64 / 1024.0));
    Event::Usage { turn: Turn(1), purpose: Purpose::Turn, usage, estimated: false, cost }
}

pub(in crate::progress) fn standings() -> impl Strategy<Value = Standing> {
    prop::sample::select(Standing::ALL.to_vec())
}

fn rows(tree: &Tree) -> impl Iterator<Item = RowId> + '_ {
    (0..tree.len()).map(RowId)
}

fn sum<'a>(agents: impl Iterator<Item = &'a Agent>) -> Sum {
    let mut sum = Sum::default();
    agents.for_each(|agent| sum.replace(Sum::default(), Sum::of_one(agent)));
    sum
}

fn is_below(tree: &Tree, row: RowId, above: RowId) -> bool {
    let mut next = Some(row);
    while let Some(row) = next {
        if row == above {
            return true;
        }
        next = tree.row(row).parent;
    }
    false
}

proptest! {
    #[test]
    fn sums_and_standings_are_kept_up_to_date(
        steps in prop::collection::vec((0..4u8, 0..40usize, 0..40usize, standings()), 1..120),
    ) {
        let mut tree = Tree::default();
        spawn(&mut tree, 0, 99);
        for (step, (what, n, parent, standing)) in steps.into_iter().enumerate() {
            let known = tree.len();
            match what {
                0 => spawn(&mut tree, known, parent % known),
                1 => apply(&mut tree, n % known, &event_to(standing)),
                2 => succeed(&mut tree, n % known, 1000 + step as u64),
                _ => apply(&mut tree, n % known, &usage(parent as u64)),
            }
        }
        let agent = |row| &tree.row(row).agent;
        for above in rows(&tree) {
            let branch = sum(rows(&tree).filter(|row| is_below(&tree, *row, above)).map(agent));
            prop_assert_eq!(tree.row(above).branch, branch);
        }
        prop_assert_eq!(tree.all(), sum(rows(&tree).map(agent)));
        for row in rows(&tree) {
            let lineage = &agent(row).lineage;
            let tokens = lineage.all().map(|incarnation| incarnation.used.tokens).sum::<u64>();
            prop_assert_eq!(tokens, lineage.used.tokens);
            prop_assert!(lineage.all().all(|incarnation| tree.find(&incarnation.id) == Some(row)));
        }
        for standing in Standing::ALL {
            let mut of: Vec<RowId> = tree.of(standing).collect();
            of.sort_unstable();
            let expected: Vec<RowId> = rows(&tree).filter(|row| agent(*row).standing() == standing).collect();
            prop_assert_eq!(of, expected);
        }
    }
}

#[test]
fn the_last_that_ended_comes_first_and_of_the_others_the_first_that_came() {
    use Standing::{EndedBadly, EndedWell, Queued, Running};
    let tree = grown(&[
        (9, Running),
        (0, EndedWell),
        (0, EndedWell),
        (0, Queued),
        (0, EndedBadly),
        (0, Queued),
        (0, Running),
    ]);
    let order: Vec<usize> = tree.by_interest().map(|row| row.0).collect();
    assert_eq!(order, [0, 6, 4, 3, 5, 2, 1]);
    assert_eq!(tree.left(3), (4, vec![RowId(0), RowId(3), RowId(5)]));
}

#[test]
fn an_agent_that_becomes_another_keeps_its_row_and_what_it_used() {
    let mut tree = grown(&[(9, Standing::Running), (0, Standing::Running)]);
    apply(&mut tree, 1, &usage(10));
    let (id, parent, profile) = (AgentId::nth(5), AgentId::nth(1), "writer".into());
    let became = Spawned {
        id: &id,
        profile: &profile,
        parent: Some(&parent),
        depth: 1,
        turn_limit: Some(3),
        is_copy: false,
    };
    tree.spawn(became, AT);
    apply(&mut tree, 5, &usage(7));
    assert_eq!((tree.len(), tree.find(&id), tree.find(&parent)), (2, Some(RowId(1)), Some(RowId(1))));
    let row = tree.row(RowId(1));
    let lineage = &row.agent.lineage;
    assert_eq!((&lineage.now.id, &lineage.now.profile), (&id, &profile));
    assert_eq!((row.agent.standing(), lineage.first_id()), (Standing::Running, &parent));
    let tokens: Vec<u64> = lineage.all().map(|incarnation| incarnation.used.tokens).collect();
    assert_eq!((tokens.as_slice(), lineage.used.tokens, tree.all().used.tokens), (&[10, 7][..], 17, 17));
    assert_eq!((row.parent, row.children.as_slice()), (Some(RowId(0)), &[][..]));
}

#[test]
fn what_ended_is_waited_for_no_longer_and_does_nothing_more() {
    let mut tree = grown(&[(9, Standing::Running), (0, Standing::Queued), (0, Standing::Queued)]);
    tree.update(RowId(0), |agent| agent.block([RowId(1), RowId(2)].into(), AT));
    apply(&mut tree, 1, &end(Ending::Text { text: String::new() }));
    tree.ended(RowId(1));
    assert_eq!(tree.row(RowId(0)).agent.on, [RowId(2)].into());
    tree.update(RowId(1), |agent| agent.write("late", AT));
    assert_eq!(tree.row(RowId(1)).agent.standing(), Standing::EndedWell);
    apply(&mut tree, 0, &state(AgentState::Running));
    assert_eq!(tree.row(RowId(0)).agent.on, [].into());
}
