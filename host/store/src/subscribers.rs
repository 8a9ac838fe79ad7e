//! Whoever reads along while a run goes on.

use gg_core::Live;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::sync::Notify;

/// The most items that one subscription may hold: far more than anyone can read, and bounded all the same.
pub const MAX_SUBSCRIPTION: usize = 65_536;

/// Everyone who reads along. Offering something never waits.
#[derive(Debug, Default)]
pub(crate) struct Subscribers {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    queues: Vec<Weak<Queue>>,
    closed: bool,
}

#[derive(Debug)]
struct Queue {
    capacity: usize,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    items: VecDeque<Live>,
    /// Items that found no room since the last one that did: they came after all of `items`.
    missed: u64,
    closed: bool,
}

/// One who reads along: everything that was committed or shown since it was made, in order, or how much of
/// it was missed. The events that were missed stand in the record.
#[derive(Debug)]
pub struct Subscription {
    queue: Arc<Queue>,
}

impl Subscribers {
    /// Reads along from now on. Up to `capacity` items wait for the reader, at least 1 and at most
    /// [`MAX_SUBSCRIPTION`].
    pub(crate) fn subscribe(&self, capacity: usize) -> Subscription {
        let mut inner = lock(&self.inner);
        let queue = Arc::new(Queue {
            capacity: capacity.clamp(1, MAX_SUBSCRIPTION),
            state: Mutex::new(State { closed: inner.closed, ..State::default() }),
            changed: Notify::new(),
        });
        inner.queues.push(Arc::downgrade(&queue));
        Subscription { queue }
    }

    /// Shows these to everyone, in order and with nothing of anyone else's between them.
    pub(crate) fn offer(&self, items: impl Iterator<Item = Live> + Clone) {
        let mut inner = lock(&self.inner);
        inner.queues.retain(|queue| {
            let Some(queue) = queue.upgrade() else { return false };
            let mut state = lock(&queue.state);
            for item in items.clone() {
                state.offer(item, queue.capacity);
            }
            drop(state);
            queue.changed.notify_one();
            true
        });
    }

    /// Tells everyone that nothing more will come.
    pub(crate) fn close(&self) {
        let mut inner = lock(&self.inner);
        inner.closed = true;
        for queue in inner.queues.drain(..).filter_map(|queue| queue.upgrade()) {
            lock(&queue.state).closed = true;
            queue.changed.notify_one();
        }
    }
}

impl State {
    fn offer(&mut self, item: Live, capacity: usize) {
        // After a gap, the notice of it and the item come together or not at all: one notice a gap.
        let needed = if self.missed > 0 { 2 } else { 1 };
        if self.items.len() + needed > capacity {
            self.missed += 1;
            return;
        }
        if self.missed > 0 {
            self.items.push_back(Live::Missed(std::mem::take(&mut self.missed)));
        }
        self.items.push_back(item);
    }

    fn take(&mut self) -> Option<Live> {
        let front = self.items.pop_front();
        front.or_else(|| (self.missed > 0).then(|| Live::Missed(std::mem::take(&mut self.missed))))
    }
}

impl Subscription {
    /// The next item; `None` once the store is closed and everything was read. Dropping the future loses
    /// nothing.
    pub async fn recv(&mut self) -> Option<Live> {
        loop {
            {
                let mut state = lock(&self.queue.state);
                if let Some(item) = state.take() {
                    return Some(item);
                }
                if state.closed {
                    return None;
                }
            }
            // Whoever offers something between the look above and this wait leaves a permit here.
            self.queue.changed.notified().await;
        }
    }

    /// The next item, if one waits.
    pub fn try_recv(&mut self) -> Option<Live> {
        lock(&self.queue.state).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is done under these locks that can panic half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_core::AgentId;

    fn text(n: u32) -> Live {
        Live::Text { agent: AgentId::nth(1), text: n.to_string() }
    }

    fn drain(subscription: &mut Subscription) -> Vec<Live> {
        std::iter::from_fn(|| subscription.try_recv()).collect()
    }

    #[test]
    fn a_slow_reader_is_told_what_it_missed_in_its_place() {
        let subscribers = Subscribers::default();
        let mut slow = subscribers.subscribe(2);
        let mut quick = subscribers.subscribe(100);
        subscribers.offer((1..=5).map(text));
        assert_eq!(drain(&mut slow), [text(1), text(2), Live::Missed(3)]);
        subscribers.offer((6..=8).map(text));
        assert_eq!(slow.try_recv(), Some(text(6)));
        // One place is free, and the notice of the gap would need it.
        subscribers.offer((9..=9).map(text));
        assert_eq!(drain(&mut slow), [text(7), Live::Missed(2)]);
        subscribers.offer((10..=10).map(text));
        assert_eq!(drain(&mut slow), [text(10)]);
        assert_eq!(drain(&mut quick), (1..=10).map(text).collect::<Vec<_>>());
    }

    #[test]
    fn what_was_offered_is_read_before_the_end() {
        let subscribers = Subscribers::default();
        let mut early = subscribers.subscribe(0);
        subscribers.offer((1..=2).map(text));
        subscribers.close();
        let mut late = subscribers.subscribe(8);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert_eq!(early.recv().await, Some(text(1)));
            assert_eq!(early.recv().await, Some(Live::Missed(1)));
            assert_eq!(early.recv().await, None);
            assert_eq!(late.recv().await, None);
        });
    }

    #[test]
    fn one_who_left_is_forgotten() {
        let subscribers = Subscribers::default();
        drop(subscribers.subscribe(8));
        let _stays = subscribers.subscribe(8);
        subscribers.offer((1..=1).map(text));
        assert_eq!(lock(&subscribers.inner).queues.len(), 1);
    }
}
