//! The state as bytes, all numbers little-endian:
//!
//! ```text
//! revision u64, oldest revision u64, turn u32, last archive u32
//! steps    u32, then for each: revision u64, kept u32
//! archives u32, then for each: number u32, from u32, to u32, title bytes u32, title, entries
//! entries
//! ```
//!
//! where `entries` is a u32 and that many times twenty bytes (see `packed`).

use crate::{
    archive::Archive,
    log::{Log, REMEMBERED},
    packed::{ENTRY_BYTES, Packed, as_bytes},
    window::{MAX_ENTRIES, Window, sum},
};
use gg_module_sdk::{Error, State};

impl State for Window {
    fn save(&self) -> Result<Vec<u8>, Error> {
        let archived: usize = self.archives.iter().map(|archive| archive.entries.len() + 16).sum();
        let mut out = Vec::with_capacity(512 + (self.entries.len() + archived) * ENTRY_BYTES);
        out.extend_from_slice(&self.log.revision.to_le_bytes());
        out.extend_from_slice(&self.log.oldest.to_le_bytes());
        push(&mut out, self.turn);
        push(&mut out, self.last_archive);
        push(&mut out, self.log.steps.len() as u32);
        for (revision, kept) in &self.log.steps {
            out.extend_from_slice(&revision.to_le_bytes());
            push(&mut out, *kept);
        }
        push(&mut out, self.archives.len() as u32);
        for archive in &self.archives {
            push(&mut out, archive.number);
            push(&mut out, archive.from);
            push(&mut out, archive.to);
            push(&mut out, archive.title.len() as u32);
            out.extend_from_slice(archive.title.as_bytes());
            push_entries(&mut out, &archive.entries);
        }
        push_entries(&mut out, &self.entries);
        Ok(out)
    }

    fn load(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader { left: bytes };
        let window = reader.window().ok_or_else(|| {
            Error::State(format!("not a window, at byte {}", bytes.len() - reader.left.len()))
        })?;
        match window.is_sound() && reader.left.is_empty() {
            true => Ok(window),
            false => Err(Error::State("not a window: its parts contradict each other".into())),
        }
    }
}

fn push(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn push_entries(out: &mut Vec<u8>, entries: &[[u8; ENTRY_BYTES]]) {
    push(out, entries.len() as u32);
    out.extend_from_slice(as_bytes(entries));
}

impl Window {
    /// What this module itself would never write differently.
    fn is_sound(&self) -> bool {
        let log = &self.log;
        let grows = log.steps.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1);
        let in_range = log.steps.iter().all(|(revision, kept)| {
            (log.oldest + 1..=log.revision).contains(revision) && *kept as usize <= self.entries.len()
        });
        let numbers_grow = self.archives.windows(2).all(|two| two[0].number < two[1].number);
        let numbers_fit = self.archives.last().is_none_or(|last| last.number <= self.last_archive);
        let oldest_fits = (1..=log.revision).contains(&log.oldest) && log.steps.len() <= REMEMBERED;
        grows && in_range && oldest_fits && numbers_grow && numbers_fit && self.entries.len() <= MAX_ENTRIES
    }
}

/// Takes a state apart; nothing, where it ends too soon.
struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(len)?;
        self.left = left;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn entries(&mut self) -> Option<Vec<[u8; ENTRY_BYTES]>> {
        let count = self.u32()? as usize;
        let (entries, _) = self.take(count.checked_mul(ENTRY_BYTES)?)?.as_chunks();
        // Looked at where they stand and then copied as one: this is done with every copy of a conversation.
        let faults = entries.iter().fold(0, |faults, bytes| faults | Packed(*bytes).faults());
        (faults == 0).then(|| entries.to_vec())
    }

    fn window(&mut self) -> Option<Window> {
        let (revision, oldest) = (self.u64()?, self.u64()?);
        let (turn, last_archive) = (self.u32()?, self.u32()?);
        // Each list is grown as it is read, so that a made-up count costs nothing.
        let mut steps = Vec::new();
        for _ in 0..self.u32()? {
            steps.push((self.u64()?, self.u32()?));
        }
        let mut archives = Vec::new();
        for _ in 0..self.u32()? {
            let (number, from, to) = (self.u32()?, self.u32()?, self.u32()?);
            let title_bytes = self.u32()? as usize;
            let title = str::from_utf8(self.take(title_bytes)?).ok()?.to_owned();
            archives.push(Archive { number, from, to, title, entries: self.entries()? });
        }
        let entries = self.entries()?;
        let tokens = sum(&entries);
        Some(Window { entries, tokens, turn, log: Log { revision, oldest, steps }, last_archive, archives })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_module_sdk::{Entry, Role, testing::Texts};

    fn busy_window() -> Window {
        let mut window = Window::default();
        for turn in 1..30u32 {
            let id = u64::from(turn);
            let entry = Entry { id, turn, tokens: turn, calls: 0, pinned: turn == 1, role: Role::User };
            window.append(turn, &[entry]).unwrap();
        }
        window.archive(30, (2, 4), "ñ", &Texts::default()).unwrap();
        window.archive(30, (9, 9), "second", &Texts::default()).unwrap();
        window
    }

    #[test]
    fn everything_survives() {
        let window = busy_window();
        let bytes = window.save().unwrap();
        assert_eq!(Window::load(&bytes), Ok(window.clone()));
        let room = bytes.len() - REMEMBERED * 12;
        assert!(room < (window.len() + 4) * 24 + 100, "{room} bytes");
    }

    #[test]
    fn no_bytes_make_it_panic_and_only_whole_states_are_accepted() {
        let bytes = busy_window().save().unwrap();
        for end in 0..bytes.len() {
            assert!(Window::load(&bytes[..end]).is_err(), "cut at {end}");
        }
        assert!(Window::load(&[&bytes[..], &[0]].concat()).is_err());
        for at in 0..bytes.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = byte;
                // Some of these are states too; what is accepted must be written back as it came.
                if let Ok(window) = Window::load(&changed) {
                    assert_eq!(window.save().unwrap(), changed, "byte {at} as {byte}");
                    window.fold(0, 0);
                    window.changes(window.log.oldest);
                }
            }
        }
    }
}
