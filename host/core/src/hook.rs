//! Hooks: the operator's own programs, which are asked about what agents do.

use serde::{Deserialize, Serialize};
use std::fmt;

/// When a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// Before a call runs or is noted; it may refuse the call.
    BeforeCall,
    /// Once a call has its result; what it says is added to that.
    AfterCall,
    /// When an agent declares its ending; it may refuse that.
    BeforeEnd,
}

impl HookPoint {
    /// The name that configurations and records use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeCall => "before_call",
            Self::AfterCall => "after_call",
            Self::BeforeEnd => "before_end",
        }
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a hook came out. Before a call or an ending, everything but [`HookOutcome::Passed`] refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookOutcome {
    /// It ended with the code 0.
    Passed,
    /// It ended with another code, before a call or an ending.
    Refused,
    /// It could not be started or was ended by a signal; or, after a call, it ended with another code than 0.
    Failed,
    /// It had not ended in time, and was stopped.
    Late,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_one_name() {
        for point in [HookPoint::BeforeCall, HookPoint::AfterCall, HookPoint::BeforeEnd] {
            assert_eq!(serde_json::to_value(point).unwrap(), point.as_str());
        }
    }
}
