//! What the host knows of the messages that it lent to one history.

use crate::messages::Messages;
use gg_core::{
    id::{CallId, MessageId},
    window::{Entry, Lent},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A message as it is lent to a history: its facts, and the ids that pair calls with results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LentMessage {
    /// Its facts.
    pub entry: Entry,
    /// The calls it makes, in order.
    pub calls: Vec<CallId>,
    /// The calls it answers, in order.
    pub answers: Vec<CallId>,
}

impl LentMessage {
    /// A message without calls and results.
    pub fn plain(entry: Entry) -> Self {
        Self { entry, calls: Vec::new(), answers: Vec::new() }
    }
}

/// One lent message. A message either makes calls or answers some, so one list of ids is enough.
#[derive(Clone, Debug)]
struct Record {
    entry: Entry,
    ids: Box<[CallId]>,
}

/// The messages lent to one history, in the order of their ids. It is shared with the history's instance, so
/// that an instance can only read what was lent to it.
#[derive(Clone, Default)]
pub(crate) struct Table(Arc<Mutex<Vec<Record>>>);

impl Table {
    /// Lends messages. A message that is lent again keeps its first facts.
    pub(crate) fn lend(&self, messages: impl IntoIterator<Item = LentMessage>) {
        let mut records = self.lock();
        for message in messages {
            let ids = if message.calls.is_empty() { message.answers } else { message.calls };
            // Ids grow, so this is nearly always the end.
            if let Err(at) = records.binary_search_by_key(&message.entry.id, |known| known.entry.id) {
                records.insert(at, Record { entry: message.entry, ids: ids.into() });
            }
        }
    }

    /// Everything that is lent.
    pub(crate) fn messages(&self) -> Vec<LentMessage> {
        self.lock()
            .iter()
            .map(|record| {
                let ids = record.ids.to_vec();
                let (calls, answers) =
                    if record.entry.calls > 0 { (ids, Vec::new()) } else { (Vec::new(), ids) };
                LentMessage { entry: record.entry, calls, answers }
            })
            .collect()
    }

    /// A table of its own with the same messages.
    pub(crate) fn fork(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    fn find<T>(&self, id: MessageId, read: impl FnOnce(&Record) -> T) -> Option<T> {
        let records = self.lock();
        let at = records.binary_search_by_key(&id, |record| record.entry.id).ok()?;
        records.get(at).map(read)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Record>> {
        // Every change of the list is whole, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent for Table {
    fn entry(&self, id: MessageId) -> Option<Entry> {
        self.find(id, |record| record.entry)
    }

    fn calls(&self, id: MessageId) -> Vec<CallId> {
        self.answers(id)
    }

    fn answers(&self, id: MessageId) -> Vec<CallId> {
        self.find(id, |record| record.ids.to_vec()).unwrap_or_default()
    }
}

/// The run's messages, as far as they were lent to one history.
pub(crate) struct LentMessages {
    pub(crate) messages: Arc<dyn Messages>,
    pub(crate) table: Table,
}

impl Messages for LentMessages {
    fn text(&self, id: MessageId, max_bytes: usize) -> Result<String, String> {
        if self.table.entry(id).is_none() {
            return Err(format!("message {id} was not appended to this module"));
        }
        self.messages.text(id, max_bytes)
    }

    fn note(&self, text: String) -> Result<Entry, String> {
        let entry = self.messages.note(text)?;
        self.table.lend([LentMessage::plain(entry)]);
        Ok(entry)
    }
}
