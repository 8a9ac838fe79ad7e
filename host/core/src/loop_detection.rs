//! Sees an agent that asks for the same again and again.

use crate::call::Call;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What to do after a turn's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Go,
    /// Tell the agent that it repeats itself.
    Nudge {
        /// How often in a row.
        repeats: u32,
    },
    /// End it.
    End {
        /// How often in a row.
        repeats: u32,
    },
}

/// Counts how often in a row a turn made the same calls with the same arguments. At the `limit`th time the
/// agent is nudged; if its next turn repeats them still, it is ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopDetector {
    /// The digest of the last turn's calls: they may be large, and this is recorded with every step.
    last: Option<String>,
    repeats: u32,
}

impl LoopDetector {
    /// Counts a turn's calls in, and says what to do. `limit` is at least 2. Ids do not matter, order does.
    pub fn turn(&mut self, calls: &[Call], limit: u32) -> Verdict {
        let calls = digest(calls);
        if calls.is_none() || calls != self.last {
            self.last = calls;
            self.repeats = 1;
            return Verdict::Go;
        }
        self.repeats += 1;
        let repeats = self.repeats;
        if repeats == limit {
            Verdict::Nudge { repeats }
        } else if repeats > limit {
            Verdict::End { repeats }
        } else {
            Verdict::Go
        }
    }
}

/// What the calls ask for, without their ids; nothing for no calls.
fn digest(calls: &[Call]) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    let mut digest = Sha256::new();
    for call in calls {
        let arguments = call.arguments.to_wire().to_string();
        for part in [&call.name, &arguments] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    }
    Some(crate::digest::hex(&digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Arguments;

    fn call(id: &str, arguments: &str) -> Call {
        Call { id: id.into(), name: "read".into(), arguments: Arguments::parse(arguments) }
    }

    #[test]
    fn nudges_at_the_limit_and_ends_after_it() {
        let mut detector = LoopDetector::default();
        assert_eq!(detector.turn(&[call("1", "{}")], 3), Verdict::Go);
        assert_eq!(detector.turn(&[call("2", "{}")], 3), Verdict::Go);
        assert_eq!(detector.turn(&[call("3", "")], 3), Verdict::Nudge { repeats: 3 });
        assert_eq!(detector.turn(&[call("4", "{}")], 3), Verdict::End { repeats: 4 });
    }

    #[test]
    fn other_calls_or_none_start_over() {
        let mut detector = LoopDetector::default();
        detector.turn(&[call("1", "{}")], 2);
        assert_eq!(detector.turn(&[call("2", r#"{"a":1}"#)], 2), Verdict::Go);
        assert_eq!(detector.turn(&[], 2), Verdict::Go);
        assert_eq!(detector.turn(&[], 2), Verdict::Go);
        assert_eq!(detector.turn(&[call("3", r#"{"a":1}"#)], 2), Verdict::Go);
    }
}
