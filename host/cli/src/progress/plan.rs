//! What a run's configuration says of how it is shown.

use gg_config::Configuration;
use gg_core::ProfileId;
use serde_json::Value;
use std::collections::BTreeMap;

/// See the module's own text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// How many agents may run at once; absent where that is not known.
    pub(crate) slots: Option<u32>,
    limits: BTreeMap<ProfileId, u32>,
}

impl Plan {
    /// The plan of a run that is about to start.
    pub(crate) fn of(configuration: &Configuration) -> Self {
        let limits = configuration.agents.iter().map(|profile| (profile.id.clone(), profile.max_turns));
        Self { slots: Some(configuration.max_parallel), limits: limits.collect() }
    }

    /// The plan of a run on record, as far as its configuration can be read. A machine has no limit of its own: the
    /// profiles that it runs have.
    pub(crate) fn of_record(config: &Value) -> Self {
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let limit =
            |profile: &Value| Some((ProfileId::new(profile["id"].as_str()?), number(&profile["maxTurns"])?));
        let profiles = config["agents"].as_array().into_iter().flatten();
        Self { slots: number(&config["maxParallel"]), limits: profiles.filter_map(limit).collect() }
    }

    /// How many turns a profile may take.
    pub(crate) fn turn_limit(&self, profile: &ProfileId) -> Option<u32> {
        self.limits.get(profile).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_says_what_profiles_may_take_and_nothing_of_machines() {
        let machine = json!({
            "id": "feature",
            "name": "Feature",
            "capabilities": [{
                "id": "fsm",
                "enabled": true,
                "params": { "states": [{ "name": "build", "agentId": "coder", "transitions": [] }] },
            }],
        });
        let config = json!({ "maxParallel": 2, "agents": [machine, { "id": "coder", "maxTurns": 20 }, { "maxTurns": 3 }] });
        let plan = Plan::of_record(&config);
        let expected = Plan { slots: Some(2), limits: [(ProfileId::new("coder"), 20)].into() };
        assert_eq!(plan, expected);
        assert_eq!([plan.turn_limit(&"feature".into()), plan.turn_limit(&"coder".into())], [None, Some(20)]);
        assert_eq!(Plan::of_record(&json!({ "agents": "none" })), Plan::default());
    }
}
