//! Recently used messages, kept in memory up to a bound.

use gg_core::{Message, MessageId};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

/// What one message costs beside its text: its parts, the map's entries and the allocations around them.
const PER_MESSAGE: usize = 256;

/// The messages used last, by the bytes they take. It holds committed messages only.
#[derive(Debug)]
pub(crate) struct Cache {
    max_bytes: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    known: HashMap<MessageId, Kept>,
    /// From the longest unused to the last used.
    order: BTreeMap<u64, MessageId>,
    clock: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    message: Arc<Message>,
    bytes: usize,
    used: u64,
}

impl Cache {
    /// A cache for messages whose bodies take at most `max_bytes` in all.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, inner: Mutex::default() }
    }

    /// The message, if it is here.
    pub(crate) fn get(&self, id: MessageId) -> Option<Arc<Message>> {
        let mut inner = self.lock();
        inner.clock += 1;
        let now = inner.clock;
        let kept = inner.known.get_mut(&id)?;
        let before = std::mem::replace(&mut kept.used, now);
        let message = Arc::clone(&kept.message);
        inner.order.remove(&before);
        inner.order.insert(now, id);
        Some(message)
    }

    /// Keeps a message whose recorded body takes `body_bytes`. One that is larger than the whole cache is not
    /// kept, and pushes nothing out.
    pub(crate) fn put(&self, message: &Arc<Message>, body_bytes: usize) {
        let bytes = body_bytes.saturating_add(PER_MESSAGE);
        if bytes > self.max_bytes {
            return;
        }
        let mut inner = self.lock();
        inner.clock += 1;
        let used = inner.clock;
        let id = message.id;
        inner.forget(id);
        inner.known.insert(id, Kept { message: Arc::clone(message), bytes, used });
        inner.order.insert(used, id);
        inner.bytes += bytes;
        while inner.bytes > self.max_bytes {
            let Some(oldest) = inner.order.values().next().copied() else { break };
            inner.forget(oldest);
        }
    }

    /// How many bytes are counted as taken.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // Nothing in here can panic half-way, so what a poisoned lock guards is whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn forget(&mut self, id: MessageId) {
        if let Some(kept) = self.known.remove(&id) {
            self.order.remove(&kept.used);
            self.bytes -= kept.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_core::Origin;

    fn message(id: u64) -> Arc<Message> {
        Arc::new(Message::user(MessageId(id), Origin::Prompt, "x"))
    }

    #[test]
    fn drops_the_longest_unused_first_and_stays_within_its_bound() {
        let cache = Cache::new(3 * (100 + PER_MESSAGE));
        for id in 1..=3 {
            cache.put(&message(id), 100);
        }
        assert!(cache.get(MessageId(1)).is_some());
        cache.put(&message(4), 100);
        let known: Vec<bool> = (1..=4).map(|id| cache.get(MessageId(id)).is_some()).collect();
        assert_eq!(known, [true, false, true, true]);
        assert_eq!(cache.bytes(), 3 * (100 + PER_MESSAGE));
    }

    #[test]
    fn one_that_is_larger_than_the_cache_pushes_nothing_out() {
        let cache = Cache::new(1000);
        cache.put(&message(1), 100);
        cache.put(&message(2), 1000);
        assert_eq!(cache.get(MessageId(2)), None);
        assert_eq!(cache.get(MessageId(1)), Some(message(1)));
        // The same again does not count twice.
        cache.put(&message(1), 200);
        assert_eq!(cache.bytes(), 200 + PER_MESSAGE);
    }
}
