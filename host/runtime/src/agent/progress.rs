//! What is known of an agent beside its modules.

use crate::telemetry::Spend;
use gg_core::{
    Ending, MessageId, ProfileId, Turn, event::Spent, loop_detection::LoopDetector, tokens::Calibration,
};
use gg_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// What is known of an agent beside its modules; durable with each of its steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The turns of this incarnation.
    pub(crate) turns: u32,
    /// What it has spent.
    pub(crate) spend: Spend,
    /// How many agents it has put to work.
    #[serde(default)]
    pub(crate) spawned: u64,
    /// The last turn that began. A history counts turns too, and is not believed where it says less.
    pub(crate) last_turn: Turn,
    /// The first turn of an agent that goes on from another. What it is told at its start belongs to that turn, so that
    /// a compaction before it leaves that in place, and later ones do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) opening: Option<Turn>,
    /// Replies in a row that were empty.
    pub(crate) empty_replies: u32,
    pub(crate) loop_detector: LoopDetector,
    pub(crate) calibration: Calibration,
    /// What earlier incarnations of the lineage came to, by their profiles.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    earlier: BTreeMap<ProfileId, Tally>,
    /// After a compaction that failed: the size, in tokens, that a window which fits has to pass before another is
    /// tried. 0 where none failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) compact_again_over: u64,
    /// The first turn that each summary in the window stands for. Its entry tells the last one only.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) summarised_from: BTreeMap<MessageId, Turn>,
    /// The reply whose calls are not all answered yet.
    pub(crate) open_reply: Option<MessageId>,
    /// How it ended, while it reads what came in that moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) declared: Option<Ending>,
    /// The text of replies that the output limit cut off, which the next reply goes on from.
    pub(crate) unfinished_text: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the agents of one profile within a lineage have used up, and learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Tally {
    turns: u32,
    spend: Spend,
    wall_time: Duration,
    spawned: u64,
    calibration: Calibration,
}

impl Progress {
    /// The turns of this profile within the lineage, which `maxTurns` and budgets count.
    pub(crate) fn turns_of(&self, profile: &ProfileId) -> u32 {
        let earlier = self.earlier.get(profile).map_or(0, |tally| tally.turns);
        earlier.saturating_add(self.turns)
    }

    /// What this profile has spent within the lineage.
    pub(crate) fn spend_of(&self, profile: &ProfileId) -> Spend {
        let mut spend = self.earlier.get(profile).map(|tally| tally.spend).unwrap_or_default();
        spend.add(&self.spend);
        spend
    }

    /// The time that earlier incarnations of this profile took within the lineage.
    pub(crate) fn wall_time_of(&self, profile: &ProfileId) -> Duration {
        self.earlier.get(profile).map(|tally| tally.wall_time).unwrap_or_default()
    }

    /// How many agents this profile has put to work within the lineage.
    pub(crate) fn spawned_of(&self, profile: &ProfileId) -> u64 {
        let earlier = self.earlier.get(profile).map_or(0, |tally| tally.spawned);
        earlier.saturating_add(self.spawned)
    }

    /// What this incarnation has used.
    pub(crate) fn spent(&self) -> Spent {
        Spent { turns: self.turns, usage: self.spend.usage, cost: self.spend.cost }
    }

    /// That of the agent of the profile `to` that the agent of the profile `from` becomes. `last_turn` is the last of
    /// its window, and `elapsed` the time that it took.
    pub(crate) fn of_successor(
        &self,
        from: &ProfileId,
        to: &ProfileId,
        last_turn: Turn,
        elapsed: Duration,
    ) -> Self {
        let mut earlier = self.earlier.clone();
        let tally = Tally {
            turns: self.turns_of(from),
            spend: self.spend_of(from),
            wall_time: self.wall_time_of(from) + elapsed,
            spawned: self.spawned_of(from),
            calibration: self.calibration,
        };
        earlier.insert(from.clone(), tally);
        let calibration = earlier.get(to).map(|tally| tally.calibration).unwrap_or_default();
        Self {
            earlier,
            last_turn,
            calibration,
            opening: Some(last_turn.next()),
            // Of a window that is carried over; of another, the next compaction forgets them.
            summarised_from: self.summarised_from.clone(),
            ..Self::default()
        }
    }

    /// That of a copy.
    pub(crate) fn of_copy(&self) -> Self {
        Self {
            last_turn: self.last_turn,
            calibration: self.calibration,
            opening: Some(self.last_turn.next()),
            summarised_from: self.summarised_from.clone(),
            ..Self::default()
        }
    }

    /// As it goes on record.
    pub(crate) fn as_json(&self) -> Result<Value, StoreError> {
        serde_json::to_value(self)
            .map_err(|error| StoreError::Conflict(format!("an agent's progress: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_summaries_begin_goes_along_and_on_record() {
        let progress = Progress {
            summarised_from: BTreeMap::from([(MessageId(7), Turn(2))]),
            compact_again_over: 9,
            ..Progress::default()
        };
        let read: Progress = serde_json::from_value(progress.as_json().unwrap()).unwrap();
        assert_eq!(read, progress);
        let (from, to) = (ProfileId::from("one"), ProfileId::from("two"));
        for next in [progress.of_copy(), progress.of_successor(&from, &to, Turn(3), Duration::ZERO)] {
            assert_eq!(next.summarised_from, progress.summarised_from);
            // Another model's room, or another's turn to try.
            assert_eq!(next.compact_again_over, 0);
        }
        // What was recorded before there was any of it.
        let mut older = progress.as_json().unwrap();
        older
            .as_object_mut()
            .unwrap()
            .retain(|key, _| !matches!(key.as_str(), "summarised_from" | "compact_again_over"));
        assert_eq!(serde_json::from_value::<Progress>(older).unwrap(), Progress::default());
    }
}
