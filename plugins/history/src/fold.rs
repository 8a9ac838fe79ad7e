//! What compaction should summarise.

use crate::window::{Unit, UnitState, Window};
use gg_module_sdk::Segment;

impl Window {
    /// The oldest runs of entries that together bring the window down to `budget`, or all that may go.
    ///
    /// Never a pinned entry, nothing of the last `keep_turns` turns, no pair cut. A run that is nothing but
    /// one earlier summary is left alone: summarising it again would gain nothing, for ever.
    pub(crate) fn fold(&self, budget: u64, keep_turns: u32) -> Vec<Segment> {
        let Some(last_turn) = self.turn.checked_sub(keep_turns) else { return Vec::new() };
        let mut segments = Vec::new();
        let mut left = self.tokens;
        for run in self.runs(last_turn) {
            if left <= budget {
                break;
            }
            let mut taken = 0;
            let mut tokens = 0;
            for unit in &run {
                if left <= budget && is_worth_it(&run[..taken]) {
                    break;
                }
                taken += 1;
                tokens += unit.tokens;
                left = left.saturating_sub(unit.tokens);
            }
            segments.extend(self.segment_of(&run[..taken], tokens));
        }
        segments
    }

    /// Runs of neighbouring units that may go and are worth it.
    fn runs(&self, last_turn: u32) -> Vec<Vec<Unit>> {
        let mut runs = vec![Vec::new()];
        for unit in self.units() {
            let may_go = unit.state != UnitState::Fixed
                && self.entries[unit.range.clone()]
                    .iter()
                    .all(|bytes| crate::packed::Packed(*bytes).turn() <= last_turn);
            match runs.last_mut() {
                Some(run) if may_go => run.push(unit),
                _ => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| is_worth_it(run));
        runs
    }

    fn segment_of(&self, run: &[Unit], tokens: u64) -> Option<Segment> {
        let first = self.at(run.first()?.range.start)?;
        let last = self.at(run.last()?.range.end - 1)?;
        Some(Segment { first: first.id(), last: last.id(), tokens })
    }
}

fn is_worth_it(run: &[Unit]) -> bool {
    match run {
        [] => false,
        [only] => only.state == UnitState::Free,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_module_sdk::{Entry, Role, Summary};

    fn entry(id: u64, turn: u32, role: Role, calls: u16, pinned: bool) -> Entry {
        Entry { id, turn, tokens: 10, calls, pinned, role }
    }

    fn said(id: u64, turn: u32) -> Entry {
        entry(id, turn, Role::User, 0, false)
    }

    /// A pinned prompt (1), then for each turn a reply with calls and its results.
    fn conversation(turns: u32) -> Window {
        let mut window = Window::default();
        window.append(0, &[entry(1, 0, Role::User, 0, true)]).unwrap();
        for turn in 1..=turns {
            let id = u64::from(turn) * 2;
            let pair =
                [entry(id, turn, Role::Assistant, 2, false), entry(id + 1, turn, Role::Results, 0, false)];
            window.append(turn, &pair).unwrap();
        }
        window
    }

    fn segments(window: &Window, budget: u64, keep_turns: u32) -> Vec<(u64, u64, u64)> {
        window.fold(budget, keep_turns).iter().map(|s| (s.first, s.last, s.tokens)).collect()
    }

    #[test]
    fn folds_the_oldest_pairs_until_the_budget_is_met() {
        let window = conversation(5);
        assert_eq!(window.tokens, 110);
        assert_eq!(segments(&window, 110, 0), vec![]);
        assert_eq!(segments(&window, 109, 0), vec![(2, 3, 20)]);
        assert_eq!(segments(&window, 90, 0), vec![(2, 3, 20)]);
        assert_eq!(segments(&window, 89, 0), vec![(2, 5, 40)]);
        assert_eq!(segments(&window, 0, 0), vec![(2, 11, 100)]);
    }

    #[test]
    fn keeps_the_last_turns_and_what_is_pinned() {
        let mut window = conversation(5);
        assert_eq!(segments(&window, 0, 2), vec![(2, 7, 60)]);
        assert_eq!(segments(&window, 0, 5), vec![]);
        assert_eq!(segments(&window, 0, u32::MAX), vec![]);
        window.append(6, &[entry(20, 6, Role::User, 0, true), said(21, 6), said(22, 7)]).unwrap();
        assert_eq!(segments(&window, 0, 0), vec![(2, 11, 100), (21, 22, 20)]);
        assert_eq!(segments(&window, 0, 1), vec![(2, 11, 100), (21, 21, 10)]);
        assert_eq!(segments(&window, 45, 1), vec![(2, 11, 100)]);
    }

    #[test]
    fn calls_that_wait_for_results_stay() {
        let mut window = conversation(1);
        window.append(2, &[entry(9, 2, Role::Assistant, 1, false)]).unwrap();
        assert_eq!(segments(&window, 0, 0), vec![(2, 3, 20)]);
    }

    #[test]
    fn a_summary_alone_is_not_folded_again() {
        let mut window = conversation(3);
        window.folded(&[Summary { first: 2, last: 5, entry: said(50, 2) }]).unwrap();
        assert_eq!(segments(&window, 0, 1), vec![], "nothing but the summary may go");
        assert_eq!(segments(&window, 39, 0), vec![(50, 7, 30)], "with another it may");
    }
}
