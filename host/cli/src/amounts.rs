//! Amounts as people read them.

use gg_core::{Cost, Usage};
use std::time::Duration;

/// `950`, `12.3k`, `1.2M`.
pub(crate) fn tokens(n: u64) -> String {
    scaled(n, ["", "k", "M", "G"])
}

/// `950 B`, `12.3 kB`, `1.2 MB`.
pub(crate) fn bytes(n: u64) -> String {
    scaled(n, [" B", " kB", " MB", " GB"])
}

/// A number with one decimal and the largest unit that keeps it at 1 or more.
fn scaled(n: u64, units: [&str; 4]) -> String {
    if n < 1000 {
        return format!("{n}{}", units[0]);
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 1;
    // 999.95 would be rounded up to 1000.0.
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1}{}", units[unit])
}

/// `12 ms`, `3.4 s`, `12 s`, `2 min 05 s`, `1 h 02 min`.
pub(crate) fn elapsed(time: Duration) -> String {
    let ms = time.as_millis();
    let s = time.as_secs();
    match s {
        0 => format!("{ms} ms"),
        1..=9 => format!("{}.{} s", s, ms % 1000 / 100),
        10..=59 => format!("{s} s"),
        60..=3599 => format!("{} min {:02} s", s / 60, s % 60),
        _ => format!("{} h {:02} min", s / 3600, s / 60 % 60),
    }
}

/// Whole seconds only: what may stand in a line that is redrawn all the time without flickering.
pub(crate) fn clock(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..=9 => format!("{s} s"),
        _ => elapsed(time),
    }
}

/// As narrow as it can be, for a column: `0s`, `59s`, `2m05`, `1h02`.
pub(crate) fn short(time: Duration) -> String {
    match time.as_secs() {
        s @ 0..=59 => format!("{s}s"),
        s @ 60..=3599 => format!("{}m{:02}", s / 60, s % 60),
        s => format!("{}h{:02}", s / 3600, s / 60 % 60),
    }
}

/// In the operator's currency: `0.0123`, `1.23`.
pub(crate) fn cost(cost: Cost) -> String {
    match cost.0 {
        0.0 => "0".into(),
        c if c < 0.00005 => "<0.0001".into(),
        c if c < 1.0 => format!("{c:.4}"),
        c => format!("{c:.2}"),
    }
}

/// `12.3k tokens in (4.0k cached), 950 out`, with `~` before estimates.
pub(crate) fn usage(usage: &Usage, about: &str) -> String {
    let cached = match usage.cached {
        0 => String::new(),
        n => format!(" ({} cached)", tokens(n)),
    };
    format!("{about}{} tokens in{cached}, {about}{} out", tokens(usage.input), tokens(usage.output))
}

/// `1 turn`, `2 turns`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A time in milliseconds since 1970 as `2026-08-02 10:11:12Z`.
pub(crate) fn time(ms: u64) -> String {
    let stamp = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    match stamp {
        Some(stamp) => stamp.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        None => "at an unknown time".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        let shown: Vec<String> =
            [0, 999, 1000, 12_345, 999_949, 999_950, 1_234_567, u64::MAX].map(tokens).into();
        assert_eq!(shown, ["0", "999", "1.0k", "12.3k", "999.9k", "1.0M", "1.2M", "18446744073.7G"]);
        assert_eq!([999, 2048].map(bytes), ["999 B", "2.0 kB"]);
    }

    #[test]
    fn times_are_short() {
        let shown = [0, 999, 1000, 9999, 10_000, 59_999, 60_000, 125_000, 3_720_000]
            .map(|ms| elapsed(Duration::from_millis(ms)));
        assert_eq!(
            shown,
            ["0 ms", "999 ms", "1.0 s", "9.9 s", "10 s", "59 s", "1 min 00 s", "2 min 05 s", "1 h 02 min"]
        );
        assert_eq!([500, 61_000].map(|ms| clock(Duration::from_millis(ms))), ["0 s", "1 min 01 s"]);
        let shown = [999, 59_999, 125_000, 3_720_000].map(|ms| short(Duration::from_millis(ms)));
        assert_eq!(shown, ["0s", "59s", "2m05", "1h02"]);
        assert_eq!(time(0), "1970-01-01 00:00:00Z");
        assert_eq!(time(u64::MAX), "at an unknown time");
    }

    #[test]
    fn costs_keep_what_matters() {
        assert_eq!(
            [0.0, 0.00001, 0.0123, 12.345].map(|c| cost(Cost(c))),
            ["0", "<0.0001", "0.0123", "12.35"]
        );
        let used = Usage { input: 1500, cached: 500, output: 20, reasoning: 0 };
        assert_eq!(usage(&used, "~"), "~1.5k tokens in (500 cached), ~20 out");
    }
}
