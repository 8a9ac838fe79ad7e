//! The one gate in front of a provider. When the server asks one request to wait, all of that provider's
//! requests wait; then one goes ahead, and only as requests succeed do more follow.

use crate::pace::Waits;
use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// So many unanswered requests at a time mean that the server has recovered: from here on gg no longer counts.
const RECOVERED: u32 = 64;

/// The gate of one provider. Its clock is tokio's.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// How many times the gate has closed. What requests from before the last time report is old news.
    closings: u64,
    /// How many times it has closed since a request last succeeded.
    streak: u32,
    /// When it opens again; absent while it is open.
    opens: Option<Instant>,
    /// How many requests may be unanswered at once; absent: as many as there are.
    window: Option<u32>,
    /// How many requests of this opening are unanswered.
    unanswered: u32,
}

/// Leave to send one request. Dropped without an answer, it makes room for another.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    gate: &'a Gate,
    closings: u64,
    answered: bool,
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State::default()), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the gate opens, if it is closed now.
    pub(crate) fn closed_until(&self) -> Option<Instant> {
        self.state().opens.filter(|opens| *opens > Instant::now())
    }

    /// Waits until a request may be sent.
    pub(crate) async fn enter(&self) -> Pass<'_> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before the state is looked at, so that no change in between is missed.
            changed.as_mut().enable();
            match self.try_enter() {
                Ok(pass) => return pass,
                Err(Some(opens)) => {
                    tokio::select! {
                        () = tokio::time::sleep_until(opens) => {}
                        () = changed => {}
                    }
                }
                Err(None) => changed.await,
            }
        }
    }

    fn try_enter(&self) -> Result<Pass<'_>, Option<Instant>> {
        let mut state = self.state();
        if let Some(opens) = state.opens {
            if Instant::now() < opens {
                return Err(Some(opens));
            }
            state.opens = None;
        }
        if state.window.is_some_and(|window| state.unanswered >= window) {
            return Err(None);
        }
        state.unanswered = state.unanswered.saturating_add(1);
        Ok(Pass { gate: self, closings: state.closings, answered: false })
    }
}

impl Pass<'_> {
    /// The server took the request: let more through.
    pub(crate) fn succeeded(&mut self) {
        let mut state = self.gate.state();
        if self.leave(&mut state) {
            state.streak = 0;
            state.window =
                state.window.map(|window| window.saturating_mul(2)).filter(|window| *window < RECOVERED);
        }
        drop(state);
        self.gate.changed.notify_waiters();
    }

    /// The request failed in a way that says nothing about how busy the server is.
    pub(crate) fn failed(&mut self) {
        let mut state = self.gate.state();
        self.leave(&mut state);
        drop(state);
        self.gate.changed.notify_waiters();
    }

    /// The server asks to wait, maybe for so long: closes the gate for everyone, and says when it opens.
    ///
    /// Of the requests that were under way together, only the first makes the wait longer by itself: the
    /// others say the same thing once more.
    pub(crate) fn busy(&mut self, asked: Option<Duration>, waits: &Waits) -> Instant {
        let now = Instant::now();
        let mut state = self.gate.state();
        let first = self.closings == state.closings;
        self.leave(&mut state);
        if first {
            state.closings += 1;
            state.streak = state.streak.saturating_add(1);
            state.unanswered = 0;
            state.window = Some(1);
        }
        let wait = match asked {
            Some(asked) => waits.asked(asked),
            None if first => waits.after(state.streak),
            None => Duration::ZERO,
        };
        let opens = state.opens.map_or(now + wait, |opens| opens.max(now + wait));
        state.opens = Some(opens);
        drop(state);
        self.gate.changed.notify_waiters();
        opens
    }

    /// Takes the request off the count; whether it belongs to this opening.
    fn leave(&mut self, state: &mut State) -> bool {
        let current = self.closings == state.closings;
        if current && !self.answered {
            state.unanswered = state.unanswered.saturating_sub(1);
        }
        self.answered = true;
        current
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.failed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::Pace;
    use futures_util::FutureExt;

    fn waits() -> Waits {
        Waits::new(Pace { seed: Some(7), ..Pace::default() })
    }

    fn entered(gate: &Gate) -> Option<Pass<'_>> {
        gate.enter().now_or_never()
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_gate_lets_everyone_through() {
        let gate = Gate::new();
        let passes: Vec<_> = (0..1000).map(|_| entered(&gate)).collect();
        assert!(passes.iter().all(Option::is_some));
    }

    #[tokio::test(start_paused = true)]
    async fn one_answer_closes_it_for_all_and_one_probe_goes_ahead() {
        let gate = Gate::new();
        let mut pass = gate.enter().await;
        let start = Instant::now();
        let opens = pass.busy(Some(Duration::from_secs(7)), &waits());
        assert_eq!(opens - start, Duration::from_secs(7));
        assert!(entered(&gate).is_none());

        let mut probe = gate.enter().await;
        assert_eq!(start.elapsed(), Duration::from_secs(7));
        assert!(entered(&gate).is_none(), "the probe has no answer yet");
        probe.succeeded();
        let pair = [entered(&gate), entered(&gate)];
        assert!(pair.iter().all(Option::is_some));
        assert!(entered(&gate).is_none(), "two at a time after one success");
    }

    #[tokio::test(start_paused = true)]
    async fn it_recovers_by_doubling() {
        let gate = Gate::new();
        gate.enter().await.busy(Some(Duration::ZERO), &waits());
        for _ in 0..6 {
            gate.enter().await.succeeded();
        }
        let passes: Vec<_> = (0..1000).map(|_| entered(&gate)).collect();
        assert!(passes.iter().all(Option::is_some));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_were_under_way_together_close_it_once() {
        let gate = Gate::new();
        let mut passes = Vec::new();
        for _ in 0..50 {
            passes.push(gate.enter().await);
        }
        let start = Instant::now();
        let opens: Vec<_> = passes.iter_mut().map(|pass| pass.busy(None, &waits())).collect();
        assert!(opens.iter().all(|at| *at == opens[0]));
        assert!(opens[0] - start <= Duration::from_secs(1), "{:?}", opens[0] - start);
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_closings_take_longer() {
        let gate = Gate::new();
        let mut lengths = Vec::new();
        for _ in 0..4 {
            let mut probe = gate.enter().await;
            let start = Instant::now();
            lengths.push(probe.busy(None, &waits()) - start);
        }
        assert!(lengths.windows(2).all(|pair| pair[0] < pair[1]), "{lengths:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_probe_makes_room_for_another() {
        let gate = Gate::new();
        gate.enter().await.busy(Some(Duration::from_secs(1)), &waits());
        let probe = gate.enter().await;
        let waiting = gate.enter();
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(probe);
        assert!(waiting.now_or_never().is_some());
    }
}
