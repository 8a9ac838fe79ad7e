//! A module's calls: what the model is told of each, and what each does.

use crate::{Access, Cx, Module, Phase, Value, worlds};
use serde::{Serialize, de::DeserializeOwned};

/// Why a call did nothing. The state stays what it was.
#[derive(Clone, Debug, PartialEq)]
pub enum CallError {
    /// The model reads this and can mend its request: say what would be right, and what exists.
    Refused(String),
    /// The module itself failed.
    Failed(String),
}

impl CallError {
    /// What the model reads.
    pub fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }

    /// What the module itself failed at.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::Failed(why.into())
    }
}

impl From<CallError> for worlds::CallError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(why) => Self::Refused(why),
            CallError::Failed(why) => Self::Failed(why),
        }
    }
}

/// The answer to a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What the model reads. A string reads best as prose, anything else as data.
    pub value: Value,
    /// What other holders of the same module are told at their next turn.
    pub notices: Vec<String>,
}

impl Reply {
    /// Prose.
    pub fn text(text: impl Into<String>) -> Self {
        Self { value: Value::String(text.into()), notices: Vec::new() }
    }

    /// Data. A value that JSON cannot say becomes `null`.
    pub fn json(value: &impl Serialize) -> Self {
        Self { value: serde_json::to_value(value).unwrap_or(Value::Null), notices: Vec::new() }
    }

    /// Tells other holders as well.
    #[must_use]
    pub fn notify(mut self, notice: impl Into<String>) -> Self {
        self.notices.push(notice.into());
        self
    }
}

/// How a call touches the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing; may run beside others.
    ReadOnly,
    /// Changes this module.
    Acting,
    /// Noted during the turn, applied at its end.
    Deferred,
}

impl Effect {
    /// The contract's word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Acting => "acting",
            Self::Deferred => "deferred",
        }
    }
}

/// What a call gives back.
type Outcome = Result<Reply, CallError>;
/// Answers without changing.
type Look<M> = Box<dyn Fn(&M, &Cx<'_, <M as Module>::Params>, &str) -> Outcome>;
/// Answers and changes.
type Act<M> = Box<dyn Fn(&mut M, &Cx<'_, <M as Module>::Params>, &str) -> Outcome>;

enum Run<M: Module> {
    ReadOnly(Look<M>),
    Acting(Act<M>),
    Deferred { check: Look<M>, apply: Act<M> },
}

/// One call: its name, what the model is told, and what it does.
pub struct Call<M: Module> {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: fn() -> Value,
    pub(crate) feature: Option<&'static str>,
    run: Run<M>,
}

impl<M: Module> Call<M> {
    fn new(name: &'static str, description: &'static str, parameters: fn() -> Value, run: Run<M>) -> Self {
        Self { name, description, parameters, feature: None, run }
    }

    /// A call that changes nothing.
    pub fn read_only<A: DeserializeOwned + 'static>(
        name: &'static str,
        description: &'static str,
        parameters: fn() -> Value,
        look: impl Fn(&M, &Cx<'_, M::Params>, A) -> Outcome + 'static,
    ) -> Self {
        Self::new(name, description, parameters, Run::ReadOnly(looking(look)))
    }

    /// A call that changes the state.
    pub fn acting<A: DeserializeOwned + 'static>(
        name: &'static str,
        description: &'static str,
        parameters: fn() -> Value,
        act: impl Fn(&mut M, &Cx<'_, M::Params>, A) -> Outcome + 'static,
    ) -> Self {
        Self::new(name, description, parameters, Run::Acting(acting(act)))
    }

    /// A call that is checked when the model makes it, and applied at the turn's end.
    pub fn deferred<A: DeserializeOwned + 'static>(
        name: &'static str,
        description: &'static str,
        parameters: fn() -> Value,
        check: impl Fn(&M, &Cx<'_, M::Params>, A) -> Outcome + 'static,
        apply: impl Fn(&mut M, &Cx<'_, M::Params>, A) -> Outcome + 'static,
    ) -> Self {
        let run = Run::Deferred { check: looking(check), apply: acting(apply) };
        Self::new(name, description, parameters, run)
    }

    /// Offers it only with this feature; when the feature is off, it refuses.
    #[must_use]
    pub fn only_with(mut self, feature: &'static str) -> Self {
        self.feature = Some(feature);
        self
    }

    /// When it runs.
    pub fn effect(&self) -> Effect {
        match self.run {
            Run::ReadOnly(_) => Effect::ReadOnly,
            Run::Acting(_) => Effect::Acting,
            Run::Deferred { .. } => Effect::Deferred,
        }
    }

    /// Runs it. After an error `state` is what it was.
    pub(crate) fn run(&self, state: &mut M, cx: &Cx<'_, M::Params>, arguments: &str) -> Outcome {
        if let Some(feature) = self.feature.filter(|feature| !cx.settings.has(feature)) {
            return Err(CallError::refused(format!(
                "`{}` is not available: the feature `{feature}` is off.",
                self.name
            )));
        }
        let act = match (&self.run, cx.phase) {
            (Run::ReadOnly(look), _) => return look(state, cx, arguments),
            (_, _) if cx.access == Access::ReadOnly => {
                return Err(CallError::refused(format!(
                    "You may only read this: `{}` would change it. Its owner can make the change.",
                    self.name
                )));
            }
            (Run::Acting(act), _) | (Run::Deferred { apply: act, .. }, Phase::Apply) => act,
            (Run::Deferred { check, .. }, Phase::Declare) => return check(state, cx, arguments),
            (Run::Deferred { .. }, Phase::Now) => {
                return Err(CallError::failed(format!(
                    "`{}` is deferred: it is declared, then applied, never run at once",
                    self.name
                )));
            }
        };
        let before = state.clone();
        act(state, cx, arguments).inspect_err(|_| *state = before)
    }
}

/// The arguments as the call's own type, or what is wrong with them.
fn arguments<A: DeserializeOwned>(json: &str) -> Result<A, CallError> {
    crate::context::object(json)
        .map_err(|error| CallError::refused(format!("These arguments do not fit the call: {error}.")))
}

fn looking<M: Module, A: DeserializeOwned>(
    look: impl Fn(&M, &Cx<'_, M::Params>, A) -> Outcome + 'static,
) -> Look<M> {
    Box::new(move |state, cx, json| look(state, cx, arguments(json)?))
}

fn acting<M: Module, A: DeserializeOwned>(
    act: impl Fn(&mut M, &Cx<'_, M::Params>, A) -> Outcome + 'static,
) -> Act<M> {
    Box::new(move |state, cx, json| act(state, cx, arguments(json)?))
}
