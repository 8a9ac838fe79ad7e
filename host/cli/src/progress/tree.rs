//! All agents of a run as a tree, with sums over each branch that are kept up to date by every event, so that
//! drawing a part of it never looks at the rest.
//!
//! A row stands for a lineage: an agent and whatever it became later share it. Only spawning knows of that;
//! everything else finds a row by the id of any of its incarnations.

use super::{
    agent::{Agent, Standing},
    lineage::{Lineage, Used, add},
};
use gg_core::{AgentId, Cost, ProfileId};
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

/// The least that counts as a cost: far below one token's, far above what rounding leaves.
const LEAST_COST: f64 = 1e-9;

/// A row of a tree: the first is 0, and later ones came later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RowId(usize);

/// See the module's own text.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    rows: Vec<Row>,
    roots: Vec<RowId>,
    by_agent: HashMap<AgentId, RowId>,
    /// The rows of each standing, by their [`Row::place`].
    standing: [BTreeSet<(usize, RowId)>; Standing::ALL.len()],
    over: usize,
    all: Sum,
}

/// An agent in a tree.
#[derive(Debug)]
pub(crate) struct Row {
    /// The agent.
    pub(crate) agent: Agent,
    /// Who put it to work; absent for a root.
    pub(crate) parent: Option<RowId>,
    /// Those it put to work, in the order they came.
    pub(crate) children: Vec<RowId>,
    /// The agent and all below it.
    pub(crate) branch: Sum,
    depth: u32,
    /// Its order among those of its standing: when it came, or, once it is over, when it ended.
    place: usize,
}

/// Some agents in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    agents: [usize; Standing::ALL.len()],
    /// What they used.
    pub(crate) used: Used,
}

/// An agent that came to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spawned<'a> {
    /// Its id.
    pub(crate) id: &'a AgentId,
    /// Its profile.
    pub(crate) profile: &'a ProfileId,
    /// Who put it to work; absent for a root.
    pub(crate) parent: Option<&'a AgentId>,
    /// How deep it stands; a root stands at 0.
    pub(crate) depth: u32,
    /// How many turns its profile allows.
    pub(crate) turn_limit: Option<u32>,
    /// It is a copy of its parent.
    pub(crate) is_copy: bool,
}

impl Tree {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// How many ids stand for them: more than rows, where agents became others.
    pub(crate) fn incarnations(&self) -> usize {
        self.by_agent.len()
    }

    /// The rows without a parent, in the order they came.
    pub(crate) fn roots(&self) -> &[RowId] {
        &self.roots
    }

    /// All agents in numbers.
    pub(crate) fn all(&self) -> Sum {
        self.all
    }

    /// The row of an agent.
    pub(crate) fn find(&self, agent: &AgentId) -> Option<RowId> {
        self.by_agent.get(agent).copied()
    }

    /// A row of this tree.
    pub(crate) fn row(&self, row: RowId) -> &Row {
        &self.rows[row.0]
    }

    /// The rows of one standing: the first that came first, and of those that are over the last that ended.
    pub(crate) fn of(&self, standing: Standing) -> impl Iterator<Item = RowId> + '_ {
        let rows = &self.standing[standing as usize];
        let (forwards, backwards) =
            if standing.is_over() { (None, Some(rows.iter().rev())) } else { (Some(rows.iter()), None) };
        forwards.into_iter().flatten().chain(backwards.into_iter().flatten()).map(|(_, row)| *row)
    }

    /// All rows, the most interesting first.
    pub(crate) fn by_interest(&self) -> impl Iterator<Item = RowId> + '_ {
        Standing::ALL.into_iter().flat_map(|standing| self.of(standing))
    }

    /// The agents that have not ended: how many, and the first of them, at most `most`.
    pub(crate) fn left(&self, most: usize) -> (usize, Vec<RowId>) {
        let left = || Standing::ALL.into_iter().filter(|standing| !standing.is_over());
        let count = left().map(|standing| self.all.of(standing)).sum();
        let mut first: Vec<RowId> = left().flat_map(|standing| self.of(standing).take(most)).collect();
        first.sort_unstable();
        first.truncate(most);
        (count, first)
    }

    /// Whether an agent that comes from such a row and stands so deep is what that row's agent became.
    pub(crate) fn goes_on(&self, from: RowId, depth: u32) -> bool {
        self.row(from).depth == depth
    }

    /// Adds an agent. One that stands as deep as its parent is what the parent became, and takes its row.
    pub(crate) fn spawn(&mut self, spawned: Spawned<'_>, at: Duration) {
        let Spawned { id, profile, parent: from, depth, turn_limit, is_copy } = spawned;
        let parent = from.and_then(|parent| self.find(parent));
        if let Some(row) = parent.filter(|parent| self.goes_on(*parent, depth)) {
            self.by_agent.insert(id.clone(), row);
            self.update(row, |agent| agent.become_another(id, profile, turn_limit));
            return;
        }
        let row = RowId(self.rows.len());
        let copied = from.filter(|_| is_copy);
        let agent = Agent::new(Lineage::new(id, profile, turn_limit, copied), at);
        self.standing[agent.standing() as usize].insert((row.0, row));
        let own = Sum::of_one(&agent);
        self.rows.push(Row {
            agent,
            parent,
            children: Vec::new(),
            branch: Sum::default(),
            depth,
            place: row.0,
        });
        self.by_agent.insert(id.clone(), row);
        match parent {
            Some(parent) => self.rows[parent.0].children.push(row),
            None => self.roots.push(row),
        }
        self.add_to_branches(row, Sum::default(), own);
    }

    /// Changes what is known of an agent, and every sum that it is part of.
    pub(crate) fn update<T>(&mut self, row: RowId, change: impl FnOnce(&mut Agent) -> T) -> T {
        let agent = &mut self.rows[row.0].agent;
        let (standing, own) = (agent.standing(), Sum::of_one(agent));
        let answer = change(agent);
        let (now_standing, now_own) = (agent.standing(), Sum::of_one(agent));
        if now_standing != standing {
            self.move_to(row, standing, now_standing);
        }
        if now_own != own {
            self.add_to_branches(row, own, now_own);
        }
        answer
    }

    /// An agent ended, and its parent waits for it no longer.
    pub(crate) fn ended(&mut self, row: RowId) {
        if let Some(parent) = self.row(row).parent {
            self.rows[parent.0].agent.on.remove(&row);
        }
    }

    fn move_to(&mut self, row: RowId, from: Standing, to: Standing) {
        let place = self.rows[row.0].place;
        self.standing[from as usize].remove(&(place, row));
        if to.is_over() {
            self.over += 1;
            self.rows[row.0].place = self.over;
        }
        self.standing[to as usize].insert((self.rows[row.0].place, row));
    }

    fn add_to_branches(&mut self, row: RowId, before: Sum, after: Sum) {
        self.all.replace(before, after);
        let mut next = Some(row);
        while let Some(RowId(row)) = next {
            self.rows[row].branch.replace(before, after);
            next = self.rows[row].parent;
        }
    }
}

impl Sum {
    /// One agent.
    pub(crate) fn of_one(agent: &Agent) -> Self {
        let mut agents = [0; Standing::ALL.len()];
        agents[agent.standing() as usize] = 1;
        Self { agents, used: agent.lineage.used }
    }

    /// How many of them stand so.
    pub(crate) fn of(&self, standing: Standing) -> usize {
        self.agents[standing as usize]
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.agents.iter().sum()
    }

    /// Without some that are among them.
    pub(crate) fn without(mut self, part: Self) -> Self {
        self.replace(part, Self::default());
        // What is left of fractions that were added up in another order is no cost.
        self.used.cost = self.used.cost.map(|Cost(cost)| Cost(if cost < LEAST_COST { 0.0 } else { cost }));
        self
    }

    /// With `after` in the place of `before`, which is among them.
    fn replace(&mut self, before: Self, after: Self) {
        for (all, (before, after)) in self.agents.iter_mut().zip(before.agents.iter().zip(after.agents)) {
            *all = *all + after - before;
        }
        self.used.turns = self.used.turns.saturating_sub(before.used.turns).saturating_add(after.used.turns);
        self.used.tokens =
            self.used.tokens.saturating_sub(before.used.tokens).saturating_add(after.used.tokens);
        let more = add(after.used.cost, before.used.cost.map(|Cost(cost)| Cost(-cost)));
        self.used.cost = add(self.used.cost, more);
    }
}

#[cfg(test)]
pub(in crate::progress) mod tests;
