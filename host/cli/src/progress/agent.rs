//! What is known of one agent from its own events: what it does now, and what is finished by each of them. What it
//! became is the same agent still.

use super::{
    item::{Done, MAX_GLANCE_CHARS, What, arguments_glance},
    lineage::Lineage,
    tree::RowId,
};
use crate::amounts;
use gg_core::{
    AgentId, AgentState, Call, CallId, CallStatus, CompactionReason, Ending, Event, Message, Origin,
    ProfileId, Role, text,
};
use std::{collections::BTreeSet, time::Duration};

/// How much of the text that a model is writing is kept, in bytes: more than the live area of a large
/// terminal can show.
const MAX_TAIL_BYTES: usize = 8 * 1024;

/// How much of an agent's final text is kept, in characters: what its row may have room for. A run may have
/// many thousands that have ended.
const MAX_KEPT_CHARS: usize = 80;

/// An agent as its events show it. Times are counted like the `at` of [`super::view::View::observe`].
#[derive(Debug)]
pub(crate) struct Agent {
    /// Whom it is, and was.
    pub(crate) lineage: Lineage,
    /// What it is doing.
    pub(crate) activity: Activity,
    /// Since when.
    pub(crate) since: Duration,
    /// When it first held a slot.
    pub(crate) began: Option<Duration>,
    /// Some of what it used is an estimate.
    pub(crate) estimated: bool,
    /// The agents it waits for that have not ended.
    pub(crate) on: BTreeSet<RowId>,
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
    /// Waits for other agents.
    Blocked,
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
        /// When it will.
        until: Duration,
        /// What went wrong.
        error: String,
    },
    /// Nothing any more.
    Ended {
        /// Whether a caller may count on its work.
        good: bool,
        /// How it ended.
        sentence: String,
        /// Its final text, in short.
        glance: String,
    },
}

/// Where an agent stands, with the most interesting first: the order in which a tree that has too little room
/// gives it away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// It holds a slot.
    Running,
    /// It waits for other agents.
    Blocked,
    /// It ended, and nobody may count on its work.
    EndedBadly,
    /// It waits for a slot.
    Queued,
    /// It ended well.
    EndedWell,
}

impl Standing {
    /// All of them, in order.
    pub(crate) const ALL: [Self; 5] =
        [Self::Running, Self::Blocked, Self::EndedBadly, Self::Queued, Self::EndedWell];

    /// Whether the agent has nothing left to do.
    pub(crate) fn is_over(self) -> bool {
        matches!(self, Self::EndedBadly | Self::EndedWell)
    }
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

impl Agent {
    /// An agent that came to be at `at`.
    pub(crate) fn new(lineage: Lineage, at: Duration) -> Self {
        Self {
            lineage,
            activity: Activity::Queued,
            since: at,
            began: None,
            estimated: false,
            on: BTreeSet::new(),
            tail: String::new(),
            calls: Vec::new(),
            last_word: None,
        }
    }

    /// Its id now.
    pub(crate) fn id(&self) -> &AgentId {
        &self.lineage.now.id
    }

    /// The agent goes on as another: what it used, and since when, stays.
    pub(crate) fn become_another(&mut self, id: &AgentId, profile: &ProfileId, turn_limit: Option<u32>) {
        self.lineage.go_on_as(id, profile, turn_limit);
        self.tail.clear();
        self.calls.clear();
    }

    /// Where it stands.
    pub(crate) fn standing(&self) -> Standing {
        match self.activity {
            Activity::Queued => Standing::Queued,
            Activity::Blocked => Standing::Blocked,
            Activity::Ended { good: true, .. } => Standing::EndedWell,
            Activity::Ended { good: false, .. } => Standing::EndedBadly,
            Activity::Thinking
            | Activity::Writing
            | Activity::Calling
            | Activity::Compacting(_)
            | Activity::Retrying { .. } => Standing::Running,
        }
    }

    /// How long it has taken, from its first slot until it ended or else until `now`.
    pub(crate) fn took(&self, now: Duration) -> Option<Duration> {
        let until = if self.standing().is_over() { self.since } else { now };
        self.began.map(|began| until.saturating_sub(began))
    }

    /// Its activity is another one from `at` on, unless it is the same, or the agent has ended.
    fn enter(&mut self, activity: Activity, at: Duration) {
        if self.standing().is_over() {
            return;
        }
        if self.activity != activity {
            self.activity = activity;
            self.since = at;
        }
        if self.standing() == Standing::Running {
            self.began.get_or_insert(at);
            self.on.clear();
        }
    }

    /// It waits for those.
    pub(crate) fn block(&mut self, on: BTreeSet<RowId>, at: Duration) {
        self.on = on;
        // Many may wait for long, and none of them writes.
        self.tail = String::new();
        self.enter(Activity::Blocked, at);
    }

    /// Its model wrote a piece of text.
    pub(crate) fn write(&mut self, piece: &str, at: Duration) {
        self.enter(Activity::Writing, at);
        self.tail.push_str(piece);
        if self.tail.len() > MAX_TAIL_BYTES {
            let mut from = self.tail.len() - MAX_TAIL_BYTES / 2;
            while !self.tail.is_char_boundary(from) {
                from += 1;
            }
            self.tail.drain(..from);
        }
    }

    /// It asks its model again at `until`. What the failed request had written so far does not count.
    pub(crate) fn retry(&mut self, until: Duration, error: String, at: Duration) {
        self.tail.clear();
        self.enter(Activity::Retrying { until, error }, at);
    }

    /// Its window is about to be compacted.
    pub(crate) fn compact(&mut self, reason: CompactionReason, at: Duration) {
        self.tail.clear();
        self.enter(Activity::Compacting(reason), at);
    }

    /// Takes in an event of its own stream, but for those that say whom it waits for.
    pub(crate) fn event(&mut self, event: &Event, at: Duration, finished: &mut Vec<What>) {
        match event {
            Event::AgentState { state: AgentState::Queued, .. } => self.enter(Activity::Queued, at),
            Event::AgentState { state: AgentState::Blocked, .. } => self.enter(Activity::Blocked, at),
            Event::AgentState { state: AgentState::Running, .. } => self.enter(Activity::Thinking, at),
            Event::TurnStarted { turn } => {
                self.flush(finished);
                finished.extend(self.lineage.taken_over().map(What::Passage));
                self.lineage.begin_turn();
                self.tail.clear();
                self.enter(Activity::Thinking, at);
                let (counted, limit) = (self.lineage.turns(), self.lineage.turn_limit);
                finished.push(What::Turn { turn: turn.0, counted, limit });
            }
            Event::Message { message, .. } => self.message(message, at, finished),
            Event::Usage { usage, estimated, cost, .. } => {
                self.lineage.use_up(usage, *cost);
                self.estimated |= *estimated;
            }
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
            Event::Compaction { .. } | Event::CompactionFailed { .. } => self.go_on(at),
            Event::AgentTransition { .. } | Event::SuccessionFailed { .. } => self.flush(finished),
            Event::FsmState { state, .. } => self.lineage.now.state = Some(state.clone()),
            Event::AgentEnded { ending, state, .. } => self.end(ending, state.as_deref(), at, finished),
            // What else there is to say of an event, it says by itself.
            _ => {}
        }
    }

    fn end(&mut self, ending: &Ending, state: Option<&str>, at: Duration, finished: &mut Vec<What>) {
        if matches!(ending, Ending::Text { .. }) {
            self.last_word = None;
        }
        self.flush(finished);
        let good = ending.is_good();
        let sentence = text::glance(&ending.sentence(), MAX_GLANCE_CHARS);
        let glance = text::glance(ending.text().unwrap_or_default(), MAX_GLANCE_CHARS);
        let ended = Activity::Ended {
            good,
            sentence: sentence.clone(),
            glance: text::glance(&glance, MAX_KEPT_CHARS),
        };
        self.enter(ended, at);
        self.on.clear();
        self.tail = String::new();
        self.calls = Vec::new();
        let used = self.lineage.used;
        let mut facts: Vec<String> = state.map(|state| format!("state {state}")).into_iter().collect();
        facts.push(amounts::count(used.turns, "turn", "turns"));
        facts.push(format!("{} tokens", amounts::tokens(used.tokens)));
        facts.extend(used.cost.map(|cost| format!("cost {}", amounts::cost(cost))));
        facts.extend(self.took(at).map(amounts::elapsed));
        finished.push(What::Ended { good, sentence, facts: facts.join(" · "), glance });
    }

    /// Lets go of what was held back: it turned out to be a step on the way.
    fn flush(&mut self, finished: &mut Vec<What>) {
        finished.extend(self.last_word.take().map(|text| What::Said { text }));
        for call in self.calls.drain(..) {
            if let Some((status, done)) = call.done {
                finished.push(What::Answered {
                    name: call.name,
                    arguments: call.arguments,
                    status,
                    done: Some(done),
                    glance: String::new(),
                });
            }
        }
    }

    fn message(&mut self, message: &Message, at: Duration, finished: &mut Vec<What>) {
        finished.extend(self.lineage.taken_over().map(What::Passage));
        match message.origin {
            Origin::Reply => self.reply(message, at, finished),
            Origin::Results => self.results(message, at, finished),
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

    fn reply(&mut self, message: &Message, at: Duration, finished: &mut Vec<What>) {
        self.flush(finished);
        self.tail.clear();
        let said = message.text();
        let calls: Vec<&Call> = message.calls().collect();
        if calls.is_empty() {
            self.last_word = Some(said).filter(|said| !said.trim().is_empty());
            return;
        }
        self.enter(Activity::Calling, at);
        if !said.trim().is_empty() {
            finished.push(What::Said { text: said });
        }
    }

    fn results(&mut self, message: &Message, at: Duration, finished: &mut Vec<What>) {
        for result in message.call_results() {
            let pending = self.calls.iter().find(|pending| pending.id == result.call);
            finished.push(What::Answered {
                name: result.name.clone(),
                arguments: pending.map(|pending| pending.arguments.clone()).unwrap_or_default(),
                status: result.status,
                done: pending.and_then(|pending| pending.done).map(|(_, done)| done),
                glance: text::glance(&result.content, MAX_GLANCE_CHARS),
            });
        }
        self.calls.clear();
        self.go_on(at);
    }

    /// Something is done, which says nothing of the slot the agent may be waiting for.
    fn go_on(&mut self, at: Duration) {
        if self.standing() == Standing::Running {
            self.enter(Activity::Thinking, at);
        }
    }
}
