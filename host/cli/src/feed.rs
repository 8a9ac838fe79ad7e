//! A run's events without a gap: whatever a subscriber was too slow for is read from the record.

use gg_core::{Live, Recorded, Seq};
use gg_store::{RunReader, Subscription};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
};

/// How many items may wait for the terminal. A second of a hundred models writing.
pub(crate) const CAPACITY: usize = 16_384;

/// How many missed events are read from the record at a time.
const BATCH: usize = 1024;

/// What subscribers are shown, with every event in its place.
pub(crate) struct Feed {
    subscription: Subscription,
    dir: PathBuf,
    record: Option<RunReader>,
    /// The event that comes next.
    next: Seq,
    /// Events from the record that were not given yet: at most [`BATCH`].
    ready: VecDeque<Recorded>,
    gap: Gap,
}

/// What has to be read from the record before the subscription is asked again.
enum Gap {
    /// Nothing.
    No,
    /// Every event before this one.
    Before(Arc<Recorded>),
    /// Every event that is left: the subscription has ended.
    ToTheEnd,
}

impl Feed {
    /// The feed of the run in `dir`, from its first event on.
    pub(crate) fn new(subscription: Subscription, dir: &Path) -> Self {
        Self {
            subscription,
            dir: dir.to_owned(),
            record: None,
            next: Seq(1),
            ready: VecDeque::new(),
            gap: Gap::No,
        }
    }

    /// The next item; `None` once the run is over and every event was given. Dropping the future loses
    /// nothing.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Live>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.next = event.seq.next();
                return Ok(Some(Live::Event(Arc::new(event))));
            }
            match std::mem::replace(&mut self.gap, Gap::No) {
                Gap::Before(event) if event.seq > self.next => {
                    let end = event.seq;
                    self.gap = Gap::Before(event);
                    self.read_before(end)?;
                }
                // An event that was read from the record before it came here is not given twice.
                Gap::Before(event) if event.seq < self.next => {}
                Gap::Before(event) => {
                    self.next = event.seq.next();
                    return Ok(Some(Live::Event(event)));
                }
                Gap::ToTheEnd => {
                    self.gap = Gap::ToTheEnd;
                    self.read_before(Seq(u64::MAX))?;
                    if self.ready.is_empty() {
                        return Ok(None);
                    }
                }
                Gap::No => match self.subscription.recv().await {
                    Some(Live::Event(event)) => self.gap = Gap::Before(event),
                    // The next event shows how far the gap goes; if there is none, the run's end does.
                    Some(Live::Missed(_)) => {}
                    Some(shown) => return Ok(Some(shown)),
                    None => self.gap = Gap::ToTheEnd,
                },
            }
        }
    }

    /// Makes some of the missing events before `end` ready.
    fn read_before(&mut self, end: Seq) -> anyhow::Result<()> {
        let record = match &mut self.record {
            Some(record) => record,
            none => none.insert(RunReader::open(&self.dir)?),
        };
        let events = record.events(self.next, BATCH)?;
        self.ready.extend(events.into_iter().filter(|event| event.seq < end));
        Ok(())
    }
}
