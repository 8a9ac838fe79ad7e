//! Who an agent is, whatever it holds.

use crate::{machine::Standing, profile::ReadyProfile};
use gg_core::{AgentId, Event};
use gg_store::{AgentRecord, AgentStatus};
use serde_json::Value;
use std::sync::Arc;

/// Who an agent is: one incarnation of a lineage.
#[derive(Clone)]
pub(crate) struct Identity {
    pub(crate) id: AgentId,
    /// The first incarnation's id. It addresses the lineage for ever: its inbox, its children, its slot and its result.
    pub(crate) lineage: AgentId,
    pub(crate) profile: Arc<ReadyProfile>,
    /// Who put it to work, or whom it goes on from.
    pub(crate) parent: Option<AgentId>,
    pub(crate) depth: u32,
    /// Where it stands, if a machine runs it.
    pub(crate) standing: Option<Standing>,
}

impl Identity {
    /// Its record.
    pub(crate) fn record(&self, status: AgentStatus, progress: Value) -> AgentRecord {
        AgentRecord {
            id: self.id.clone(),
            lineage: self.lineage.clone(),
            profile: self.profile.id.clone(),
            parent: self.parent.clone(),
            depth: self.depth,
            status,
            progress,
        }
    }

    /// The event of its coming to be.
    pub(crate) fn spawned(&self) -> Event {
        Event::AgentSpawned {
            profile: self.profile.id.clone(),
            model: self.profile.model.name.clone(),
            parent: self.parent.clone(),
            depth: self.depth,
        }
    }

    /// The event that says where it stands, having come from the state `from`. Nothing if no machine runs it.
    pub(crate) fn fsm_state(&self, from: Option<&str>) -> Option<Event> {
        let standing = self.standing.as_ref()?;
        Some(Event::FsmState {
            machine: standing.machine.id.clone(),
            state: standing.name().to_owned(),
            profile: self.profile.id.clone(),
            from: from.map(str::to_owned),
        })
    }

    /// The state that it stands in, for whoever reads its result.
    pub(crate) fn state(&self) -> Option<String> {
        self.standing.as_ref().map(|standing| standing.name().to_owned())
    }
}
