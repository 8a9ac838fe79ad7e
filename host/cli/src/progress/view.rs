//! What is known of a run from its events: a state machine that is fed what subscribers are shown, and says
//! what is finished and what goes on. It does no I/O and reads no clock.

use super::{
    agent::Standing,
    detail::Detail,
    item::{Item, MAX_GLANCE_CHARS, What, id_list, of_event},
    lineage::add,
    plan::Plan,
    table::{MAX_NAMED, name, names},
    tree::{RowId, Spawned, Tree},
};
use gg_core::{
    AgentId, AgentState, Cost, Ending, Event, Live, MessageId, Origin, Recorded, RunId, SuccessionKind,
    Usage, event::ProfileRollup, text,
};
use std::{collections::HashSet, time::Duration};

/// How many agents may run at once before only what matters most of each scrolls by: what more of them do in a
/// second is more than anybody reads.
const MANY: usize = 8;

/// A run as it is known so far.
#[derive(Debug, Default)]
pub(crate) struct View {
    plan: Plan,
    tree: Tree,
    /// The copies that were announced and have not come to be.
    copies: HashSet<AgentId>,
    /// The messages that some stream has stated.
    stated: HashSet<MessageId>,
    /// The run's id.
    pub(crate) run: Option<RunId>,
    /// The tokens of all agents.
    pub(crate) usage: Usage,
    /// Some of those are estimates.
    pub(crate) estimated: bool,
    /// What they cost, where the configuration names prices.
    pub(crate) cost: Option<Cost>,
    /// How the run ended.
    pub(crate) end: Option<RunEnd>,
    /// The run is being ended early.
    pub(crate) stopping: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunEnd {
    /// How its root ended.
    pub(crate) ending: Ending,
    /// How long it took.
    pub(crate) elapsed: Duration,
    /// What each profile used.
    pub(crate) profiles: Vec<ProfileRollup>,
}

impl View {
    /// A run of which nothing is known yet but its configuration.
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, ..Self::default() }
    }

    /// What its configuration says.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its agents.
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// How much of what happens is worth a line now.
    pub(crate) fn detail(&self) -> Detail {
        match (self.tree.len(), self.tree.all().of(Standing::Running)) {
            (0 | 1, _) => Detail::Whole,
            (_, running) if running <= MANY => Detail::Brief,
            _ => Detail::Milestones,
        }
    }

    /// Where the run's own agent has ended and others have not: both, in words.
    pub(crate) fn waiting(&self) -> Option<String> {
        let root = &self.tree.row(*self.tree.roots().first()?).agent;
        let (left, first) = self.tree.left(MAX_NAMED);
        if !root.standing().is_over() || left == 0 {
            return None;
        }
        Some(format!("{} has ended; waiting for {}", root.id(), names(&self.tree, left, &first)))
    }

    /// Takes in what happened at `at`, a time since any fixed moment, and says what is finished by it.
    pub(crate) fn observe(&mut self, live: &Live, at: Duration) -> Vec<Item> {
        match live {
            Live::Event(recorded) => self.event(recorded, at),
            Live::Text { agent, text } => {
                if let Some(row) = self.tree.find(agent) {
                    self.tree.update(row, |agent| agent.write(text, at));
                }
                Vec::new()
            }
            Live::Retrying { agent, error, wait_ms } => {
                let wait = Duration::from_millis(*wait_ms);
                let error = text::glance(error, MAX_GLANCE_CHARS);
                if let Some(row) = self.tree.find(agent) {
                    let until = at.saturating_add(wait);
                    self.tree.update(row, |agent| agent.retry(until, error.clone(), at));
                }
                vec![self.item(Some(agent), What::Retrying { error, wait })]
            }
            Live::Compacting { agent, reason } => {
                if let Some(row) = self.tree.find(agent) {
                    self.tree.update(row, |agent| agent.compact(*reason, at));
                }
                Vec::new()
            }
            Live::Missed(_) => Vec::new(),
        }
    }

    /// A single agent's items need no name.
    fn item(&self, agent: Option<&AgentId>, what: What) -> Item {
        Item { agent: agent.filter(|_| self.tree.len() > 1).cloned(), what }
    }

    fn event(&mut self, recorded: &Recorded, at: Duration) -> Vec<Item> {
        let (id, event) = (recorded.agent.as_ref(), &recorded.event);
        self.count(event);
        let goes_on = id.is_some_and(|id| self.spawned(id, event, at));
        let row = id.and_then(|id| self.tree.find(id));
        if row.is_some_and(|row| self.is_taken_over(row, event)) {
            return Vec::new();
        }
        let mut finished = Vec::new();
        if let Some(row) = row {
            self.of_agent(row, event, at, &mut finished);
        }
        // Whose place it takes has just said that it does.
        finished.extend(of_event(recorded).filter(|_| !goes_on));
        finished.into_iter().map(|what| self.item(id.filter(|_| what.is_of_agent()), what)).collect()
    }

    /// Takes in what agents there are, and says whether this one goes on in the place of another.
    fn spawned(&mut self, id: &AgentId, event: &Event, at: Duration) -> bool {
        match event {
            Event::AgentTransition { kind: SuccessionKind::Fork, to, .. } => {
                self.copies.insert(to.clone());
                false
            }
            Event::AgentSpawned { profile, parent, depth, .. } => {
                let known = self.tree.len();
                let turn_limit = self.plan.turn_limit(profile);
                let is_copy = self.copies.remove(id);
                let parent = parent.as_ref();
                self.tree.spawn(Spawned { id, profile, parent, depth: *depth, turn_limit, is_copy }, at);
                self.tree.len() == known
            }
            _ => false,
        }
    }

    /// Whether an event only restates a message that an agent has from the one it comes from.
    fn is_taken_over(&mut self, row: RowId, event: &Event) -> bool {
        let Event::Message { message, .. } = event else { return false };
        let is_new = self.stated.insert(message.id);
        let is_taken_over = !is_new && self.tree.row(row).agent.lineage.is_taking_over();
        if is_taken_over {
            self.tree.update(row, |agent| agent.lineage.take_over());
        }
        is_taken_over
    }

    /// What the run as a whole learns from an event.
    fn count(&mut self, event: &Event) {
        match event {
            Event::RunStarted { run, .. } => self.run = Some(run.clone()),
            Event::Usage { usage, estimated, cost, .. } => {
                self.usage += *usage;
                self.estimated |= estimated;
                self.cost = add(self.cost, *cost);
            }
            Event::RunEnded { ending, elapsed_ms, profiles } => {
                self.end = Some(RunEnd {
                    ending: ending.clone(),
                    elapsed: Duration::from_millis(*elapsed_ms),
                    profiles: profiles.clone(),
                });
            }
            _ => {}
        }
    }

    /// What an agent's row learns from an event of its stream.
    fn of_agent(&mut self, row: RowId, event: &Event, at: Duration, finished: &mut Vec<What>) {
        let parent = self.tree.row(row).parent;
        if let Event::AgentState { state: AgentState::Blocked, on } = event {
            let rows = on.iter().filter_map(|agent| self.tree.find(agent));
            let rows = rows.filter(|row| !self.tree.row(*row).agent.standing().is_over()).collect();
            self.tree.update(row, |agent| agent.block(rows, at));
            let named = |id: &AgentId| match self.tree.find(id) {
                Some(row) => name(&self.tree, row),
                None => id.to_string(),
            };
            let first: Vec<String> = on.iter().take(MAX_NAMED).map(named).collect();
            finished.push(What::Waits { on: id_list(first.iter().map(String::as_str), on.len()) });
            return;
        }
        self.tree.update(row, |agent| agent.event(event, at, finished));
        self.asked(row, finished);
        if let Event::AgentEnded { .. } = event {
            self.tree.ended(row);
            if parent.is_none() {
                self.root_ended(finished);
            }
        }
    }

    /// The run's own prompt stands above everything else already; that of any other agent says what it is for. One
    /// that became another may be told it once more.
    fn asked(&self, row: RowId, finished: &mut Vec<What>) {
        let row = self.tree.row(row);
        if row.agent.lineage.has_changed() {
            return;
        }
        let is_prompt = |what: &What| matches!(what, What::Told { origin: Origin::Prompt, .. });
        let Some(parent) = row.parent else {
            finished.retain(|what| !is_prompt(what));
            return;
        };
        for what in finished.iter_mut().filter(|what| is_prompt(what)) {
            if let What::Told { glance, .. } = what {
                *what = What::Asked {
                    profile: row.agent.lineage.now.profile.to_string(),
                    parent: self.tree.row(parent).agent.id().clone(),
                    glance: std::mem::take(glance),
                };
            }
        }
    }

    /// How the run's own agent ended is said at the end of all; but if others are left, also now.
    fn root_ended(&self, finished: &mut Vec<What>) {
        match self.waiting() {
            Some(says) => finished.push(What::Waiting { says }),
            None => finished.retain(|what| !matches!(what, What::Ended { .. })),
        }
    }
}
