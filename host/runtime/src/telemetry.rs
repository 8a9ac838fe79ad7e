//! What a run used, per profile and per agent.

use gg_core::{
    Cost, Prices, ProfileId, Purpose, Turn, Usage,
    event::{Event, ProfileRollup},
};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// Tokens and money that one agent spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spend {
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Cost>,
}

impl Spend {
    /// Adds what another spent.
    pub(crate) fn add(&mut self, other: &Self) {
        self.usage += other.usage;
        if let Some(Cost(more)) = other.cost {
            self.cost = Some(Cost(self.cost.unwrap_or_default().0 + more));
        }
    }

    /// Adds one request, and gives its `usage` event.
    pub(crate) fn request(
        &mut self,
        turn: Turn,
        purpose: Purpose,
        usage: Usage,
        estimated: bool,
        prices: Option<&Prices>,
    ) -> Event {
        let cost = prices.map(|prices| prices.cost(&usage));
        self.add(&Self { usage, cost });
        Event::Usage { turn, purpose, usage, estimated, cost }
    }
}

/// The sums of a run, by profile. Only sums: each agent adds to them when something is committed.
#[derive(Debug, Default)]
pub(crate) struct Rollup {
    profiles: Mutex<BTreeMap<ProfileId, ProfileRollup>>,
}

impl Rollup {
    /// Changes the sums of one profile.
    pub(crate) fn add(&self, profile: &ProfileId, model: &str, change: impl FnOnce(&mut ProfileRollup)) {
        // A sum is whole after every statement of `change`, so a poisoned lock still holds good sums.
        let mut profiles = self.profiles.lock().unwrap_or_else(PoisonError::into_inner);
        change(profiles.entry(profile.clone()).or_insert_with(|| ProfileRollup {
            profile: profile.clone(),
            model: model.to_owned(),
            agents: 0,
            turns: 0,
            requests: 0,
            usage: Usage::default(),
            cost: None,
        }));
    }

    /// The sums, in the profiles' order.
    pub(crate) fn profiles(&self) -> Vec<ProfileRollup> {
        self.profiles.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}
