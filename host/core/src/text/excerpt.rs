//! The beginning and the end of output that may be of any length.

use super::{cut, cut_front, cut_saying_so};
use std::collections::VecDeque;

/// Room for the line that says what was left out, in bytes: a total of 20 digits fits.
const NOTE_BYTES: usize = 68;

/// What is kept of a stream of bytes while it comes in: all of it while that is little, else its beginning and
/// its end, because a program says at its start what it does and at its end how that went.
#[derive(Clone, Debug)]
pub struct Excerpt {
    max_bytes: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Excerpt {
    /// Nothing yet; never more than `max_bytes` bytes are held.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Takes in the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let head_room = (self.max_bytes / 2).saturating_sub(self.head.len());
        let (to_head, rest) = bytes.split_at(head_room.min(bytes.len()));
        self.head.extend_from_slice(to_head);
        let tail_room = self.max_bytes - self.max_bytes / 2;
        let rest = &rest[rest.len().saturating_sub(tail_room)..];
        let too_many = (self.tail.len() + rest.len()).saturating_sub(tail_room);
        self.tail.drain(..too_many);
        self.tail.extend(rest);
    }

    /// How many bytes came in, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// What was kept, as text of at most `max_bytes` bytes unless that is too small for the line that says that
    /// something was left out. What is not UTF-8 becomes U+FFFD.
    pub fn text(&self) -> String {
        let kept = self.head.len() + self.tail.len();
        if self.total == kept as u64 {
            let whole: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
            return cut_saying_so(String::from_utf8_lossy(&whole).into_owned(), self.max_bytes);
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let head = String::from_utf8_lossy(without_split_end(&self.head));
        let tail = String::from_utf8_lossy(without_split_start(&tail));
        // Replaced bytes take more room than they had.
        let room = self.max_bytes.saturating_sub(NOTE_BYTES) / 2;
        let (head, tail) = (cut(&head, room), cut_front(&tail, room));
        format!("{head}\n[cut: the first and the last of {} bytes shown]\n{tail}", self.total)
    }
}

/// `bytes` without a character that is begun at the end and not ended.
fn without_split_end(bytes: &[u8]) -> &[u8] {
    let near_end = bytes.len().saturating_sub(3);
    let Some(last) = bytes.iter().skip(near_end).rposition(|byte| *byte >= 0xc0) else { return bytes };
    let start = near_end + last;
    let needs = match bytes[start] {
        0xf0.. => 4,
        0xe0.. => 3,
        _ => 2,
    };
    if start + needs > bytes.len() { &bytes[..start] } else { bytes }
}

/// `bytes` without the rest of a character that began before them.
fn without_split_start(bytes: &[u8]) -> &[u8] {
    let inner = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    &bytes[inner..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(max_bytes: usize, pieces: &[&[u8]]) -> Excerpt {
        let mut excerpt = Excerpt::new(max_bytes);
        pieces.iter().for_each(|piece| excerpt.push(piece));
        excerpt
    }

    #[test]
    fn what_fits_is_kept_whole_however_it_comes() {
        assert_eq!(excerpt(6, &[b"abc", b"", b"def"]).text(), "abcdef");
        assert_eq!(excerpt(6, &[b"abcdef"]).text(), "abcdef");
        assert_eq!(excerpt(8, &["añ".as_bytes(), b"\xffb"]).text(), "añ\u{fffd}b");
        assert_eq!(excerpt(6, &[]).text(), "");
    }

    #[test]
    fn of_what_does_not_fit_both_ends_are_kept() {
        let long = format!("start{}end", "x".repeat(1000));
        let middle = "[cut: the first and the last of 1008 bytes shown]";
        let expected = format!("start{}\n{middle}\n{}end", "x".repeat(16 - 5), "x".repeat(16 - 3));
        for size in [1, 7, 100, 2000] {
            let pieces: Vec<&[u8]> = long.as_bytes().chunks(size).collect();
            let excerpt = excerpt(100, &pieces);
            assert_eq!((excerpt.text(), excerpt.total()), (expected.clone(), 1008), "{size}");
        }
    }

    #[test]
    fn no_character_is_split_and_the_bound_holds() {
        for (unit, max_bytes) in [("ñ", 101), ("€", 102), ("𝄞", 103), ("\u{fffd}", 104)] {
            let text = excerpt(max_bytes, &[unit.repeat(500).as_bytes()]).text();
            assert!(text.len() <= max_bytes, "{text}");
            let (head, tail) = (text.lines().next().unwrap(), text.lines().last().unwrap());
            assert_eq!(head.replace(unit, "") + &tail.replace(unit, ""), "", "{text}");
        }
        let noise = excerpt(1000, &[&[0xff; 900]]).text();
        assert!(noise.len() <= 1000 && noise.ends_with("bytes shown]"), "{noise}");
        let noise = excerpt(1000, &[&[0xff; 9000]]).text();
        assert!(noise.len() <= 1000 && noise.ends_with("\u{fffd}"), "{noise}");
    }
}
