//! The ids of programs: short, unlike one another, and never issued twice within a run.
//!
//! Two agents may hold copies of one library and know nothing of each other, so neither can look up what the other
//! issued. Instead an id *is* a number that no two agents can both come to: the agent's own number paired with how
//! many ids it issued before, scrambled so that neighbours do not look alike. Both steps can be undone, so nothing
//! is left to chance, and a few numbers say of every id whether it was issued, also after its program is gone.

use serde::{Deserialize, Serialize};

/// The digits of an id. Without `l`, `o`, `0` and `1`, which are taken for one another.
const DIGITS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Bits of a digit.
const DIGIT_BITS: u32 = 5;

/// The longest id: its number still fits where it is computed.
pub(crate) const MAX_LENGTH: u8 = 25;

/// Bits of a holder's number. Two of them paired fit in the longest id.
const HOLDER_BITS: u32 = 60;

/// The most runs that are remembered. One is added for each agent that the library is handed on to; without the
/// oldest, a program that is gone is only called unknown.
const MAX_RUNS: usize = 1024;

/// An odd number with bits all over, so that a product with it differs in many places where a factor differs in
/// one: the golden ratio's, as is usual.
const SCATTER: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

/// The ids that one holder issued at one length: those from `first` to before `next`, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    holder: u64,
    length: u8,
    first: u64,
    next: u64,
}

/// Every id that was issued for a library, by all that held it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Issued {
    runs: Vec<Run>,
}

impl Issued {
    /// A new id of this length. It is longer only where the numbers of agents and ids have outgrown the length,
    /// so that it is never one that another holder may have. `None` if there are no more, which no library lives
    /// to see.
    pub(crate) fn issue(&mut self, holder: u64, length: u8) -> Option<String> {
        let count = self.runs.iter().rev().find(|run| run.holder == holder).map_or(0, |run| run.next);
        let id = encode(holder, count, length)?;
        match self.runs.last_mut() {
            Some(run) if run.holder == holder && run.length == length => run.next = count + 1,
            _ => {
                if self.runs.len() >= MAX_RUNS {
                    self.runs.remove(0);
                }
                self.runs.push(Run { holder, length, first: count, next: count + 1 });
            }
        }
        Some(id)
    }

    /// Whether an id was issued, as far as that is remembered.
    pub fn has(&self, id: &str) -> bool {
        let Some((holder, count)) = decode(id) else { return false };
        let of_run = |run: &Run| {
            run.holder == holder
                && (run.first..run.next).contains(&count)
                && encode(holder, count, run.length).as_deref() == Some(id)
        };
        self.runs.iter().any(of_run)
    }
}

/// The number that an agent's ids are made of. gg numbers its agents; another host may name them as it likes, and
/// gives each a salt of its own.
pub(crate) fn holder(agent: &str, salt: u64) -> u64 {
    let number = agent.strip_prefix('a').and_then(|number| number.parse().ok());
    number.filter(|number: &u64| *number >> HOLDER_BITS == 0).unwrap_or(salt >> (u64::BITS - HOLDER_BITS))
}

fn encode(holder: u64, count: u64, length: u8) -> Option<String> {
    let number = pair(holder, count)?;
    let length = (length..=MAX_LENGTH).find(|length| number >> bits(*length) == 0)?;
    let mut number = scramble(number, bits(length));
    let mut id = String::with_capacity(length.into());
    for _ in 0..length {
        id.push(char::from(DIGITS[(number & 31) as usize]));
        number >>= DIGIT_BITS;
    }
    Some(id)
}

/// The holder and count that an id was made of, if it looks like one.
fn decode(id: &str) -> Option<(u64, u64)> {
    let length = u8::try_from(id.len()).ok().filter(|length| (1..=MAX_LENGTH).contains(length))?;
    let mut number = 0_u128;
    for byte in id.bytes().rev() {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        number = number << DIGIT_BITS | digit as u128;
    }
    unpair(unscramble(number, bits(length)))
}

fn bits(length: u8) -> u32 {
    u32::from(length) * DIGIT_BITS
}

/// One number for two: Cantor's, which is small where both are.
fn pair(holder: u64, count: u64) -> Option<u128> {
    if holder >> HOLDER_BITS != 0 || count >> HOLDER_BITS != 0 {
        return None;
    }
    let sum = u128::from(holder) + u128::from(count);
    Some(sum * (sum + 1) / 2 + u128::from(count))
}

fn unpair(number: u128) -> Option<(u64, u64)> {
    let sum = ((8 * number + 1).isqrt() - 1) / 2;
    let count = number - sum * (sum + 1) / 2;
    Some((u64::try_from(sum - count).ok()?, u64::try_from(count).ok()?))
}

/// Maps the numbers of so many bits onto themselves, each to another.
fn scramble(number: u128, bits: u32) -> u128 {
    let round = |number: u128| fold(number.wrapping_mul(SCATTER) & mask(bits), bits);
    round(round(number))
}

fn unscramble(number: u128, bits: u32) -> u128 {
    let inverse = inverse(SCATTER);
    let round = |number: u128| fold(number, bits).wrapping_mul(inverse) & mask(bits);
    round(round(number))
}

/// Mixes the upper half into the lower. Doing it twice does nothing.
fn fold(number: u128, bits: u32) -> u128 {
    number ^ (number >> bits.div_ceil(2))
}

fn mask(bits: u32) -> u128 {
    (1 << bits) - 1
}

/// What an odd number has to be multiplied with to give 1, modulo any power of two: each step doubles the bits
/// that are right, and an odd number is its own inverse in its last three.
fn inverse(odd: u128) -> u128 {
    (0..6).fold(odd, |inverse, _| inverse.wrapping_mul(2_u128.wrapping_sub(odd.wrapping_mul(inverse))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_encoded_can_be_read_back_at_every_length() {
        let most = (1 << HOLDER_BITS) - 1;
        for (holder, count) in
            [(0, 0), (1, 0), (0, 1), (3, 7), (40_000, 5_000), (most, 0), (1, most), (most, most)]
        {
            for length in 1..=MAX_LENGTH {
                let id = encode(holder, count, length).unwrap();
                assert!(id.len() >= length.into(), "{id}");
                assert_eq!(decode(&id), Some((holder, count)), "{id}");
            }
        }
        assert_eq!(encode(most + 1, 0, 6), None);
        for other in ["", "abc1", "ABC", "ab c", "añb", &"a".repeat(26)] {
            assert_eq!(decode(other), None, "{other}");
        }
    }

    #[test]
    fn all_ids_of_one_length_differ() {
        // Two digits have 1024 numbers: the first 1024 pairs take each of them once.
        let ids: BTreeSet<String> =
            (0..1024).map(|n| unpair(n).unwrap()).filter_map(|(h, c)| encode(h, c, 2)).collect();
        assert_eq!(ids.len(), 1024);
        assert!(ids.iter().all(|id| id.len() == 2));
        let (holder, count) = unpair(1024).unwrap();
        assert_eq!(encode(holder, count, 2).unwrap().len(), 3, "an id grows before it repeats another");
    }

    #[test]
    fn neighbours_do_not_look_alike() {
        let ids: Vec<String> = (0..5).map(|count| encode(1, count, 6).unwrap()).collect();
        for (at, id) in ids.iter().enumerate() {
            for other in &ids[at + 1..] {
                let same = id.bytes().zip(other.bytes()).filter(|(a, b)| a == b).count();
                assert!(same <= 2, "{ids:?}");
            }
        }
    }

    #[test]
    fn issued_ids_are_known_by_whoever_issued_them_and_at_whatever_length() {
        let mut issued = Issued::default();
        let mut all = Vec::new();
        for (holder, length, count) in [(1, 6, 3), (1, 4, 2), (1, 6, 1), (7, 6, 2)] {
            all.extend((0..count).map(|_| issued.issue(holder, length).unwrap()));
        }
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 8);
        assert!(all.iter().all(|id| issued.has(id)), "{all:?}");
        for other in [encode(1, 3, 6), encode(1, 6, 6), encode(7, 2, 6), encode(2, 0, 6)] {
            let other = other.unwrap();
            assert!(!issued.has(&other), "{other}");
        }
        assert_eq!(issued.runs.len(), 4);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut issued = Issued::default();
        let first = issued.issue(0, 6).unwrap();
        let ids: Vec<String> = (1..=MAX_RUNS as u64).map(|holder| issued.issue(holder, 6).unwrap()).collect();
        assert_eq!(issued.runs.len(), MAX_RUNS);
        assert!(!issued.has(&first));
        assert!(ids.iter().all(|id| issued.has(id)));
    }

    #[test]
    fn agents_are_known_by_number_or_by_salt() {
        assert_eq!(holder("a12", 5), 12);
        assert_eq!(holder("planner", u64::MAX), (1 << HOLDER_BITS) - 1);
        assert_eq!(holder("a99999999999999999999", 16), 1);
        assert_eq!(holder("a18446744073709551615", 16), 1);
    }
}
