//! The record of a run: typed events, one stream per agent, numbered across the run.

use crate::{
    call::{Arguments, CallStatus, Effect},
    ending::Ending,
    hook::{HookOutcome, HookPoint},
    id::{AgentId, CallId, MessageId, ProfileId, RunId, Seq, Turn},
    message::Message,
    succession::{Fate, SuccessionKind},
    usage::{Cost, Usage},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an agent is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// Waits for a slot. It holds no instance of any module.
    Queued,
    /// Holds a slot.
    Running,
    /// Waits for other agents, without a slot and without an instance of any module.
    Blocked,
}

/// What a request to a model was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The agent's own turn.
    Turn,
    /// A summary for a compaction.
    Summary,
}

/// Why a window was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// It passed the threshold.
    Threshold,
    /// The model asked for it.
    Asked,
    /// The server said that the request was too long.
    TooLong,
}

/// What one profile's agents used in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileRollup {
    /// The profile.
    pub profile: ProfileId,
    /// The model it ran on.
    pub model: String,
    /// How many agents ran under it.
    pub agents: u64,
    /// Their turns.
    pub turns: u64,
    /// Their requests, summaries included.
    pub requests: u64,
    /// Their tokens.
    pub usage: Usage,
    /// What that cost; absent where the configuration names no prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// What one agent has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Its turns.
    pub turns: u32,
    /// Its tokens.
    pub usage: Usage,
    /// What they cost; absent where the configuration names no prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// Something that happened, as it is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The first event of a run.
    RunStarted {
        /// The run.
        run: RunId,
        /// The profile of its root agent.
        root: ProfileId,
        /// The version of gg that ran it.
        gg: String,
        /// The digest of the effective configuration.
        config_sha256: String,
        /// The workspace's root.
        workspace: String,
        /// What the run was asked for.
        prompt: String,
    },
    /// An agent came to be.
    AgentSpawned {
        /// Its profile.
        profile: ProfileId,
        /// Its model.
        model: String,
        /// Who put it to work, or whom it goes on from; absent for a root.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<AgentId>,
        /// How deep it stands in the delegation tree; a root stands at 0.
        depth: u32,
    },
    /// An agent's state changed.
    AgentState {
        /// To what.
        state: AgentState,
        /// The agents that a blocked one waits for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        on: Vec<AgentId>,
    },
    /// A turn began.
    TurnStarted {
        /// Which.
        turn: Turn,
    },
    /// A message entered the agent's window. A stream states each message it refers to, once.
    Message {
        /// The turn it belongs to.
        turn: Turn,
        /// The message, whole.
        message: Arc<Message>,
    },
    /// A request went to a model.
    Request {
        /// The turn it belongs to.
        turn: Turn,
        /// What for.
        purpose: Purpose,
        /// The model.
        model: String,
        /// The digest of the system prompt it carried.
        system_sha256: String,
        /// The messages it carried, in order.
        messages: Vec<MessageId>,
        /// The names of the calls offered.
        calls: Vec<String>,
        /// How many times it was sent: more than 1 after retries.
        attempts: u32,
    },
    /// What a request used.
    Usage {
        /// The turn it belongs to.
        turn: Turn,
        /// What for.
        purpose: Purpose,
        /// The tokens; estimates where `estimated` is true.
        usage: Usage,
        /// The server did not report usage, so these are gg's own estimates.
        estimated: bool,
        /// What that cost; absent where the configuration names no prices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// A call is about to run.
    Call {
        /// The turn it belongs to.
        turn: Turn,
        /// The call.
        call: CallId,
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: Arguments,
        /// How it touches the world; absent for a call that was not offered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<Effect>,
    },
    /// A call has its result. The text stands in the message that carries it.
    CallResult {
        /// The turn it belongs to.
        turn: Turn,
        /// The call.
        call: CallId,
        /// Its name.
        name: String,
        /// How it came out.
        status: CallStatus,
        /// How long it took.
        elapsed_ms: u64,
        /// The result's size.
        bytes: u64,
    },
    /// A hook was asked. What it said stands in the call's result, or in a notice.
    Hook {
        /// The turn it belongs to.
        turn: Turn,
        /// When it was asked.
        on: HookPoint,
        /// The call that it was asked about; absent for an ending.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// That call's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its program, as the configuration names it.
        command: String,
        /// How it came out.
        outcome: HookOutcome,
        /// How long it took.
        elapsed_ms: u64,
    },
    /// The window was compacted.
    Compaction {
        /// The turn it belongs to.
        turn: Turn,
        /// Why.
        reason: CompactionReason,
        /// The window's estimate before.
        before_tokens: u64,
        /// The window's estimate after.
        after_tokens: u64,
        /// How many messages were folded.
        folded: u64,
        /// The summaries that stand for them.
        summaries: Vec<MessageId>,
    },
    /// The window was to be compacted, and that came to nothing: it is as it was. What was answered on the way is
    /// in the requests before it.
    CompactionFailed {
        /// The turn it belongs to.
        turn: Turn,
        /// Why it was to be.
        reason: CompactionReason,
        /// Why it was not.
        error: String,
    },
    /// A module broke a rule or a limit, and was rebuilt from its last state.
    ModuleFailed {
        /// The turn it belongs to.
        turn: Turn,
        /// The module's kind.
        module: String,
        /// The hook or call it was in.
        hook: String,
        /// The limit's name or the rule that was broken, and what happened.
        error: String,
    },
    /// The agent was told that it repeats itself.
    LoopNudge {
        /// The turn it belongs to.
        turn: Turn,
        /// How often in a row.
        repeats: u32,
    },
    /// An agent became another, or a copy of it was made. The next event is the other's `agent_spawned`; of an agent
    /// that became another this is the last.
    AgentTransition {
        /// The turn at whose end it was.
        turn: Turn,
        /// How.
        kind: SuccessionKind,
        /// The agent that it became, or the copy.
        to: AgentId,
        /// That agent's profile.
        profile: ProfileId,
        /// What became of each module.
        modules: Vec<Fate>,
        /// What the agent had used when it became another; absent for a copy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Spent>,
    },
    /// An agent was to become another or to be copied, and that came to nothing: the agent is as it was.
    SuccessionFailed {
        /// The turn at whose end it was.
        turn: Turn,
        /// How.
        kind: SuccessionKind,
        /// The profile that it was to become, or is.
        profile: ProfileId,
        /// The id that was given to the copy; absent for an agent that was to become another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copy: Option<AgentId>,
        /// Why, as the agent reads it.
        error: String,
    },
    /// The agent stands in a state of a machine.
    FsmState {
        /// The machine.
        machine: ProfileId,
        /// The state.
        state: String,
        /// The profile that the state runs.
        profile: ProfileId,
        /// The state that it came from; absent if it came from outside the machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
    },
    /// An agent ended.
    AgentEnded {
        /// How.
        ending: Ending,
        /// The state of its machine in which it ended; absent for one that stood in none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<String>,
        /// Its turns.
        turns: u32,
        /// Its tokens.
        usage: Usage,
        /// What they cost; absent where the configuration names no prices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
        /// The last text that its model wrote, where the ending has none of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
        /// Messages that were delivered to it and that it did not come to read.
        #[serde(default, skip_serializing_if = "is_zero")]
        unread: u32,
    },
    /// The last event of a run.
    RunEnded {
        /// How the root ended.
        ending: Ending,
        /// How long the run took.
        elapsed_ms: u64,
        /// What each profile used.
        profiles: Vec<ProfileRollup>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Event {
    /// The name under which it is recorded: the `type` of its JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RunStarted { .. } => "run_started",
            Self::AgentSpawned { .. } => "agent_spawned",
            Self::AgentState { .. } => "agent_state",
            Self::TurnStarted { .. } => "turn_started",
            Self::Message { .. } => "message",
            Self::Request { .. } => "request",
            Self::Usage { .. } => "usage",
            Self::Call { .. } => "call",
            Self::CallResult { .. } => "call_result",
            Self::Hook { .. } => "hook",
            Self::Compaction { .. } => "compaction",
            Self::CompactionFailed { .. } => "compaction_failed",
            Self::ModuleFailed { .. } => "module_failed",
            Self::LoopNudge { .. } => "loop_nudge",
            Self::AgentTransition { .. } => "agent_transition",
            Self::SuccessionFailed { .. } => "succession_failed",
            Self::FsmState { .. } => "fsm_state",
            Self::AgentEnded { .. } => "agent_ended",
            Self::RunEnded { .. } => "run_ended",
        }
    }
}

/// An event with its place in the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its number across the run.
    pub seq: Seq,
    /// When it was committed, in milliseconds since 1970.
    pub time_ms: u64,
    /// Whose stream it belongs to; absent for the run's own events.
    pub agent: Option<AgentId>,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What subscribers of a running run are shown. Only `Event` is recorded.
#[derive(Clone, Debug, PartialEq)]
pub enum Live {
    /// A committed event.
    Event(Arc<Recorded>),
    /// A piece of text that a model is writing.
    Text {
        /// Whose turn it is.
        agent: AgentId,
        /// The piece.
        text: String,
    },
    /// A request failed and will be sent again.
    Retrying {
        /// Whose turn it is.
        agent: AgentId,
        /// What went wrong.
        error: String,
        /// How long gg waits before it asks again.
        wait_ms: u64,
    },
    /// The window is about to be compacted. [`Event::Compaction`] says when it was, or
    /// [`Event::CompactionFailed`] that it was not.
    Compacting {
        /// Whose window it is.
        agent: AgentId,
        /// Why.
        reason: CompactionReason,
    },
    /// This subscriber was too slow, and this many items were not shown to it. They are in the record.
    Missed(u64),
}
