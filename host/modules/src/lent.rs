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

/// The messages lent to one history. It is shared with the history's instance, so that an instance can only read what
/// was lent to it.
#[derive(Clone, Default)]
pub(crate) struct Table(Arc<Mutex<Layers>>);

/// Records in the order of their ids, in lists that each are in that order. The tables of copies share all lists but
/// the last, so that a long conversation costs no more to copy than a short one.
#[derive(Default)]
struct Layers {
    shared: Vec<Arc<Vec<Record>>>,
    own: Vec<Record>,
}

impl Layers {
    fn find(&self, id: MessageId) -> Option<&Record> {
        // What is asked for is mostly new.
        let lists = std::iter::once(&self.own).chain(self.shared.iter().rev().map(Arc::as_ref));
        lists
            .filter(|list| list.first().is_some_and(|first| first.entry.id <= id))
            .find_map(|list| list.get(place(list, id).ok()?))
    }

    /// Moves what is this table's own to what others may share. A list that is not half as long as the one before it
    /// is put together with it, so there are never more than the logarithm of their records.
    fn share(&mut self) {
        if self.own.is_empty() {
            return;
        }
        let mut last = std::mem::take(&mut self.own);
        while let Some(before) = self.shared.pop_if(|before| before.len() < 2 * last.len()) {
            let mut both = Arc::unwrap_or_clone(before);
            both.append(&mut last);
            both.sort_by_key(|record| record.entry.id);
            last = both;
        }
        self.shared.push(Arc::new(last));
    }
}

fn place(list: &[Record], id: MessageId) -> Result<usize, usize> {
    list.binary_search_by_key(&id, |record| record.entry.id)
}

impl Table {
    /// Lends messages. A message that is lent again keeps its first facts.
    pub(crate) fn lend(&self, messages: impl IntoIterator<Item = LentMessage>) {
        let mut layers = self.lock();
        for message in messages {
            let ids = if message.calls.is_empty() { message.answers } else { message.calls };
            let id = message.entry.id;
            if layers.find(id).is_none() {
                // Ids grow, so this is nearly always the end.
                let at = place(&layers.own, id).unwrap_or_else(|at| at);
                layers.own.insert(at, Record { entry: message.entry, ids: ids.into() });
            }
        }
    }

    /// Everything that is lent, in the order of the ids.
    pub(crate) fn messages(&self) -> Vec<LentMessage> {
        let layers = self.lock();
        let mut records: Vec<&Record> =
            layers.shared.iter().flat_map(|list| list.iter()).chain(&layers.own).collect();
        records.sort_by_key(|record| record.entry.id);
        let lent = records.into_iter().map(|record| {
            let ids = record.ids.to_vec();
            let (calls, answers) = if record.entry.calls > 0 { (ids, Vec::new()) } else { (Vec::new(), ids) };
            LentMessage { entry: record.entry, calls, answers }
        });
        lent.collect()
    }

    /// A table of its own with the same messages.
    pub(crate) fn fork(&self) -> Self {
        let mut layers = self.lock();
        layers.share();
        let shared = layers.shared.clone();
        Self(Arc::new(Mutex::new(Layers { shared, own: Vec::new() })))
    }

    fn find<T>(&self, id: MessageId, read: impl FnOnce(&Record) -> T) -> Option<T> {
        self.lock().find(id).map(read)
    }

    fn lock(&self) -> MutexGuard<'_, Layers> {
        // Every change of the lists is whole, so a panic elsewhere leaves nothing half done.
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

#[cfg(test)]
mod tests {
    use super::*;
    use gg_core::{id::Turn, message::Role};

    fn lent(id: u64, tokens: u32) -> LentMessage {
        let entry =
            Entry { id: MessageId(id), turn: Turn(1), tokens, calls: 0, pinned: false, role: Role::User };
        LentMessage::plain(entry)
    }

    fn ids(table: &Table) -> Vec<u64> {
        table.messages().iter().map(|message| message.entry.id.0).collect()
    }

    #[test]
    fn copies_share_what_was_lent_before_and_nothing_after() {
        let first = Table::default();
        let mut copies = Vec::new();
        for n in 0..40 {
            first.lend([lent(2 * n + 1, 1)]);
            let copy = first.fork();
            // Also one between those that are there already.
            copy.lend([lent(2 * n + 2, 2), lent(2 * n, 3), lent(1, 9)]);
            copies.push(copy);
        }
        let odd = |n: u64| (0..=n).map(|n| 2 * n + 1);
        assert_eq!(ids(&first), odd(39).collect::<Vec<_>>());
        for (n, copy) in copies.iter().enumerate() {
            let n = n as u64;
            let mut wanted: Vec<u64> = odd(n).chain([2 * n, 2 * n + 2]).collect();
            wanted.sort_unstable();
            assert_eq!(ids(copy), wanted);
            assert_eq!(copy.entry(MessageId(1)).map(|entry| entry.tokens), Some(1), "first facts stay");
            assert_eq!(copy.entry(MessageId(2 * n)).map(|entry| entry.tokens), Some(3));
            assert!(first.entry(MessageId(2 * n)).is_none() && copy.entry(MessageId(999)).is_none());
        }
        assert!(first.lock().shared.len() <= 6, "the lists are put together");
    }
}
