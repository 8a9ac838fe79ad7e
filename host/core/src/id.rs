//! Names for things. Each is a type of its own, so that one cannot stand where another belongs.

use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Names something by this text.
            pub fn new(text: impl AsRef<str>) -> Self {
                Self(Arc::from(text.as_ref()))
            }

            /// The text of the name.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id! {
    /// One run of a configuration, unique among the runs of a runs folder.
    RunId
}
text_id! {
    /// One incarnation of an agent, unique within its run: `a1` is the root.
    AgentId
}
text_id! {
    /// One entry of the configuration's `agents`.
    ProfileId
}
text_id! {
    /// One call a model made, unique within the window that holds it. It is the provider's own id where
    /// that is usable, else one that gg made.
    CallId
}
number_id! {
    /// One message of a run's store.
    MessageId(u64)
}
number_id! {
    /// One module of a run: a state that an agent holds, or several. It keeps its id whoever holds it.
    ModuleId(u64)
}
number_id! {
    /// The place of an event in its run: 1 is the first, and no number is missing.
    Seq(u64)
}
number_id! {
    /// A turn of an agent: the first is 1; 0 is before it.
    Turn(u32)
}

impl AgentId {
    /// The `n`th agent of a run, counted from 1.
    pub fn nth(n: u64) -> Self {
        Self::new(format!("a{n}"))
    }
}
