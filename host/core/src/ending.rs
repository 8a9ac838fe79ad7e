//! How an agent ends. Every way is a result that whoever waits for the agent receives.

use crate::id::Turn;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an agent declares of its own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The work is done.
    Success,
    /// It could not be done.
    Failure,
}

/// Whose budget was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetScope {
    /// That of the whole run.
    Run,
    /// The agent's own.
    Agent,
}

/// What a budget counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BudgetLimit {
    /// Turns.
    Turns,
    /// Tokens, read and written.
    Tokens,
    /// Money, in the currency of the prices.
    Cost,
    /// Time by the clock, in milliseconds.
    WallTimeMs,
    /// Agents that were spawned.
    Agents,
}

impl BudgetLimit {
    /// Its key in a `budget` of the configuration.
    pub fn key(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::WallTimeMs => "wallTimeMs",
            Self::Agents => "agents",
        }
    }
}

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ending {
    /// A reply without calls.
    Text {
        /// The reply's text.
        text: String,
    },
    /// The `finish` call.
    Finished {
        /// What it declared.
        outcome: Outcome,
        /// Its final text.
        text: String,
        /// Facts for whoever reads the result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// It used up its turns.
    TurnLimit {
        /// The limit.
        limit: u32,
    },
    /// It, or the run as a whole, used up a budget.
    Budget {
        /// Whose budget.
        scope: BudgetScope,
        /// Its name in the configuration.
        limit: BudgetLimit,
        /// How much there was, in the unit of the limit.
        max: f64,
    },
    /// It made the same calls with the same arguments again after it was told so.
    Loop {
        /// How often in a row.
        repeats: u32,
        /// The call it repeated, for a person to read.
        call: String,
    },
    /// Somebody stopped it.
    Cancelled {
        /// Who or what.
        reason: String,
    },
    /// It could not go on.
    Failed {
        /// Why, and what to do.
        error: String,
        /// The turn it was in.
        turn: Turn,
    },
}

impl Ending {
    /// Whether a caller may count on the work: it ended by text, or declared success.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Finished { outcome: Outcome::Success, .. })
    }

    /// The final text, where there is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text } | Self::Finished { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Whether the agent itself ended its work: by a text or by `finish`.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Finished { .. })
    }

    /// One sentence on how it ended, for a person.
    pub fn sentence(&self) -> String {
        match self {
            Self::Text { .. } => "ended with a text".into(),
            Self::Finished { outcome: Outcome::Success, .. } => "finished: success".into(),
            Self::Finished { outcome: Outcome::Failure, .. } => "finished: failure".into(),
            Self::TurnLimit { limit: 1 } => "stopped at its limit of 1 turn (maxTurns)".into(),
            Self::TurnLimit { limit } => format!("stopped at its limit of {limit} turns (maxTurns)"),
            Self::Budget { scope, limit, max } => {
                let whose = match scope {
                    BudgetScope::Run => "the run",
                    BudgetScope::Agent => "this agent",
                };
                format!("stopped at the limit of {whose}: budget.{} of {max}", limit.key())
            }
            Self::Loop { repeats, call } => {
                format!("stopped in a loop: {call} asked for {repeats} times in a row (loopDetection)")
            }
            Self::Cancelled { reason } => format!("cancelled: {reason}"),
            Self::Failed { error, turn } => format!("failed in turn {turn}: {error}"),
        }
    }
}
