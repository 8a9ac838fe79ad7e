//! What a history module may ask of the messages that its agent lent it.

use gg_core::{Entry, Message, MessageId, Origin, Turn, text, tokens, window::Keep};
use gg_modules::Messages;
use gg_store::RunStore;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The longest text that a module may make a message of: a stub, not a document.
const MAX_NOTE_BYTES: usize = 8 * 1024;

/// How many notes a module may make in one step.
const MAX_NOTES: usize = 64;

/// Gives one history the texts of messages, and makes messages of its notes. That these are its own is for
/// [`gg_modules::History`] to see to, which knows what was lent to it, also by those that held it before.
pub(crate) struct Lender {
    store: RunStore,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Those that are not in the store yet.
    fresh: HashMap<MessageId, Arc<Message>>,
    notes: Vec<(Arc<Message>, Entry)>,
    turn: Turn,
}

impl Lender {
    pub(crate) fn new(store: RunStore) -> Self {
        Self { store, inner: Mutex::default() }
    }

    /// The module may ask for this message before it is in the store.
    pub(crate) fn lend(&self, message: &Arc<Message>) {
        self.inner().fresh.insert(message.id, message.clone());
    }

    /// What was lent until now is in the store.
    pub(crate) fn committed(&self) {
        self.inner().fresh.clear();
    }

    /// Says in which turn notes are made.
    pub(crate) fn turn(&self, turn: Turn) {
        self.inner().turn = turn;
    }

    /// How many notes were made since they were last taken.
    pub(crate) fn notes(&self) -> usize {
        self.inner().notes.len()
    }

    /// Forgets the notes of a call that failed, but the first `kept`: nothing refers to the others.
    pub(crate) fn drop_notes_after(&self, kept: usize) {
        let mut inner = self.inner();
        let kept = kept.min(inner.notes.len());
        let notes = inner.notes.split_off(kept);
        for (message, _) in notes {
            inner.fresh.remove(&message.id);
        }
    }

    /// The notes made since this was last asked.
    pub(crate) fn take_notes(&self) -> Vec<(Arc<Message>, Entry)> {
        std::mem::take(&mut self.inner().notes)
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        // Every change is one insertion or removal, so a poisoned lock still holds a consistent set.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Messages for Lender {
    fn text(&self, id: MessageId, max_bytes: usize) -> Result<String, String> {
        let fresh = self.inner().fresh.get(&id).cloned();
        let message = match fresh {
            Some(message) => message,
            None => self.store.message_blocking(id).map_err(|error| error.to_string())?,
        };
        Ok(text::cut(&message.transcript(), max_bytes).to_owned())
    }

    fn note(&self, text: String) -> Result<Entry, String> {
        if text.len() > MAX_NOTE_BYTES {
            return Err(format!("a note has at most {MAX_NOTE_BYTES} bytes, this one {}", text.len()));
        }
        let mut inner = self.inner();
        if inner.notes.len() >= MAX_NOTES {
            return Err(format!("a module makes at most {MAX_NOTES} notes in a step"));
        }
        let message = Arc::new(Message::user(self.store.next_message_id(), Origin::Stub, text));
        let entry = Entry::of(&message, inner.turn, tokens::of_message(&message), Keep::Foldable);
        inner.fresh.insert(message.id, message.clone());
        inner.notes.push((message, entry));
        Ok(entry)
    }
}
