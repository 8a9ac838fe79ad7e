//! A history, with the host's own copy of its window beside it.
//!
//! What a module says of its window is not believed: after every change the host reads what changed, and
//! accepts it only if every message was lent to this very module, with these very facts, and calls stand
//! before their results. Otherwise the module goes back to the state it had.

use crate::{
    bindings::types,
    component::Component,
    context::Context,
    error::{CallError, Hook, ModuleError, ModuleErrorKind},
    lent::{LentMessage, LentMessages, Table},
    messages::Messages,
    module::{CallReply, Module, Note, Section},
    window::Segment,
};
use gg_core::{
    id::MessageId,
    window::{Changes, Window},
};
use serde_json::{Map, Value};
use std::{collections::HashMap, fmt, sync::Arc};

/// The summary that replaces a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The segment's first entry.
    pub first: MessageId,
    /// The segment's last entry.
    pub last: MessageId,
    /// The summary, as it is lent.
    pub message: LentMessage,
}

/// A point to which a history can go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    state: Arc<[u8]>,
    window: Window,
}

/// A history module and its window.
///
/// Each change either succeeds, and module and window are the new ones, or fails, or its future is dropped
/// before it is done, and both are the old ones.
pub struct History {
    module: Module,
    window: Window,
    table: Table,
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("module", &self.module).field("window", &self.window).finish()
    }
}

impl History {
    /// A history with an empty window. See [`Module::open`] for the settings.
    ///
    /// # Errors
    /// As [`Module::open`]; or the component makes no histories.
    pub async fn open(
        component: &Arc<Component>,
        settings: &Value,
        messages: Arc<dyn Messages>,
    ) -> Result<Self, ModuleError> {
        if !component.is_history() {
            return Err(component.code().error(Hook::Open, no_history()));
        }
        let table = Table::default();
        let lending = Arc::new(LentMessages { messages, table: table.clone() });
        let module = Module::open_with(component, settings, Some(lending)).await?;
        Ok(Self { module, window: Window::default(), table })
    }

    /// A history with this state, to which these messages were lent: all that its holders appended, and the
    /// notes and summaries among them.
    ///
    /// # Errors
    /// As [`Module::restore`]; or its window names something else; or the component makes no histories.
    pub async fn restore(
        component: &Arc<Component>,
        state: Arc<[u8]>,
        messages: Arc<dyn Messages>,
        lent: Vec<LentMessage>,
        context: &Context,
    ) -> Result<Self, ModuleError> {
        let table = Table::default();
        table.lend(lent);
        let mut history = Self::restore_with(component, state, messages, table).await?;
        history.attempt().accept(context, Known::Nothing, &[]).await?;
        Ok(history)
    }

    /// A history of its own with the same contents, for another holder. `messages` is that holder's. This one is not
    /// asked anything.
    ///
    /// # Errors
    /// As [`History::restore`].
    pub async fn copy(&self, messages: Arc<dyn Messages>) -> Result<Self, ModuleError> {
        let (component, state) = (self.module.component(), self.module.state().clone());
        let mut copy = Self::restore_with(component, state, messages, self.table.fork()).await?;
        // The same component with the same bytes has the same window, and what it says of it later is checked.
        copy.window = self.window.clone();
        Ok(copy)
    }

    /// The same contents for another holder, in that one's component and under its settings. This one is not asked
    /// anything, so nothing of it changes if that fails.
    ///
    /// # Errors
    /// As [`History::restore`]; or the component cannot honour the settings.
    pub async fn hand_over(
        &self,
        component: &Arc<Component>,
        settings: &Value,
        messages: Arc<dyn Messages>,
        context: &Context,
    ) -> Result<Self, ModuleError> {
        let mut next = if component.sha256() == self.module.component().sha256() {
            self.copy(messages).await?
        } else {
            let state = self.module.state().clone();
            let mut next = Self::restore_with(component, state, messages, self.table.fork()).await?;
            next.attempt().accept(context, Known::Nothing, &[]).await?;
            next
        };
        next.transfer(context, settings).await?;
        Ok(next)
    }

    async fn restore_with(
        component: &Arc<Component>,
        state: Arc<[u8]>,
        messages: Arc<dyn Messages>,
        table: Table,
    ) -> Result<Self, ModuleError> {
        if !component.is_history() {
            return Err(component.code().error(Hook::Restore, no_history()));
        }
        let lending = Arc::new(LentMessages { messages, table: table.clone() });
        let module = Module::restore_with(component, state, Some(lending)).await?;
        Ok(Self { module, window: Window::default(), table })
    }

    /// The window after the last change.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The module itself: its component, state and digest.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The messages that were lent to it, in the order of their ids.
    pub fn lent(&self) -> Vec<LentMessage> {
        self.table.messages()
    }

    /// See [`Module::hibernate`].
    pub fn hibernate(&mut self) {
        self.module.hibernate();
    }

    /// Where it stands now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.module.state().clone(), window: self.window.clone() }
    }

    /// Back to where it stood: the host did not accept what came after it.
    pub fn restore_to(&mut self, snapshot: Snapshot) {
        self.module.restore_to(snapshot.state);
        self.window = snapshot.window;
    }

    /// Adds messages to the end.
    ///
    /// # Errors
    /// The module refuses, was stopped, or answers with a window that is not accepted.
    pub async fn append(&mut self, context: &Context, messages: Vec<LentMessage>) -> Result<(), ModuleError> {
        let entries: Vec<types::Entry> = messages.iter().map(|message| (&message.entry).into()).collect();
        let added: Vec<MessageId> = messages.iter().map(|message| message.entry.id).collect();
        self.table.lend(messages);
        let attempt = self.attempt();
        attempt.history.module.append(context, entries).await?;
        attempt.accept(context, Known::Window, &added).await
    }

    /// What to summarise so that the window comes near `budget` tokens, keeping the last `keep_turns` turns
    /// whole. The answer is checked: segments of this window, in order and apart, without pinned entries,
    /// their tokens summed correctly, and no pair of calls and results cut.
    ///
    /// # Errors
    /// The module was stopped, or its answer is none of those.
    pub async fn fold(
        &mut self,
        context: &Context,
        budget: u64,
        keep_turns: u32,
    ) -> Result<Vec<Segment>, ModuleError> {
        let segments = self.module.fold(context, budget, keep_turns).await?;
        check_segments(&self.window, &segments, keep_turns)
            .map_err(|said| self.module.error(Hook::Fold, ModuleErrorKind::Answer(said)))?;
        Ok(segments)
    }

    /// Replaces segments by their summaries.
    ///
    /// # Errors
    /// As [`History::append`].
    pub async fn folded(&mut self, context: &Context, summaries: Vec<Summary>) -> Result<(), ModuleError> {
        let replaced: Vec<types::Summary> = summaries
            .iter()
            .map(|summary| types::Summary {
                first: summary.first.0,
                last: summary.last.0,
                entry: (&summary.message.entry).into(),
            })
            .collect();
        self.table.lend(summaries.into_iter().map(|summary| summary.message));
        let attempt = self.attempt();
        attempt.history.module.folded(context, replaced).await?;
        attempt.accept(context, Known::Window, &[]).await
    }

    /// Runs a call that the model made. See [`Module::call`].
    ///
    /// # Errors
    /// As [`Module::call`]; or the window after it is not accepted.
    pub async fn call(
        &mut self,
        context: &Context,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<CallReply, CallError> {
        let may_change = self.module.may_change(name, context.phase);
        let attempt = self.attempt();
        let reply = attempt.history.module.call(context, name, arguments).await?;
        if may_change {
            attempt.accept(context, Known::Window, &[]).await?;
        } else {
            attempt.keep();
        }
        Ok(reply)
    }

    /// See [`Module::prompt`].
    ///
    /// # Errors
    /// As [`Module::prompt`].
    pub async fn prompt(&mut self, context: &Context) -> Result<Vec<Section>, ModuleError> {
        self.module.prompt(context).await
    }

    /// See [`Module::opening`].
    ///
    /// # Errors
    /// As [`Module::opening`].
    pub async fn opening(&mut self, context: &Context) -> Result<Vec<Note>, ModuleError> {
        self.module.opening(context).await
    }

    /// Hands the history to another holder, under that one's settings.
    ///
    /// # Errors
    /// As [`History::append`].
    pub async fn transfer(&mut self, context: &Context, settings: &Value) -> Result<(), ModuleError> {
        let attempt = self.attempt();
        attempt.history.module.transfer(settings).await?;
        attempt.accept(context, Known::Window, &[]).await
    }

    /// Lets everything go; the turn counter starts over.
    ///
    /// # Errors
    /// As [`History::append`].
    pub async fn reset(&mut self, context: &Context) -> Result<(), ModuleError> {
        let attempt = self.attempt();
        attempt.history.module.reset().await?;
        attempt.accept(context, Known::Nothing, &[]).await
    }

    fn attempt(&mut self) -> Attempt<'_> {
        let before = self.module.state().clone();
        Attempt { history: self, before, is_over: false }
    }

    async fn read_window(&mut self, context: &Context, known: Known) -> Result<Window, ModuleError> {
        let empty = Window::default();
        let known = match known {
            Known::Window => &self.window,
            Known::Nothing => &empty,
        };
        let changes = self.module.entries(context, known.revision).await?;
        let window = known.apply(&changes, &self.table).map_err(|error| error.to_string());
        window
            .and_then(|window| check_tokens(&window, &changes).map(|()| window))
            .map_err(|said| self.module.error(Hook::Entries, ModuleErrorKind::Answer(said)))
    }
}

/// A change that is not accepted yet. Dropping it undoes the change, whatever the reason.
struct Attempt<'a> {
    history: &'a mut History,
    before: Arc<[u8]>,
    is_over: bool,
}

impl Attempt<'_> {
    /// Reads what the change made of the window, and takes it over if it keeps the contract and ends in the
    /// messages that were `added`.
    async fn accept(
        mut self,
        context: &Context,
        known: Known,
        added: &[MessageId],
    ) -> Result<(), ModuleError> {
        let read = self.history.read_window(context, known).await.and_then(|window| {
            let tail = window.entries.iter().rev().map(|entry| entry.id).take(added.len());
            if tail.eq(added.iter().rev().copied()) {
                return Ok(window);
            }
            let said = "what was appended does not stand at its window's end".to_owned();
            Err(self.history.module.error(Hook::Append, ModuleErrorKind::Answer(said)))
        });
        match read {
            Ok(window) => {
                self.history.window = window;
                self.is_over = true;
                Ok(())
            }
            Err(error) => {
                // The state may be the same bytes, and the instance holds something else.
                self.history.hibernate();
                Err(error)
            }
        }
    }

    /// Nothing changed that a window could show.
    fn keep(mut self) {
        self.is_over = true;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_over && !Arc::ptr_eq(self.history.module.state(), &self.before) {
            self.history.module.restore_to(self.before.clone());
        }
    }
}

/// What a change of the window is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The window before it.
    Window,
    /// Nothing: the module starts, or has let everything go.
    Nothing,
}

fn no_history() -> ModuleErrorKind {
    ModuleErrorKind::Request(
        "it has no window: only a component of the kind `history` makes a history".into(),
    )
}

fn check_tokens(window: &Window, changes: &Changes) -> Result<(), String> {
    let tokens = window.tokens();
    if tokens == changes.tokens {
        return Ok(());
    }
    Err(format!("it says its window has {} tokens, and the entries have {tokens}", changes.tokens))
}

/// Checks what `fold` answered against the contract.
fn check_segments(window: &Window, segments: &[Segment], keep_turns: u32) -> Result<(), String> {
    let places: HashMap<_, _> = window.entries.iter().enumerate().map(|(at, entry)| (entry.id, at)).collect();
    let place =
        |id: MessageId| places.get(&id).copied().ok_or_else(|| format!("message {id} is not in its window"));
    let mut free = 0;
    for segment in segments {
        let (first, last) = (place(segment.first)?, place(segment.last)?);
        if first > last || first < free {
            return Err(format!(
                "the segment from {} to {} is not in order, or meets another",
                segment.first, segment.last
            ));
        }
        let entries = &window.entries[first..=last];
        for entry in entries {
            if entry.pinned {
                return Err(format!("it wants to fold message {}, which is pinned", entry.id));
            }
            if entry.turn.0.saturating_add(keep_turns) > window.turn.0 {
                return Err(format!("it wants to fold message {}, of a turn to be kept", entry.id));
            }
        }
        let cuts_front = first > 0 && window.entries[first - 1].calls > 0;
        if cuts_front || entries.last().is_some_and(|entry| entry.calls > 0) {
            return Err(format!(
                "the segment from {} to {} parts calls from their results",
                segment.first, segment.last
            ));
        }
        let tokens: u64 = entries.iter().map(|entry| u64::from(entry.tokens)).sum();
        if tokens != segment.tokens {
            return Err(format!(
                "the segment from {} to {} has {tokens} tokens, and it says {}",
                segment.first, segment.last, segment.tokens
            ));
        }
        free = last + 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_core::{id::Turn, message::Role, window::Entry};

    fn entry(id: u64, turn: u32, role: Role, calls: u16) -> Entry {
        Entry { id: MessageId(id), turn: Turn(turn), tokens: 10, calls, pinned: id == 1, role }
    }

    fn window() -> Window {
        Window {
            revision: 1,
            entries: vec![
                entry(1, 0, Role::User, 0),
                entry(2, 1, Role::Assistant, 1),
                entry(3, 1, Role::Results, 0),
                entry(4, 2, Role::Assistant, 0),
                entry(5, 3, Role::User, 0),
            ],
            turn: Turn(3),
        }
    }

    fn segment(first: u64, last: u64) -> Segment {
        let tokens = 10 * (last.saturating_sub(first) + 1);
        Segment { first: MessageId(first), last: MessageId(last), tokens }
    }

    #[test]
    fn segments_of_the_window_are_accepted() {
        assert_eq!(check_segments(&window(), &[segment(2, 3), segment(4, 4)], 1), Ok(()));
        assert_eq!(check_segments(&window(), &[], 1), Ok(()));
    }

    #[test]
    fn segments_that_break_the_contract_are_named() {
        let heavier = Segment { tokens: 21, ..segment(2, 3) };
        for (segments, says) in [
            (vec![segment(1, 3)], "it wants to fold message 1, which is pinned"),
            (vec![segment(2, 2)], "the segment from 2 to 2 parts calls from their results"),
            (vec![segment(3, 4)], "the segment from 3 to 4 parts calls from their results"),
            (vec![segment(4, 5)], "it wants to fold message 5, of a turn to be kept"),
            (vec![segment(4, 2)], "the segment from 4 to 2 is not in order, or meets another"),
            (vec![segment(2, 4), segment(4, 4)], "the segment from 4 to 4 is not in order, or meets another"),
            (vec![segment(2, 9)], "message 9 is not in its window"),
            (vec![heavier], "the segment from 2 to 3 has 20 tokens, and it says 21"),
        ] {
            assert_eq!(check_segments(&window(), &segments, 1), Err(says.into()));
        }
    }
}
