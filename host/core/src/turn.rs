//! What a turn's declarations come to, once every result is recorded.

use crate::{
    call::Call,
    ending::Ending,
    id::{AgentId, ProfileId},
};
use serde::{Deserialize, Serialize};

/// A call that was only noted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "declares", rename_all = "snake_case")]
pub enum Declaration {
    /// Compact the window.
    Compact,
    /// A module's own deferred call, such as `archive_thread`.
    Module {
        /// The module's kind.
        kind: String,
        /// The call to apply.
        call: Call,
    },
    /// Let a copy of the agent work beside it.
    Fork {
        /// The copy's id.
        id: AgentId,
        /// What the copy is to do.
        prompt: String,
    },
    /// Become another agent.
    Exec {
        /// The profile to become.
        agent: ProfileId,
        /// What to tell it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
    },
    /// Move to another state of the machine.
    Transition {
        /// The state.
        to: String,
        /// What to tell the agent of that state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// End with this.
    End {
        /// How.
        ending: Ending,
    },
}

impl Declaration {
    /// Whether the agent is to be another after this turn. A turn makes one such declaration.
    pub fn is_succession(&self) -> bool {
        matches!(self, Self::Exec { .. } | Self::Transition { .. })
    }
}

/// A copy that a turn asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Fork {
    /// The copy's id.
    pub id: AgentId,
    /// What it is to do.
    pub prompt: String,
}

/// What an agent is to be after a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Succession {
    /// An agent of this profile.
    Exec {
        /// The profile.
        agent: ProfileId,
        /// What to tell it.
        prompt: Option<String>,
    },
    /// The agent of another state of the machine.
    Transition {
        /// The state.
        to: String,
        /// What to tell it.
        note: Option<String>,
    },
}

/// What to do at the turn's end, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settlement {
    /// The modules' deferred calls, with their kinds, in the order they were made. These come first, so that
    /// what they free is not summarised for nothing.
    pub module_calls: Vec<(String, Call)>,
    /// Whether to compact.
    pub compact: bool,
    /// The copies to make: all of them, whatever follows.
    pub forks: Vec<Fork>,
    /// The first ending that was declared.
    pub ending: Option<Ending>,
    /// The first succession that was declared. An ending goes before it.
    pub succession: Option<Succession>,
    /// Whether an ending went before one.
    pub gave_up_succession: bool,
}

/// Orders a turn's declarations, whatever order they were made in: rewrites of the window first, then the copies, then
/// the first ending, or else the first succession.
pub fn settle(declarations: Vec<Declaration>) -> Settlement {
    let mut settlement = Settlement::default();
    for declaration in declarations {
        match declaration {
            Declaration::Compact => settlement.compact = true,
            Declaration::Module { kind, call } => settlement.module_calls.push((kind, call)),
            Declaration::Fork { id, prompt } => settlement.forks.push(Fork { id, prompt }),
            Declaration::End { ending } => {
                settlement.ending.get_or_insert(ending);
            }
            Declaration::Exec { agent, prompt } => {
                settlement.succession.get_or_insert(Succession::Exec { agent, prompt });
            }
            Declaration::Transition { to, note } => {
                settlement.succession.get_or_insert(Succession::Transition { to, note });
            }
        }
    }
    if settlement.ending.is_some() {
        settlement.gave_up_succession = settlement.succession.take().is_some();
    }
    settlement
}

/// Splits a turn's calls into steps that run one after another: neighbouring read-only calls share a step
/// and run side by side, any other call is a step of its own. The answer holds positions.
pub fn steps(read_only: &[bool]) -> Vec<std::ops::Range<usize>> {
    let mut steps: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, quiet) in read_only.iter().enumerate() {
        match steps.last_mut() {
            Some(step) if *quiet && read_only[step.start] => step.end = at + 1,
            _ => steps.push(at..at + 1),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Arguments;

    fn end(text: &str) -> Ending {
        Ending::Text { text: text.into() }
    }

    #[test]
    fn rewrites_come_before_an_ending_and_the_first_ending_stands() {
        let call = Call { id: "c".into(), name: "archive_thread".into(), arguments: Arguments::parse("") };
        let settled = settle(vec![
            Declaration::End { ending: end("first") },
            Declaration::End { ending: end("second") },
            Declaration::Compact,
            Declaration::Module { kind: "history".into(), call: call.clone() },
        ]);
        assert_eq!(
            settled,
            Settlement {
                module_calls: vec![("history".into(), call)],
                compact: true,
                ending: Some(end("first")),
                ..Settlement::default()
            }
        );
    }

    #[test]
    fn every_fork_runs_and_an_ending_goes_before_the_first_succession() {
        let fork = |n| Declaration::Fork { id: AgentId::nth(n), prompt: "look".into() };
        let exec = |to: &str| Declaration::Exec { agent: to.into(), prompt: None };
        let step = Declaration::Transition { to: "build".into(), note: Some("go".into()) };
        let forks = vec![
            Fork { id: AgentId::nth(2), prompt: "look".into() },
            Fork { id: AgentId::nth(3), prompt: "look".into() },
        ];
        let settled = settle(vec![fork(2), step.clone(), exec("other"), fork(3)]);
        let succession = Succession::Transition { to: "build".into(), note: Some("go".into()) };
        assert_eq!(
            settled,
            Settlement { forks: forks.clone(), succession: Some(succession), ..Settlement::default() }
        );
        let ended = Declaration::End { ending: end("done") };
        let settled = settle(vec![exec("other"), fork(2), ended, fork(3)]);
        let ending = Some(end("done"));
        assert_eq!(settled, Settlement { forks, ending, gave_up_succession: true, ..Settlement::default() });
    }

    #[test]
    fn read_only_neighbours_share_a_step() {
        assert_eq!(steps(&[true, true, false, true, false, false]), vec![0..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(steps(&[]), vec![]);
    }
}
