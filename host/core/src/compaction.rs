//! When a window is compacted, and in which pieces it is summarised.

use serde::{Deserialize, Serialize};

/// What a window may hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Room {
    /// The model's context window, in tokens.
    pub context_window: u64,
    /// Tokens of the reply, kept free.
    pub max_output: u64,
    /// Tokens of the system prompt and the calls offered.
    pub fixed: u64,
}

impl Room {
    /// The most tokens that the window's messages may take.
    pub fn for_messages(&self) -> u64 {
        self.context_window.saturating_sub(self.max_output).saturating_sub(self.fixed)
    }

    /// Whether messages of `tokens` pass `threshold` (0 to 1) of the room.
    pub fn is_over(&self, tokens: u64, threshold: f64) -> bool {
        tokens as f64 > self.for_messages() as f64 * threshold
    }

    /// What a compaction aims for: half of what starts the next one, so that it does not start at once.
    pub fn target(&self, threshold: f64) -> u64 {
        (self.for_messages() as f64 * threshold / 2.0) as u64
    }
}

/// Groups texts of these sizes, in order, into pieces that each fit `room` tokens. A text that is larger than
/// the room stands alone, and whoever sends it has to cut it.
pub fn pieces(sizes: &[u64], room: u64) -> Vec<std::ops::Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut sum = 0u64;
    for (at, size) in sizes.iter().enumerate() {
        if at > start && sum.saturating_add(*size) > room {
            pieces.push(start..at);
            start = at;
            sum = 0;
        }
        sum = sum.saturating_add(*size);
    }
    if start < sizes.len() {
        pieces.push(start..sizes.len());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_leaves_space_for_the_reply_and_the_prompt() {
        let room = Room { context_window: 1000, max_output: 200, fixed: 100 };
        assert_eq!(room.for_messages(), 700);
        assert!(!room.is_over(560, 0.8));
        assert!(room.is_over(561, 0.8));
        assert_eq!(room.target(0.8), 280);
        let none = Room { context_window: 100, max_output: 200, fixed: 0 };
        assert_eq!(none.for_messages(), 0);
    }

    #[test]
    fn pieces_cover_everything_in_order() {
        assert_eq!(pieces(&[3, 3, 3, 9, 1], 6), vec![0..2, 2..3, 3..4, 4..5]);
        assert_eq!(pieces(&[], 6), vec![]);
        assert_eq!(pieces(&[7], 6), vec![0..1]);
    }
}
