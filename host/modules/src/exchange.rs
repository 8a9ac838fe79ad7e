//! One question to an instance and its answer, the same for calls that run here and calls that may pause.

use crate::{
    bindings::types,
    error::{ERROR_BYTES, Hook, ModuleErrorKind},
};
use gg_core::text;
use std::sync::Arc;

/// What an instance can be asked: the contract's exports, with everything they need.
pub(crate) enum Ask {
    Describe,
    Open(String),
    Clone,
    Restore(Arc<[u8]>),
    Transfer(String),
    Reset,
    Call { context: types::Context, name: String, arguments: String },
    Prompt(types::Context),
    Opening(types::Context),
    Append(types::Context, Vec<types::Entry>),
    Entries(types::Context, u64),
    Fold { context: types::Context, budget: u64, keep_turns: u32 },
    Folded(types::Context, Vec<types::Summary>),
}

/// What it answers.
pub(crate) enum Answer {
    Descriptor(types::Descriptor),
    Done,
    State(Vec<u8>),
    Reply(types::Reply),
    Sections(Vec<types::Section>),
    Notes(Vec<types::Note>),
    Changes(types::Changes),
    Segments(Vec<types::Segment>),
}

/// What it says where it does not do what it was asked. The instance itself is sound.
pub(crate) enum Declined {
    /// A hook's error.
    Hook(types::Error),
    /// A call's refusal or failure.
    Call(types::CallError),
    /// It has no window: the host asked the wrong module.
    NoWindow,
}

impl Ask {
    /// The export it goes to.
    pub(crate) fn hook(&self) -> Hook {
        match self {
            Self::Describe => Hook::Describe,
            Self::Open(_) => Hook::Open,
            Self::Clone => Hook::Clone,
            Self::Restore(_) => Hook::Restore,
            Self::Transfer(_) => Hook::Transfer,
            Self::Reset => Hook::Reset,
            Self::Call { .. } => Hook::Call,
            Self::Prompt(_) => Hook::Prompt,
            Self::Opening(_) => Hook::Opening,
            Self::Append(..) => Hook::Append,
            Self::Entries(..) => Hook::Entries,
            Self::Fold { .. } => Hook::Fold,
            Self::Folded(..) => Hook::Folded,
        }
    }
}

impl From<Declined> for ModuleErrorKind {
    fn from(no: Declined) -> Self {
        match no {
            Declined::Hook(error) => error.into(),
            Declined::Call(
                types::CallError::Refused(said)
                | types::CallError::Failed(said)
                | types::CallError::Other(said),
            ) => Self::Other(text::cut_saying_so(said, ERROR_BYTES)),
            Declined::NoWindow => Self::Request("it has no window".into()),
        }
    }
}

/// Makes the call that `$ask` stands for. `$await` is `await` for bindings whose calls may pause, and nothing
/// for the others; that is the only difference between the two.
macro_rules! put {
    ($base:expr, $window:expr, $store:expr, $ask:expr $(, $await:ident)?) => {{
        let (base, window, store, ask) = ($base, $window, $store, $ask);
        let lifecycle = base.gg_module_lifecycle();
        let view = base.gg_module_view();
        let hook = |done: Result<(), crate::bindings::types::Error>| done.map(|()| Answer::Done).map_err(Declined::Hook);
        let answer: Result<Answer, Declined> = match (ask, window) {
            (Ask::Describe, _) => Ok(Answer::Descriptor(lifecycle.call_describe(store)$(.$await)??)),
            (Ask::Open(settings), _) => hook(lifecycle.call_open(store, settings)$(.$await)??),
            (Ask::Clone, _) => lifecycle.call_clone(store)$(.$await)??.map(Answer::State).map_err(Declined::Hook),
            (Ask::Restore(state), _) => hook(lifecycle.call_restore(store, state)$(.$await)??),
            (Ask::Transfer(settings), _) => hook(lifecycle.call_transfer(store, settings)$(.$await)??),
            (Ask::Reset, _) => hook(lifecycle.call_reset(store)$(.$await)??),
            (Ask::Call { context, name, arguments }, _) => base
                .gg_module_calls()
                .call_call(store, context, name, arguments)
                $(.$await)??
                .map(Answer::Reply)
                .map_err(Declined::Call),
            (Ask::Prompt(context), _) => Ok(Answer::Sections(view.call_prompt(store, context)$(.$await)??)),
            (Ask::Opening(context), _) => Ok(Answer::Notes(view.call_opening(store, context)$(.$await)??)),
            (Ask::Append(context, entries), Some(window)) => {
                hook(window.call_append(store, context, entries)$(.$await)??)
            }
            (Ask::Entries(context, since), Some(window)) => {
                Ok(Answer::Changes(window.call_entries(store, context, *since)$(.$await)??))
            }
            (Ask::Fold { context, budget, keep_turns }, Some(window)) => {
                let segments = window.call_fold(store, context, *budget, *keep_turns)$(.$await)??;
                Ok(Answer::Segments(segments))
            }
            (Ask::Folded(context, summaries), Some(window)) => {
                hook(window.call_folded(store, context, summaries)$(.$await)??)
            }
            (Ask::Append(..) | Ask::Entries(..) | Ask::Fold { .. } | Ask::Folded(..), None) => {
                Err(Declined::NoWindow)
            }
        };
        answer
    }};
}
pub(crate) use put;
