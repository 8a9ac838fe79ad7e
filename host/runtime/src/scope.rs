//! Who holds the same memories: what the params of the capability `memories` say to gg itself.

use gg_core::succession::Holding;
use gg_modules::Access;
use serde_json::{Map, Value};

/// The one kind that several agents may hold together.
pub(crate) const MEMORIES: &str = "memories";

/// Whose module an agent gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Its own.
    Isolated,
    /// That of its profile, which lives to the run's end, or with the project.
    Shared { persist: bool },
    /// That of the agent that spawned it.
    Inherited(Access),
}

impl Scope {
    /// The scope of a capability. A component that somebody else wrote need not know of scopes; its holders then
    /// have one each.
    pub(crate) fn of(kind: &str, params: &Map<String, Value>) -> Self {
        if kind != MEMORIES {
            return Self::Isolated;
        }
        match params.get("scope").and_then(Value::as_str) {
            Some("shared") => {
                Self::Shared { persist: params.get("persist").and_then(Value::as_bool).unwrap_or_default() }
            }
            Some("inherited") => Self::Inherited(Access::ReadWrite),
            Some("read-only") => Self::Inherited(Access::ReadOnly),
            _ => Self::Isolated,
        }
    }

    /// Whether what is held outlives the run.
    pub(crate) fn persists(self) -> bool {
        matches!(self, Self::Shared { persist: true })
    }

    /// How it is held: whether a copy of its holder holds the very same one.
    pub(crate) fn holding(self) -> Holding {
        match self {
            Self::Isolated => Holding::Alone,
            Self::Shared { .. } | Self::Inherited(_) => Holding::Linked,
        }
    }

    /// What a holder of this scope may do.
    pub(crate) fn access(self) -> Access {
        match self {
            Self::Inherited(access) => access,
            Self::Isolated | Self::Shared { .. } => Access::ReadWrite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_memories_have_scopes_and_isolated_is_the_default() {
        let of = |kind: &str, params: Value| Scope::of(kind, params.as_object().unwrap());
        let shared = json!({ "scope": "shared", "persist": true });
        assert_eq!(of("memories", shared.clone()), Scope::Shared { persist: true });
        assert_eq!(of("tasks", shared), Scope::Isolated);
        assert_eq!(of("memories", json!({ "scope": "shared" })), Scope::Shared { persist: false });
        assert_eq!(of("memories", json!({ "scope": "inherited" })), Scope::Inherited(Access::ReadWrite));
        assert_eq!(of("memories", json!({ "scope": "read-only" })), Scope::Inherited(Access::ReadOnly));
        for params in [json!({}), json!({ "scope": "isolated" }), json!({ "scope": 3 })] {
            assert_eq!(of("memories", params), Scope::Isolated);
        }
    }
}
