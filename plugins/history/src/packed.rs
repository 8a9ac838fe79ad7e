//! An entry as twenty bytes: a window is copied with every fork and saved after every step.

use gg_module_sdk::{Entry, Role};

/// How many bytes an entry takes, in memory as in the state.
pub(crate) const ENTRY_BYTES: usize = 20;

/// An entry: little-endian id (8), turn (4), tokens (4), calls (2), flags (1), and one byte of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packed(pub(crate) [u8; ENTRY_BYTES]);

const PINNED: u8 = 1;
const ASSISTANT: u8 = 1 << 1;
const RESULTS: u8 = 1 << 2;
/// A summary or a stub: it stands for entries that are gone, and alone is not worth folding again.
const STANDS_FOR_OTHERS: u8 = 1 << 3;
/// All that `flags` may hold.
const KNOWN: u8 = PINNED | ASSISTANT | RESULTS | STANDS_FOR_OTHERS;

impl Packed {
    pub(crate) fn new(entry: &Entry) -> Self {
        let role = match entry.role {
            Role::User => 0,
            Role::Assistant => ASSISTANT,
            Role::Results => RESULTS,
        };
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..8].copy_from_slice(&entry.id.to_le_bytes());
        bytes[8..12].copy_from_slice(&entry.turn.to_le_bytes());
        bytes[12..16].copy_from_slice(&entry.tokens.to_le_bytes());
        bytes[16..18].copy_from_slice(&entry.calls.to_le_bytes());
        bytes[18] = role | if entry.pinned { PINNED } else { 0 };
        Self(bytes)
    }

    /// An entry that takes the place of others.
    pub(crate) fn standing_for_others(entry: &Entry) -> Self {
        let mut packed = Self::new(entry);
        packed.0[18] |= STANDS_FOR_OTHERS;
        packed
    }

    /// What keeps bytes that were written as a state from being an entry: bits that none has, and zero if there are
    /// none. Without a branch, for thousands in a row.
    pub(crate) fn faults(&self) -> u16 {
        let [flags, zero] = self.field(18);
        let two_roles = flags & (flags >> 1) & ASSISTANT;
        u16::from_le_bytes([flags & !KNOWN | two_roles, zero])
    }

    pub(crate) fn entry(&self) -> Entry {
        let role = match self.0[18] {
            flags if flags & ASSISTANT != 0 => Role::Assistant,
            flags if flags & RESULTS != 0 => Role::Results,
            _ => Role::User,
        };
        Entry {
            id: self.id(),
            turn: self.turn(),
            tokens: self.tokens(),
            calls: self.calls(),
            pinned: self.is_pinned(),
            role,
        }
    }

    pub(crate) fn id(&self) -> u64 {
        u64::from_le_bytes(self.field(0))
    }

    pub(crate) fn turn(&self) -> u32 {
        u32::from_le_bytes(self.field(8))
    }

    pub(crate) fn tokens(&self) -> u32 {
        u32::from_le_bytes(self.field(12))
    }

    pub(crate) fn calls(&self) -> u16 {
        u16::from_le_bytes(self.field(16))
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.0[18] & PINNED != 0
    }

    pub(crate) fn is_results(&self) -> bool {
        self.0[18] & RESULTS != 0
    }

    pub(crate) fn stands_for_others(&self) -> bool {
        self.0[18] & STANDS_FOR_OTHERS != 0
    }

    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.0[at..at + N]);
        field
    }
}

/// The entries as one run of bytes, without copying.
pub(crate) fn as_bytes(entries: &[[u8; ENTRY_BYTES]]) -> &[u8] {
    entries.as_flattened()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_survives() {
        for role in [Role::User, Role::Assistant, Role::Results] {
            for pinned in [false, true] {
                let entry = Entry {
                    id: u64::MAX - 1,
                    turn: u32::MAX - 2,
                    tokens: u32::MAX - 3,
                    calls: u16::MAX,
                    pinned,
                    role,
                };
                let packed = Packed::new(&entry);
                assert_eq!(packed.entry(), entry);
                assert!(!packed.stands_for_others());
                let stub = Packed::standing_for_others(&entry);
                assert_eq!(stub.entry(), entry);
                assert!(stub.stands_for_others());
                assert_eq!((packed.faults(), stub.faults()), (0, 0));
            }
        }
    }

    #[test]
    fn bytes_that_are_no_entry_are_refused() {
        let entry = Entry { id: 1, turn: 1, tokens: 1, calls: 0, pinned: false, role: Role::User };
        for (at, byte) in [(18, ASSISTANT | RESULTS), (18, 1 << 4), (19, 1)] {
            let mut bytes = Packed::new(&entry).0;
            bytes[at] = byte;
            assert_ne!(Packed(bytes).faults(), 0);
        }
    }
}
