//! What a run and each of its agents may use up.

use crate::telemetry::Spend;
use gg_config::Budget;
use gg_core::{BudgetLimit, BudgetScope, Ending};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// What all agents of a run have used.
#[derive(Debug, Default)]
pub(crate) struct RunBudget {
    budget: Budget,
    turns: AtomicU64,
    agents: AtomicU64,
    spend: Mutex<Spend>,
}

impl RunBudget {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// The time that the run has, in milliseconds, and how its agents end after it.
    pub(crate) fn wall_time(&self) -> Option<(u64, Ending)> {
        wall_time(&self.budget, BudgetScope::Run)
    }

    /// Takes a turn out of the budget, unless something is used up.
    pub(crate) fn take_turn(&self) -> Result<(), Ending> {
        let spend = *self.spend.lock().unwrap_or_else(PoisonError::into_inner);
        let used_up = |limit, max| Err(used_up(BudgetScope::Run, limit, max));
        match exceeded(&self.budget, &spend) {
            Some((limit, max)) => return used_up(limit, max),
            None if take(&self.turns, self.budget.turns) => {}
            None => return used_up(BudgetLimit::Turns, self.budget.turns.unwrap_or_default() as f64),
        }
        Ok(())
    }

    /// Takes an agent out of the budget. Where there is none left, the answer is how many there were.
    pub(crate) fn take_agent(&self) -> Result<(), u64> {
        if take(&self.agents, self.budget.agents) {
            return Ok(());
        }
        Err(self.budget.agents.unwrap_or_default())
    }

    /// Counts what a request used.
    pub(crate) fn spent(&self, request: &Spend) {
        // The sum is whole after every statement, so a poisoned lock still holds a good one.
        self.spend.lock().unwrap_or_else(PoisonError::into_inner).add(request);
    }
}

/// Whether an agent that took `turns` turns and spent `spend` may go on.
pub(crate) fn agent_may_go_on(budget: &Budget, turns: u32, spend: &Spend) -> Result<(), Ending> {
    let used_up = |limit, max| Err(used_up(BudgetScope::Agent, limit, max));
    if let Some(max) = budget.turns.filter(|max| u64::from(turns) >= *max) {
        return used_up(BudgetLimit::Turns, max as f64);
    }
    match exceeded(budget, spend) {
        Some((limit, max)) => used_up(limit, max),
        None => Ok(()),
    }
}

/// The time that a budget gives, in milliseconds, and how an agent ends after it.
pub(crate) fn wall_time(budget: &Budget, scope: BudgetScope) -> Option<(u64, Ending)> {
    let max = budget.wall_time_ms?;
    Some((max, used_up(scope, BudgetLimit::WallTimeMs, max as f64)))
}

fn used_up(scope: BudgetScope, limit: BudgetLimit, max: f64) -> Ending {
    Ending::Budget { scope, limit, max }
}

fn exceeded(budget: &Budget, spend: &Spend) -> Option<(BudgetLimit, f64)> {
    let tokens = spend.usage.input.saturating_add(spend.usage.output);
    if let Some(max) = budget.tokens.filter(|max| tokens >= *max) {
        return Some((BudgetLimit::Tokens, max as f64));
    }
    let cost = spend.cost.map_or(0.0, |cost| cost.0);
    budget.cost.filter(|max| cost >= *max).map(|max| (BudgetLimit::Cost, max))
}

/// Counts one more, unless there are `max` already.
fn take(count: &AtomicU64, max: Option<u64>) -> bool {
    let one_more = |n: u64| max.is_none_or(|max| n < max).then_some(n + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
}
