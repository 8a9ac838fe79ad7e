//! An agent and all that it became: one at work, under one id after another.

use super::passage::Passage;
use gg_core::{AgentId, Cost, ProfileId, Usage};

/// See the module's own text.
#[derive(Debug)]
pub(crate) struct Lineage {
    /// What it was before, the first first.
    pub(crate) before: Vec<Incarnation>,
    /// What it is now, or was at last.
    pub(crate) now: Incarnation,
    /// How many turns the profile allows that it has now.
    pub(crate) turn_limit: Option<u32>,
    /// What all of them used.
    pub(crate) used: Used,
    /// The turns of those before that ran under the profile it has now.
    earlier_turns: u64,
    /// From whom its window comes, until it takes a turn, and how many messages came of which nothing was said yet.
    carried: Option<(AgentId, u64)>,
}

/// One agent of a lineage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Incarnation {
    /// Its id.
    pub(crate) id: AgentId,
    /// Its profile.
    pub(crate) profile: ProfileId,
    /// The state of a machine that it stands in.
    pub(crate) state: Option<String>,
    /// What it used itself.
    pub(crate) used: Used,
}

/// What was used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Used {
    /// Turns that began.
    pub(crate) turns: u64,
    /// Tokens, read and written.
    pub(crate) tokens: u64,
    /// What those cost, where the configuration names prices.
    pub(crate) cost: Option<Cost>,
}

/// The sum of what is known.
pub(crate) fn add(a: Option<Cost>, b: Option<Cost>) -> Option<Cost> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Cost(a.0 + b.0)),
        (a, b) => a.or(b),
    }
}

impl Used {
    fn more(&mut self, usage: &Usage, cost: Option<Cost>) {
        let tokens = usage.input.saturating_add(usage.output);
        self.tokens = self.tokens.saturating_add(tokens);
        self.cost = add(self.cost, cost);
    }
}

impl Incarnation {
    fn new(id: &AgentId, profile: &ProfileId) -> Self {
        Self { id: id.clone(), profile: profile.clone(), state: None, used: Used::default() }
    }
}

impl Lineage {
    /// A lineage of one agent, which may be the copy of another.
    pub(crate) fn new(
        id: &AgentId,
        profile: &ProfileId,
        turn_limit: Option<u32>,
        copied: Option<&AgentId>,
    ) -> Self {
        Self {
            before: Vec::new(),
            now: Incarnation::new(id, profile),
            turn_limit,
            used: Used::default(),
            earlier_turns: 0,
            carried: copied.map(|from| (from.clone(), 0)),
        }
    }

    /// The agent becomes another.
    pub(crate) fn go_on_as(&mut self, id: &AgentId, profile: &ProfileId, turn_limit: Option<u32>) {
        self.carried = Some((self.now.id.clone(), 0));
        self.before.push(std::mem::replace(&mut self.now, Incarnation::new(id, profile)));
        self.turn_limit = turn_limit;
        let earlier = self.before.iter().filter(|earlier| earlier.profile == *profile);
        self.earlier_turns = earlier.map(|earlier| earlier.used.turns).sum();
    }

    /// The id by which whoever put it to work knows it.
    pub(crate) fn first_id(&self) -> &AgentId {
        &self.before.first().unwrap_or(&self.now).id
    }

    /// Every agent of it, in order.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Incarnation> {
        self.before.iter().chain([&self.now])
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.before.len() + 1
    }

    /// Whether there is more than one.
    pub(crate) fn has_changed(&self) -> bool {
        !self.before.is_empty()
    }

    /// The turns that count for its limit: those of its profile, whenever it had that.
    pub(crate) fn turns(&self) -> u64 {
        self.earlier_turns.saturating_add(self.now.used.turns)
    }

    /// Whether its window is still being filled with what it takes over.
    pub(crate) fn is_taking_over(&self) -> bool {
        self.carried.is_some()
    }

    /// It took over a message.
    pub(crate) fn take_over(&mut self) {
        if let Some((_, messages)) = &mut self.carried {
            *messages += 1;
        }
    }

    /// What it took over since this was last asked.
    pub(crate) fn taken_over(&mut self) -> Option<Passage> {
        let (from, messages) = self.carried.as_mut()?;
        let messages = std::mem::take(messages);
        (messages > 0).then(|| Passage::Carried { messages, from: from.clone() })
    }

    /// It takes a turn. From its first one on, nothing is taken over any more.
    pub(crate) fn begin_turn(&mut self) {
        self.used.turns += 1;
        self.now.used.turns += 1;
        self.carried = None;
    }

    /// It used something.
    pub(crate) fn use_up(&mut self, usage: &Usage, cost: Option<Cost>) {
        self.used.more(usage, cost);
        self.now.used.more(usage, cost);
    }
}
