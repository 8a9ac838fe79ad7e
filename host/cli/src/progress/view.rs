//! What is known of a run from its events: a state machine that is fed what subscribers are shown, and says
//! what is finished and what goes on. It does no I/O and reads no clock.

use super::item::{Done, Item, MAX_GLANCE_CHARS, What, arguments_glance, of_event};
use gg_core::{
    AgentId, AgentState, Call, CallId, CallStatus, CompactionReason, Cost, Ending, Event, Live, Message,
    Origin, ProfileId, Recorded, Role, Turn, Usage, event::ProfileRollup, text,
};
use std::{collections::BTreeMap, time::Duration};

/// How much of the text that a model is writing is kept, in bytes: more than the live area of a large
/// terminal can show.
const MAX_TAIL_BYTES: usize = 8 * 1024;

/// A run as it is known so far.
#[derive(Debug, Default)]
pub(crate) struct View {
    limits: BTreeMap<ProfileId, u32>,
    agents: Vec<Agent>,
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

/// An agent that has not ended.
#[derive(Debug)]
pub(crate) struct Agent {
    /// Its id.
    pub(crate) id: AgentId,
    /// Its profile.
    pub(crate) profile: ProfileId,
    /// The run's own agent, which has no parent.
    pub(crate) is_root: bool,
    /// The turn it is in.
    pub(crate) turn: Turn,
    /// How many its profile allows.
    pub(crate) turn_limit: Option<u32>,
    /// What it is doing.
    pub(crate) activity: Activity,
    /// Since when, counted like the `at` of [`View::observe`].
    pub(crate) since: Duration,
    /// The end of what its model has written in this turn.
    pub(crate) tail: String,
    /// This turn's calls.
    pub(crate) calls: Vec<Pending>,
    /// A reply without calls: usually the agent's last word, and then not a step on its way.
    last_word: Option<String>,
}

/// What an agent is doing now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// Waits for a slot.
    Queued,
    /// Waits for its model.
    Thinking,
    /// Its model is writing.
    Writing,
    /// Runs its calls.
    Calling,
    /// Makes room in its window.
    Compacting(CompactionReason),
    /// Waits until it may ask its model again.
    Retrying {
        /// When it will, counted like the `at` of [`View::observe`].
        until: Duration,
        /// What went wrong.
        error: String,
    },
}

/// A call of the current turn.
#[derive(Debug)]
pub(crate) struct Pending {
    id: CallId,
    /// Its name.
    pub(crate) name: String,
    /// Its arguments, in short.
    pub(crate) arguments: String,
    /// How it came out, once it has.
    pub(crate) done: Option<(CallStatus, Done)>,
}

impl View {
    /// A run of which nothing is known yet but how many turns each profile may take.
    pub(crate) fn new(limits: BTreeMap<ProfileId, u32>) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The agents that have not ended, in the order they came.
    pub(crate) fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Takes in what happened at `at`, a time since any fixed moment, and says what is finished by it.
    pub(crate) fn observe(&mut self, live: &Live, at: Duration) -> Vec<Item> {
        match live {
            Live::Event(recorded) => self.event(recorded, at),
            Live::Text { agent, text } => {
                if let Some(agent) = self.agent(agent) {
                    agent.enter(Activity::Writing, at);
                    agent.write(text);
                }
                Vec::new()
            }
            Live::Retrying { agent, error, wait_ms } => {
                let wait = Duration::from_millis(*wait_ms);
                let error = text::glance(error, MAX_GLANCE_CHARS);
                if let Some(agent) = self.agent(agent) {
                    // What the failed request had written so far does not count.
                    agent.tail.clear();
                    agent.enter(
                        Activity::Retrying { until: at.saturating_add(wait), error: error.clone() },
                        at,
                    );
                }
                vec![self.item(Some(agent), What::Retrying { error, wait })]
            }
            Live::Compacting { agent, reason } => {
                if let Some(agent) = self.agent(agent) {
                    agent.tail.clear();
                    agent.enter(Activity::Compacting(*reason), at);
                }
                Vec::new()
            }
            Live::Missed(_) => Vec::new(),
        }
    }

    fn agent(&mut self, id: &AgentId) -> Option<&mut Agent> {
        self.agents.iter_mut().find(|agent| agent.id == *id)
    }

    /// The root's items stand without its name.
    fn item(&self, agent: Option<&AgentId>, what: What) -> Item {
        let is_root = |id: &AgentId| self.agents.iter().any(|agent| agent.id == *id && agent.is_root);
        Item { agent: agent.filter(|id| !is_root(id)).cloned(), what }
    }

    fn event(&mut self, recorded: &Recorded, at: Duration) -> Vec<Item> {
        let id = recorded.agent.as_ref();
        let mut finished = Vec::new();
        match &recorded.event {
            Event::AgentSpawned { profile, parent, .. } => {
                if let Some(id) = id {
                    let turn_limit = self.limits.get(profile).copied();
                    self.agents.push(Agent::new(id, profile, parent.is_none(), turn_limit, at));
                }
            }
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
            event => {
                if let Some(agent) = id.and_then(|id| self.agent(id)) {
                    agent.event(event, at, &mut finished);
                }
            }
        }
        finished.extend(of_event(&recorded.event));
        let items = finished.into_iter().map(|what| self.item(id, what)).collect();
        if let (Some(id), Event::AgentEnded { .. }) = (id, &recorded.event) {
            self.agents.retain(|agent| agent.id != *id);
        }
        items
    }
}

/// The sum of what is known.
pub(crate) fn add(a: Option<Cost>, b: Option<Cost>) -> Option<Cost> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Cost(a.0 + b.0)),
        (a, b) => a.or(b),
    }
}

impl Agent {
    fn new(id: &AgentId, profile: &ProfileId, is_root: bool, turn_limit: Option<u32>, at: Duration) -> Self {
        Self {
            id: id.clone(),
            profile: profile.clone(),
            is_root,
            turn: Turn(0),
            turn_limit,
            activity: Activity::Queued,
            since: at,
            tail: String::new(),
            calls: Vec::new(),
            last_word: None,
        }
    }

    fn enter(&mut self, activity: Activity, at: Duration) {
        if self.activity != activity {
            self.activity = activity;
            self.since = at;
        }
    }

    fn write(&mut self, piece: &str) {
        self.tail.push_str(piece);
        if self.tail.len() > MAX_TAIL_BYTES {
            let mut from = self.tail.len() - MAX_TAIL_BYTES / 2;
            while !self.tail.is_char_boundary(from) {
                from += 1;
            }
            self.tail.drain(..from);
        }
    }

    /// Takes in an event of its own stream.
    fn event(&mut self, event: &Event, at: Duration, finished: &mut Vec<What>) {
        match event {
            Event::AgentState { state: AgentState::Queued, .. } => self.enter(Activity::Queued, at),
            Event::AgentState { state: AgentState::Blocked, .. } => self.enter(Activity::Queued, at),
            Event::AgentState { state: AgentState::Running, .. } => self.enter(Activity::Thinking, at),
            Event::TurnStarted { turn } => {
                self.flush(finished);
                self.turn = *turn;
                self.tail.clear();
                self.enter(Activity::Thinking, at);
                finished.push(What::Turn { turn: turn.0, limit: self.turn_limit });
            }
            Event::Message { message, .. } => self.message(message, at, finished),
            Event::Call { call, name, arguments, .. } => {
                self.enter(Activity::Calling, at);
                self.calls.push(Pending {
                    id: call.clone(),
                    name: name.clone(),
                    arguments: arguments_glance(arguments),
                    done: None,
                });
            }
            Event::CallResult { call, status, elapsed_ms, bytes, .. } => {
                let done = Done { elapsed: Duration::from_millis(*elapsed_ms), bytes: *bytes };
                if let Some(pending) = self.calls.iter_mut().find(|pending| pending.id == *call) {
                    pending.done = Some((*status, done));
                }
            }
            Event::Compaction { .. } => self.enter(Activity::Thinking, at),
            Event::AgentEnded { ending, .. } => {
                if matches!(ending, Ending::Text { .. }) {
                    self.last_word = None;
                }
                self.flush(finished);
                if !self.is_root {
                    finished.push(What::Ended { good: ending.is_good(), sentence: ending.sentence() });
                }
            }
            Event::RunStarted { .. }
            | Event::AgentSpawned { .. }
            | Event::Request { .. }
            | Event::Usage { .. }
            | Event::Hook { .. }
            | Event::ModuleFailed { .. }
            | Event::LoopNudge { .. }
            | Event::RunEnded { .. } => {}
        }
    }

    /// Lets go of what was held back: it turned out to be a step on the way.
    fn flush(&mut self, finished: &mut Vec<What>) {
        finished.extend(self.last_word.take().map(|text| What::Said { text }));
        for call in self.calls.drain(..) {
            if let Some((status, done)) = call.done {
                finished.push(What::Answered {
                    name: call.name,
                    status,
                    done: Some(done),
                    glance: String::new(),
                });
            }
        }
    }

    fn message(&mut self, message: &Message, at: Duration, finished: &mut Vec<What>) {
        match message.origin {
            Origin::Prompt => {}
            Origin::Reply => {
                self.flush(finished);
                self.tail.clear();
                let said = message.text();
                let calls: Vec<&Call> = message.calls().collect();
                if calls.is_empty() {
                    self.last_word = Some(said).filter(|said| !said.trim().is_empty());
                } else {
                    self.enter(Activity::Calling, at);
                    if !said.trim().is_empty() {
                        finished.push(What::Said { text: said });
                    }
                }
            }
            Origin::Results => {
                for result in message.call_results() {
                    let pending = self.calls.iter().find(|pending| pending.id == result.call);
                    finished.push(What::Answered {
                        name: result.name.clone(),
                        status: result.status,
                        done: pending.and_then(|pending| pending.done).map(|(_, done)| done),
                        glance: text::glance(&result.content, MAX_GLANCE_CHARS),
                    });
                }
                self.calls.clear();
                self.enter(Activity::Thinking, at);
            }
            origin => {
                // A model's own words can be restated by a stream; they are no news.
                if message.role == Role::User {
                    self.flush(finished);
                    let glance = text::glance(&message.text(), MAX_GLANCE_CHARS);
                    finished.push(What::Told { origin, glance });
                }
            }
        }
    }
}
