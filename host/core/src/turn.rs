//! What a turn's declarations come to, once every result is recorded.

use crate::{call::Call, ending::Ending};
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
    /// End with this.
    End {
        /// How.
        ending: Ending,
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
    /// The first ending that was declared.
    pub ending: Option<Ending>,
}

/// Orders a turn's declarations: rewrites of the window first, whatever order they were made in, then the
/// first ending.
pub fn settle(declarations: Vec<Declaration>) -> Settlement {
    let mut settlement = Settlement::default();
    for declaration in declarations {
        match declaration {
            Declaration::Compact => settlement.compact = true,
            Declaration::Module { kind, call } => settlement.module_calls.push((kind, call)),
            Declaration::End { ending } => {
                settlement.ending.get_or_insert(ending);
            }
        }
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

    #[test]
    fn rewrites_come_before_an_ending_and_the_first_ending_stands() {
        let end = |text: &str| Ending::Text { text: text.into() };
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
            }
        );
    }

    #[test]
    fn read_only_neighbours_share_a_step() {
        assert_eq!(steps(&[true, true, false, true, false, false]), vec![0..2, 2..3, 3..4, 4..5, 5..6]);
        assert_eq!(steps(&[]), vec![]);
    }
}
