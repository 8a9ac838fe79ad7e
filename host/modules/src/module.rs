//! A module: a state, and at most one live instance over it.

use crate::{
    bindings::types,
    component::Component,
    context::{Context, Phase},
    error::{CallError, Hook, ModuleError, ModuleErrorKind},
    exchange::{Answer, Ask, Declined},
    live::{Live, Outcome, Then, unexpected},
    messages::Messages,
    window::Segment,
};
use gg_core::{
    call::{CallSpec, Effect},
    digest::sha256_hex,
    window::Changes,
};
use gg_sandbox::{Limit, Stay, Trust};
use serde_json::{Map, Value};
use std::{fmt, sync::Arc};

/// The most notices of one call.
const MAX_NOTICES: usize = 64;

/// The longest notice, in bytes: a sentence or two.
const NOTICE_BYTES: usize = 8 * 1024;

/// The most sections that one module has in the system prompt.
const MAX_SECTIONS: usize = 32;

/// The most that one module puts into the system prompt, in bytes. It is sent with every request.
const PROMPT_BYTES: usize = 256 * 1024;

/// The most notes that one module opens a window with.
const MAX_NOTES: usize = 64;

/// The most that those notes hold, in bytes.
const OPENING_BYTES: usize = 256 * 1024;

/// A part of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Its text.
    pub body: String,
}

/// A note that opens a new holder's window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its heading.
    pub title: String,
    /// Its text.
    pub body: String,
}

/// What a call answers.
#[derive(Clone, Debug, PartialEq)]
pub struct CallReply {
    /// What the model reads.
    pub value: Value,
    /// What other holders of the same module are told.
    pub notices: Vec<String>,
}

/// Everything an agent holds of one kind.
///
/// Its state is bytes; the instance is only a cache over them. Whatever goes wrong in the instance - a trap, a
/// limit, a dropped future - it is thrown away, and the next use starts another from the last state. So each
/// method either succeeds and the state is the new one, or fails and the state is the old one.
pub struct Module {
    component: Arc<Component>,
    messages: Option<Arc<dyn Messages>>,
    state: Arc<[u8]>,
    live: Option<Live>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module")
            .field("component", &self.component)
            .field("state_bytes", &self.state.len())
            .field("is_live", &self.live.is_some())
            .finish_non_exhaustive()
    }
}

impl Module {
    /// A module with a fresh and empty state. `settings` is `{"params": {…}, "features": {"name": true, …}}`,
    /// already checked against the descriptor. For a history see [`History::open`](crate::History::open).
    ///
    /// # Errors
    /// The component cannot honour the settings, was stopped, or broke the contract.
    pub async fn open(component: &Arc<Component>, settings: &Value) -> Result<Self, ModuleError> {
        Self::open_with(component, settings, None).await
    }

    pub(crate) async fn open_with(
        component: &Arc<Component>,
        settings: &Value,
        messages: Option<Arc<dyn Messages>>,
    ) -> Result<Self, ModuleError> {
        let mut module = Self { component: component.clone(), messages, state: Arc::from([]), live: None };
        module.change_from(Start::Empty, Ask::Open(settings.to_string())).await?;
        Ok(module)
    }

    /// A module with this state, which some module of the same state format wrote. For a history see
    /// [`History::restore`](crate::History::restore).
    ///
    /// # Errors
    /// The component does not know the state, was stopped, or broke the contract.
    pub async fn restore(component: &Arc<Component>, state: Arc<[u8]>) -> Result<Self, ModuleError> {
        Self::restore_with(component, state, None).await
    }

    pub(crate) async fn restore_with(
        component: &Arc<Component>,
        state: Arc<[u8]>,
        messages: Option<Arc<dyn Messages>>,
    ) -> Result<Self, ModuleError> {
        let mut module = Self { component: component.clone(), messages, state: state.clone(), live: None };
        let answer = module.exchange(Start::Empty, Ask::Restore(state), Then::Nothing).await?;
        answer.map_err(|no| module.error(Hook::Restore, no))?;
        Ok(module)
    }

    /// The component it is made from.
    pub fn component(&self) -> &Arc<Component> {
        &self.component
    }

    /// The bytes after the last change that succeeded.
    pub fn state(&self) -> &Arc<[u8]> {
        &self.state
    }

    /// The SHA-256 of the state, in lower-case hexadecimal digits.
    pub fn digest(&self) -> String {
        sha256_hex(&self.state)
    }

    /// Lets the instance go and keeps the bytes. The next use starts another.
    pub fn hibernate(&mut self) {
        self.live = None;
    }

    /// Whether it has an instance at the moment.
    pub fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Back to a state that it had before: the host did not accept what came after it.
    pub fn restore_to(&mut self, state: Arc<[u8]>) {
        self.live = None;
        self.state = state;
    }

    /// Runs a call that the model made. Arguments are checked against the call's schema first. A deferred call
    /// changes the module only in the phase `apply`.
    ///
    /// # Errors
    /// A refusal, for the model to read; or the module failed.
    pub async fn call(
        &mut self,
        context: &Context,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallReply, CallError> {
        let component = self.component.clone();
        let kind = &component.descriptor().kind;
        let Some((spec, schema)) = component.call(name) else {
            return Err(CallError::refused(format!("the module `{kind}` has no call `{name}`")));
        };
        if let Err(complaints) = schema.check(arguments) {
            return Err(CallError::refused(format!("the arguments do not fit: {complaints}")));
        }
        let changes = may_change(spec, context.phase);
        let ask = Ask::Call {
            context: context.into(),
            name: name.to_owned(),
            arguments: Value::Object(arguments.clone()).to_string(),
        };
        let then = if changes { Then::Save } else { Then::Nothing };
        let before = self.state.clone();
        let reply = match self.exchange(Start::FromState, ask, then).await? {
            Ok(Answer::Reply(reply)) => reply,
            Ok(_) => return Err(self.error(Hook::Call, unexpected()).into()),
            Err(Declined::Call(types::CallError::Refused(said))) => return Err(CallError::refused(said)),
            Err(no) => return Err(self.error(Hook::Call, no).into()),
        };
        read_reply(reply).map_err(|kind| {
            self.restore_to(before);
            self.error(Hook::Call, kind).into()
        })
    }

    /// Its part of the system prompt.
    ///
    /// # Errors
    /// It was stopped, or broke the contract.
    pub async fn prompt(&mut self, context: &Context) -> Result<Vec<Section>, ModuleError> {
        let answer = self.read(Ask::Prompt(context.into())).await?;
        let Answer::Sections(sections) = answer else {
            return Err(self.error(Hook::Prompt, unexpected()));
        };
        let sections: Vec<_> = sections
            .into_iter()
            .map(|section| Section { title: section.title, body: section.body })
            .collect();
        let bytes = sections.iter().map(|section| section.title.len() + section.body.len()).sum();
        self.bound(Hook::Prompt, "sections", sections.len(), MAX_SECTIONS, bytes, PROMPT_BYTES)?;
        Ok(sections)
    }

    /// What a new holder should know of its contents.
    ///
    /// # Errors
    /// It was stopped, or broke the contract.
    pub async fn opening(&mut self, context: &Context) -> Result<Vec<Note>, ModuleError> {
        let answer = self.read(Ask::Opening(context.into())).await?;
        let Answer::Notes(notes) = answer else {
            return Err(self.error(Hook::Opening, unexpected()));
        };
        let notes: Vec<_> =
            notes.into_iter().map(|note| Note { title: note.title, body: note.body }).collect();
        let bytes = notes.iter().map(|note| note.title.len() + note.body.len()).sum();
        self.bound(Hook::Opening, "notes", notes.len(), MAX_NOTES, bytes, OPENING_BYTES)?;
        Ok(notes)
    }

    pub(crate) async fn append(
        &mut self,
        context: &Context,
        entries: Vec<types::Entry>,
    ) -> Result<(), ModuleError> {
        self.change(Ask::Append(context.into(), entries)).await
    }

    pub(crate) async fn entries(&mut self, context: &Context, since: u64) -> Result<Changes, ModuleError> {
        match self.read(Ask::Entries(context.into(), since)).await? {
            Answer::Changes(changes) => Ok(changes.into()),
            _ => Err(self.error(Hook::Entries, unexpected())),
        }
    }

    pub(crate) async fn fold(
        &mut self,
        context: &Context,
        budget: u64,
        keep_turns: u32,
    ) -> Result<Vec<Segment>, ModuleError> {
        match self.read(Ask::Fold { context: context.into(), budget, keep_turns }).await? {
            Answer::Segments(segments) => Ok(segments.iter().map(Segment::from).collect()),
            _ => Err(self.error(Hook::Fold, unexpected())),
        }
    }

    pub(crate) async fn folded(
        &mut self,
        context: &Context,
        summaries: Vec<types::Summary>,
    ) -> Result<(), ModuleError> {
        self.change(Ask::Folded(context.into(), summaries)).await
    }

    /// Hands the state to another holder, under that one's settings.
    ///
    /// # Errors
    /// It cannot honour the settings, was stopped, or broke the contract.
    pub async fn transfer(&mut self, settings: &Value) -> Result<(), ModuleError> {
        self.change(Ask::Transfer(settings.to_string())).await
    }

    /// Lets everything go.
    ///
    /// # Errors
    /// It refuses, was stopped, or broke the contract.
    pub async fn reset(&mut self) -> Result<(), ModuleError> {
        self.change(Ask::Reset).await
    }

    /// Whether a call may change the module in this phase. A call that there is none of changes nothing.
    pub(crate) fn may_change(&self, name: &str, phase: Phase) -> bool {
        self.component.call(name).is_some_and(|(spec, _)| may_change(spec, phase))
    }

    pub(crate) fn error(&self, hook: Hook, kind: impl Into<ModuleErrorKind>) -> ModuleError {
        self.component.code().error(hook, kind)
    }

    async fn read(&mut self, ask: Ask) -> Result<Answer, ModuleError> {
        let hook = ask.hook();
        let answer = self.exchange(Start::FromState, ask, Then::Nothing).await?;
        answer.map_err(|no| self.error(hook, no))
    }

    async fn change(&mut self, ask: Ask) -> Result<(), ModuleError> {
        self.change_from(Start::FromState, ask).await
    }

    async fn change_from(&mut self, start: Start, ask: Ask) -> Result<(), ModuleError> {
        let hook = ask.hook();
        let answer = self.exchange(start, ask, Then::Save).await?;
        answer.map(|_| ()).map_err(|no| self.error(hook, no))
    }

    /// Refuses an answer that is larger than a window has room for.
    fn bound(
        &mut self,
        hook: Hook,
        what: &str,
        count: usize,
        most: usize,
        bytes: usize,
        most_bytes: usize,
    ) -> Result<(), ModuleError> {
        if count <= most && bytes <= most_bytes {
            return Ok(());
        }
        let message =
            format!("{count} {what} with {bytes} bytes; {most} with {most_bytes} bytes are allowed");
        Err(self.error(hook, ModuleErrorKind::Stopped { limit: Limit::ResultSize, message }))
    }

    /// One question. The instance is taken out while it answers, so that a future which is dropped takes it
    /// along, and comes back only if it is sound and holds this module's state.
    async fn exchange(
        &mut self,
        start: Start,
        ask: Ask,
        then: Then,
    ) -> Result<Result<Answer, Declined>, ModuleError> {
        let live = self.live.take();
        let code = self.component.code().clone();
        let messages = self.messages.clone();
        let state = self.state.clone();
        let (live, outcome) = match code.trust() {
            Trust::BuiltIn => {
                let mut live = match live {
                    Some(live) => live,
                    None => {
                        let hook = ask.hook();
                        let started = Live::start(&code, messages);
                        let mut live = started.map_err(|fault| code.error(hook, fault))?;
                        if start == Start::FromState {
                            let restored = live.ask(&code, &Ask::Restore(state), Then::Nothing)?;
                            restored.answer.map_err(|no| code.error(Hook::Restore, no))?;
                        }
                        live
                    }
                };
                let outcome = live.ask(&code, &ask, then)?;
                (live, outcome)
            }
            Trust::Stranger => {
                let hook = ask.hook();
                let shared = code.clone();
                let work = async move {
                    let code = shared;
                    let mut live = match live {
                        Some(live) => live,
                        None => {
                            let started = Live::start_pausing(&code, messages).await;
                            let mut live = started.map_err(|fault| code.error(hook, fault))?;
                            if start == Start::FromState {
                                let ask = Ask::Restore(state);
                                let restored = live.ask_pausing(&code, &ask, Then::Nothing).await?;
                                restored.answer.map_err(|no| code.error(Hook::Restore, no))?;
                            }
                            live
                        }
                    };
                    let outcome = live.ask_pausing(&code, &ask, then).await?;
                    Ok((live, outcome))
                };
                let done = code.sandbox.on_stranger_threads(work).await;
                done.map_err(|fault| code.error(hook, fault))??
            }
        };
        Ok(self.settle(live, outcome, then))
    }

    /// Takes over what an exchange came to.
    fn settle(&mut self, live: Live, outcome: Outcome, then: Then) -> Result<Answer, Declined> {
        if let Some(state) = outcome.state {
            // Most calls change little; sharing equal bytes keeps a store from writing them again.
            if *state != *self.state {
                self.state = Arc::from(state);
            }
        }
        // A change that was refused should have changed nothing. Starting over from the bytes makes it so.
        let is_sound = outcome.answer.is_ok() || then == Then::Nothing;
        if is_sound && live.stay() == Stay::Lasting {
            self.live = Some(live);
        }
        outcome.answer
    }
}

/// What an instance is to hold before it is asked, if there is none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Nothing: the question itself gives it its state.
    Empty,
    /// The module's state.
    FromState,
}

/// Whether a call of this kind, in this phase, may change its module.
fn may_change(spec: &CallSpec, phase: Phase) -> bool {
    match spec.effect {
        Effect::ReadOnly => false,
        Effect::Acting => true,
        Effect::Deferred => phase == Phase::Apply,
    }
}

fn read_reply(reply: types::Reply) -> Result<CallReply, ModuleErrorKind> {
    if reply.notices.len() > MAX_NOTICES {
        return Err(ModuleErrorKind::Answer(format!(
            "{} notices, and {MAX_NOTICES} are allowed",
            reply.notices.len()
        )));
    }
    if let Some(long) = reply.notices.iter().find(|notice| notice.len() > NOTICE_BYTES) {
        return Err(ModuleErrorKind::Answer(format!(
            "a notice of {} bytes, and {NOTICE_BYTES} are allowed",
            long.len()
        )));
    }
    let value = serde_json::from_str(&reply.value)
        .map_err(|error| ModuleErrorKind::Answer(format!("its reply is not JSON: {error}")))?;
    Ok(CallReply { value, notices: reply.notices })
}

#[cfg(test)]
mod tests;
