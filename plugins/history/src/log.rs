//! How far back the window can say what changed.

/// How many rewrites are remembered. The host asks after every change, so one would nearly do; a few more let
/// several changes pass between two askings. Each takes twelve bytes of every state.
pub(crate) const REMEMBERED: usize = 16;

/// The window's revision, and for the last changes how many entries from the front each left alone.
///
/// Kept as a staircase: a change that left fewer entries alone than those before it makes them superfluous,
/// and one that appends where the last change appended needs no step of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) revision: u64,
    /// The oldest revision that can still be asked about.
    pub(crate) oldest: u64,
    /// From the oldest: the revision that a change led to, and what it kept. Both grow.
    pub(crate) steps: Vec<(u64, u32)>,
}

impl Default for Log {
    /// A window's first revision is 1, because 0 asks for everything.
    fn default() -> Self {
        Self { revision: 1, oldest: 1, steps: Vec::new() }
    }
}

impl Log {
    /// Records a change that left the first `kept` entries alone.
    pub(crate) fn push(&mut self, kept: u32) {
        // Reaching u64::MAX by ones takes longer than anything lasts; a made-up state only loses its log.
        self.revision = self.revision.saturating_add(1);
        while self.steps.last().is_some_and(|(_, more)| *more >= kept) {
            self.steps.pop();
        }
        self.steps.push((self.revision, kept));
        if self.steps.len() > REMEMBERED {
            let (revision, _) = self.steps.remove(0);
            self.oldest = revision;
        }
    }

    /// How many of the entries known at `since` still stand at the front of a window that now has `len`.
    /// Nothing, if that revision is not remembered.
    pub(crate) fn kept(&self, since: u64, len: u32) -> Option<u32> {
        if since < self.oldest || since > self.revision {
            return None;
        }
        // The steps grow in both, so the first one after `since` kept the least.
        let next = self.steps.partition_point(|(revision, _)| *revision <= since);
        Some(self.steps.get(next).map_or(len, |(_, kept)| *kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any sequence of changes, against windows that were simply kept.
    #[test]
    fn agrees_with_windows_that_were_kept() {
        let mut seed = 7u64;
        let mut roll = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut log = Log::default();
        let mut window: Vec<u64> = Vec::new();
        let mut known = vec![(log.revision, window.clone())];
        let mut fresh = 0;
        let mut answered = 0;
        for _ in 0..2000 {
            let kept = if roll(4) == 0 { roll(window.len() as u64 + 1) as usize } else { window.len() };
            window.truncate(kept);
            for _ in 0..=roll(3) {
                fresh += 1;
                window.push(fresh);
            }
            log.push(kept as u32);
            known.push((log.revision, window.clone()));
            for (since, old) in known.iter().rev().take(40) {
                let Some(kept) = log.kept(*since, window.len() as u32) else { continue };
                answered += 1;
                let common = old.iter().zip(&window).take_while(|(a, b)| a == b).count();
                assert!(kept as usize <= common, "kept {kept} of {common}");
                assert_eq!(old[..kept as usize], window[..kept as usize]);
            }
            assert!(log.steps.len() <= REMEMBERED);
            assert_eq!(log.kept(log.revision, window.len() as u32), Some(window.len() as u32));
        }
        assert!(answered > 2000, "only {answered} of the revisions asked about were remembered");
    }

    #[test]
    fn appends_are_exact_and_strange_revisions_are_not_known() {
        let mut log = Log::default();
        log.push(0);
        log.push(2);
        log.push(5);
        assert_eq!((1..=4).map(|since| log.kept(since, 7)).collect::<Vec<_>>(), [0, 2, 5, 7].map(Some));
        assert_eq!(log.kept(0, 7), None);
        assert_eq!(log.kept(5, 7), None);
        for kept in 6..40 {
            log.push(kept);
        }
        assert_eq!(log.steps.len(), REMEMBERED);
        assert_eq!(log.kept(4, 99), None, "forgotten");
    }
}
