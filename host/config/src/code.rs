//! The published codes of the launch check: one for each rule.

use serde::{Serialize, Serializer};
use std::fmt;

macro_rules! codes {
    ($(#[doc = $doc:literal] $name:ident = $text:literal,)*) => {
        /// The rule that a refusal is about. The texts are stable: scripts and editors rely on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $doc] $name,)*
        }

        impl Code {
            /// Every code, in the order in which documents list them.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The code as it is published, in kebab-case.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Code::$name => $text,)*
                }
            }

            /// What the rule refuses, in one sentence.
            pub fn description(self) -> &'static str {
                match self {
                    $(Code::$name => $doc.trim_ascii(),)*
                }
            }
        }
    };
}

codes! {
    /// The text is not JSON, even with comments and trailing commas allowed.
    Syntax = "syntax",
    /// The file, its nesting or one of its keys is larger than any real configuration.
    TooLarge = "too-large",
    /// An object has the same key twice.
    DuplicateKey = "duplicate-key",
    /// A key that gg does not know.
    UnknownKey = "unknown-key",
    /// A value of another JSON type than the key takes.
    WrongType = "wrong-type",
    /// A word that is none of those the key takes.
    UnknownValue = "unknown-value",
    /// A required key is absent.
    MissingValue = "missing-value",
    /// A required text or list has nothing in it.
    EmptyValue = "empty-value",
    /// A number below or above what the key takes, or a list or text too long for it.
    OutOfRange = "out-of-range",
    /// An id or name with characters that ids do not have.
    BadId = "bad-id",
    /// A base URL that is not an absolute http or https URL without query.
    BadUrl = "bad-url",
    /// A header whose name or value HTTP does not allow.
    BadHeader = "bad-header",
    /// Two agents have the same id.
    DuplicateAgent = "duplicate-agent",
    /// A roster or a machine's state names an agent that `agents` does not have.
    UnknownAgent = "unknown-agent",
    /// A roster lists one agent twice.
    DuplicateRosterEntry = "duplicate-roster-entry",
    /// Two agents give `subagents` a different `maxDepth`: it bounds the whole run, and only one is read.
    MaxDepthConflict = "max-depth-conflict",
    /// A model names a provider that `providers` does not have.
    UnknownProvider = "unknown-provider",
    /// A key that this provider's api does not take, or one that it needs and lacks.
    ProviderKey = "provider-key",
    /// A key, password or token is written into the file.
    SecretInFile = "secret-in-file",
    /// An environment variable that a provider needs is not set.
    MissingEnvironment = "missing-environment",
    /// A script or recording cannot be read, or is none; or the configuration itself cannot be read.
    FileUnreadable = "file-unreadable",
    /// A model parameter that gg itself decides about in every request.
    ReservedParameter = "reserved-parameter",
    /// A capability names a component that `components` does not have.
    UnknownComponent = "unknown-component",
    /// A component's file cannot be read.
    ComponentUnreadable = "component-unreadable",
    /// A component's `sha256` is malformed, or is not the digest of the file.
    ComponentDigest = "component-digest",
    /// A component does not fit the contract of modules.
    ComponentMisfit = "component-misfit",
    /// A component is of another kind than the capability that uses it, or the capability takes none.
    ComponentKind = "component-kind",
    /// A capability id that is neither built in nor the name of a component.
    UnknownCapability = "unknown-capability",
    /// An agent lists one capability twice.
    DuplicateCapability = "duplicate-capability",
    /// The capability `history` is turned off, without which no agent can run.
    HistoryOff = "history-off",
    /// A param that the capability does not take.
    UnknownParam = "unknown-param",
    /// A param that the capability needs is absent.
    MissingParam = "missing-param",
    /// A param with a value that the capability does not take.
    BadParam = "bad-param",
    /// A feature that the capability does not have.
    UnknownFeature = "unknown-feature",
    /// An allowlist names a call that nothing the agent enables offers.
    UnknownCall = "unknown-call",
    /// Two of an agent's capabilities offer a call of the same name.
    CallConflict = "call-conflict",
    /// A hook is about a call that the agent is not offered, or names calls for an ending: it would hold nothing.
    HookCall = "hook-call",
    /// A hook's program is not there or cannot be run.
    HookCommand = "hook-command",
    /// A machine has two states of the same name.
    DuplicateState = "duplicate-state",
    /// A transition leads to a state that its machine does not have.
    UnknownState = "unknown-state",
    /// A state has two transitions to the same state.
    DuplicateTransition = "duplicate-transition",
    /// A machine is named as the agent of a state.
    NestedMachine = "nested-machine",
    /// A transition carries something that is not a kind of module.
    UnknownModuleKind = "unknown-module-kind",
    /// A transition carries a module that the agent of its own state does not hold.
    TransferNotHeld = "transfer-not-held",
    /// No chain of transitions leads from a machine's first state to this one.
    UnreachableState = "unreachable-state",
    /// A machine says something that only an agent which takes turns could heed.
    MachineWorkerConfig = "machine-worker-config",
    /// The capability `exec` is enabled where the roster lists nobody to become.
    ExecWithoutRoster = "exec-without-roster",
    /// The capability `exec` is enabled in an agent that a machine runs as a state.
    ExecInState = "exec-in-state",
    /// The capability `fork` is enabled without `subagents`: nobody could wait for a copy or write to it.
    ForkWithoutSubagents = "fork-without-subagents",
    /// An allowlist grants `fork` and withholds `wait_for_subagents`: nobody could collect a copy.
    ForkUncollectable = "fork-uncollectable",
    /// A module would pass from one component to another that cannot read its state.
    StateFormatMismatch = "state-format-mismatch",
    /// Two limits that cannot both hold.
    ContradictoryLimits = "contradictory-limits",
    /// Something this version of gg knows of but cannot do.
    Unsupported = "unsupported",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_distinct_kebab_case_and_described() {
        let texts: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{code}");
            assert!(code.description().ends_with('.'), "{code}");
        }
    }
}
