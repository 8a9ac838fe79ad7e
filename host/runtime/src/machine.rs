//! Machines: processes that agents are driven through, ready to run.

use crate::profile::ReadyProfile;
use gg_core::ProfileId;
use std::{collections::BTreeSet, sync::Arc};

/// A machine: its states, the first of which it is entered at.
pub(crate) struct Machine {
    pub(crate) id: ProfileId,
    pub(crate) states: Vec<State>,
}

/// A state of a machine.
pub(crate) struct State {
    pub(crate) name: String,
    /// What its agent is. If it has edges, that agent is offered the call that takes them.
    pub(crate) profile: Arc<ReadyProfile>,
    pub(crate) edges: Vec<Edge>,
}

/// A move that a state allows.
pub(crate) struct Edge {
    /// The index of the state that it leads to.
    pub(crate) to: usize,
    /// The kinds of modules that go along.
    pub(crate) transfer: BTreeSet<String>,
}

/// Where an agent stands in a machine.
#[derive(Clone)]
pub(crate) struct Standing {
    pub(crate) machine: Arc<Machine>,
    at: usize,
}

impl Standing {
    /// At the machine's first state. Nothing if it has none, which the launch check refuses.
    pub(crate) fn entry(machine: &Arc<Machine>) -> Option<Self> {
        (!machine.states.is_empty()).then(|| Self { machine: machine.clone(), at: 0 })
    }

    /// The state.
    pub(crate) fn state(&self) -> Option<&State> {
        self.machine.states.get(self.at)
    }

    /// The state's name.
    pub(crate) fn name(&self) -> &str {
        self.state().map_or("", |state| &state.name)
    }

    /// Where the edge to the state `to` leads, and what goes along.
    pub(crate) fn after(&self, to: &str) -> Option<(Self, &BTreeSet<String>)> {
        let named = |edge: &&Edge| self.machine.states.get(edge.to).is_some_and(|state| state.name == to);
        let edge = self.state()?.edges.iter().find(named)?;
        Some((Self { machine: self.machine.clone(), at: edge.to }, &edge.transfer))
    }
}

/// What an entry of `agents` names: somebody who takes turns, or a machine.
pub(crate) enum Target {
    Worker(Arc<ReadyProfile>),
    Machine(Arc<Machine>),
}

impl Target {
    /// The id that names it.
    pub(crate) fn id(&self) -> &ProfileId {
        match self {
            Self::Worker(profile) => &profile.id,
            Self::Machine(machine) => &machine.id,
        }
    }

    /// Who takes the first turn, and where it stands then.
    pub(crate) fn entry(&self) -> Option<(Arc<ReadyProfile>, Option<Standing>)> {
        match self {
            Self::Worker(profile) => Some((profile.clone(), None)),
            Self::Machine(machine) => {
                let standing = Standing::entry(machine)?;
                Some((standing.state()?.profile.clone(), Some(standing)))
            }
        }
    }
}
