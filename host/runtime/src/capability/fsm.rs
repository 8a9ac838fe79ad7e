//! `fsm`: machines, and the call by which a state's agent moves on. `agent/succession.rs` carries it out.

use super::subagents;
use gg_config::{FsmParams, Kind, State};
use gg_core::{Call, CallSpec, Effect, turn::Declaration};
use serde::Deserialize;
use serde_json::json;

/// The id of the capability.
pub(crate) const CAPABILITY: &str = "fsm";

/// The name of the call.
pub(crate) const CALL: &str = "transition_state";

/// The capability, as the launch check knows it. A machine takes no turn, so it offers nothing; the agents of its
/// states are offered [`CALL`].
pub(crate) fn kind() -> Kind {
    super::kind(CAPABILITY, "Machine", FsmParams::schema(), Vec::new())
}

/// The call, as it is offered to the agent of `state`. A state that leads nowhere offers none.
pub(crate) fn spec(state: &State) -> Option<CallSpec> {
    if state.transitions.is_empty() {
        return None;
    }
    let mut description = format!(
        "Move on from the state {:?} of the process that you are in. The agent of the state you name goes on in your \
         place. It takes effect at the end of this turn, after the other calls' results. A turn makes one succession: \
         the first stands, a second is refused, and an ending in the same turn goes before it. From here you may move \
         to:",
        state.name
    );
    for edge in &state.transitions {
        description.push_str(&format!("\n- {}", edge.to));
        if let Some(when) = &edge.description {
            description.push_str(&format!(": {when}"));
        }
    }
    let targets: Vec<&str> = state.transitions.iter().map(|edge| edge.to.as_str()).collect();
    let properties = json!({
        "to": { "type": "string", "enum": targets, "description": "The state to move to." },
        "note": { "type": "string", "description": "What to tell the agent of that state." }
    });
    Some(super::spec(CALL, &description, properties, &["to"], Effect::Deferred))
}

#[derive(Deserialize)]
struct TransitionState {
    to: String,
    #[serde(default)]
    note: Option<String>,
}

/// What a call, already checked against the schema, declares.
pub(crate) fn declaration(call: &Call) -> Result<Declaration, String> {
    let TransitionState { to, note } = subagents::arguments(call)?;
    Ok(Declaration::Transition { to, note: subagents::optional_text("note", note)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_config::Transition;

    fn edge(to: &str, description: Option<&str>) -> Transition {
        Transition { to: to.into(), transfer: Vec::new(), description: description.map(str::to_owned) }
    }

    #[test]
    fn the_call_lists_exactly_the_moves_that_there_are_with_their_descriptions() {
        let transitions = vec![edge("build", Some("when you have a task list")), edge("stop", None)];
        let state = State { name: "explore".into(), agent_id: "explorer".into(), transitions };
        let spec = spec(&state).unwrap();
        let listed = spec.description.split_once("you may move to:").unwrap().1;
        assert_eq!(listed, "\n- build: when you have a task list\n- stop");
        assert_eq!(spec.parameters["properties"]["to"]["enum"], json!(["build", "stop"]));
        assert!(spec.description.contains("It takes effect at the end of this turn"));
        assert!(
            spec.description.contains("A turn makes one succession: the first stands, a second is refused")
        );
        let terminal = State { transitions: Vec::new(), ..state };
        assert_eq!(super::spec(&terminal), None);
    }
}
