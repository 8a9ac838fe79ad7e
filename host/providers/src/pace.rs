//! When a failed request is sent again.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

/// The longest that a server can make gg wait, whatever it says. A wait beyond a request's own total timeout
/// fails that request at once; this bounds how long the provider stays closed for requests to come.
const LONGEST_ASKED: Duration = Duration::from_secs(3600);

/// How failed requests are spaced: the waits double from `first` to `longest`, and each is shortened at random
/// by up to a half, so that agents which failed together do not return together.
#[derive(Clone, Debug)]
pub struct Pace {
    /// The wait after the first failure.
    pub first: Duration,
    /// The longest wait that gg chooses by itself.
    pub longest: Duration,
    /// The longest wait that it grants a server's `Retry-After`.
    pub longest_asked: Duration,
    /// Where the randomness comes from; a number makes it repeatable.
    pub seed: Option<u64>,
    /// The wall clock, for a `Retry-After` that is a date and comes without the server's own time.
    pub now: fn() -> SystemTime,
}

impl Default for Pace {
    /// 1 s, doubling up to 30 s.
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            longest: Duration::from_secs(30),
            longest_asked: LONGEST_ASKED,
            seed: None,
            now: SystemTime::now,
        }
    }
}

impl Pace {
    /// Never waits: for recordings, and for tests.
    pub fn immediate() -> Self {
        let none = Duration::ZERO;
        Self { first: none, longest: none, longest_asked: none, seed: Some(0), ..Self::default() }
    }
}

/// A pace with its dice.
#[derive(Debug)]
pub(crate) struct Waits {
    pub(crate) pace: Pace,
    dice: Mutex<fastrand::Rng>,
    /// The part of a wait that is left to chance, from 0 to 1.
    chance: f64,
}

impl Waits {
    pub(crate) fn new(pace: Pace) -> Self {
        let dice = pace.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Self { pace, dice: Mutex::new(dice), chance: 0.5 }
    }

    /// Waits that are never shortened.
    #[cfg(test)]
    pub(crate) fn whole(pace: Pace) -> Self {
        Self { chance: 0.0, ..Self::new(pace) }
    }

    /// The wait after the `failures`th failure in a row, counted from 1.
    pub(crate) fn after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let whole = self.pace.first.saturating_mul(1 << doublings).min(self.pace.longest);
        let roll = self.dice.lock().unwrap_or_else(PoisonError::into_inner).f64();
        whole.mul_f64(1.0 - roll * self.chance)
    }

    /// What a server asked for, as far as gg goes along.
    pub(crate) fn asked(&self, asked: Duration) -> Duration {
        asked.min(self.pace.longest_asked)
    }
}

/// What a response says about asking again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    /// How long to wait (`Retry-After`, in seconds or as a date; `retry-after-ms`).
    pub(crate) wait: Option<Duration>,
    /// Whether to ask again at all (`x-should-retry`), which the status alone may not show.
    pub(crate) again: Option<bool>,
}

impl Advice {
    /// Reads the headers of a response; what cannot be read is as good as absent.
    pub(crate) fn of(headers: &BTreeMap<String, String>, now: fn() -> SystemTime) -> Self {
        let header = |name: &str| headers.get(name).map(|value| value.trim());
        let seconds = |text: &str, unit: f64| {
            let number: f64 = text.parse().ok()?;
            Duration::try_from_secs_f64(number * unit).ok()
        };
        let date = |text: &str| httpdate::parse_http_date(text).ok();
        let from_date = |until: SystemTime| {
            // The server's own clock is the one its date was made with.
            let from = header("date").and_then(date).unwrap_or_else(now);
            until.duration_since(from).unwrap_or_default()
        };
        let wait = header("retry-after-ms").and_then(|text| seconds(text, 1e-3)).or_else(|| {
            let text = header("retry-after")?;
            seconds(text, 1.0).or_else(|| date(text).map(from_date))
        });
        let again = header("x-should-retry").and_then(|text| text.parse().ok());
        Self { wait, again }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice(headers: &[(&str, &str)]) -> Advice {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Advice::of(&headers.collect(), || SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777))
    }

    fn wait(headers: &[(&str, &str)]) -> Option<Duration> {
        advice(headers).wait
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let secs = |n| Some(Duration::from_secs(n));
        assert_eq!(wait(&[("retry-after", "7")]), secs(7));
        assert_eq!(wait(&[("retry-after", " 1.5 ")]), Some(Duration::from_millis(1500)));
        assert_eq!(wait(&[("retry-after-ms", "20"), ("retry-after", "7")]), Some(Duration::from_millis(20)));
        assert_eq!(wait(&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")]), secs(10));
        let dated =
            [("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), ("date", "Sun, 06 Nov 1994 08:49:44 GMT")];
        assert_eq!(wait(&dated), secs(3));
        let past =
            [("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), ("date", "Sun, 06 Nov 1994 08:50:00 GMT")];
        assert_eq!(wait(&past), secs(0));
        for odd in ["", "soon", "-1", "NaN", "inf", "1e400"] {
            assert_eq!(wait(&[("retry-after", odd)]), None, "{odd}");
        }
    }

    #[test]
    fn a_server_may_say_whether_to_ask_again() {
        assert_eq!(advice(&[("x-should-retry", "false")]).again, Some(false));
        assert_eq!(advice(&[("x-should-retry", "true")]).again, Some(true));
        assert_eq!(advice(&[]).again, None);
    }

    #[test]
    fn waits_double_within_their_bounds() {
        let waits = Waits::new(Pace { seed: Some(1), ..Pace::default() });
        for (failures, whole) in [(1, 1), (2, 2), (3, 4), (5, 16), (6, 30), (u32::MAX, 30)] {
            let wait = waits.after(failures);
            let whole = Duration::from_secs(whole);
            assert!(wait <= whole && wait >= whole / 2, "{failures}: {wait:?}");
        }
        assert_eq!(waits.asked(Duration::from_secs(1 << 40)), LONGEST_ASKED);
        assert_eq!(Waits::new(Pace::immediate()).after(9), Duration::ZERO);
    }
}
