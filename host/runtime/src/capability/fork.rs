//! `fork`: the call by which an agent has a copy of itself work beside it. `agent/fork.rs` carries it out.

use super::subagents;
use gg_config::{ForkParams, Kind};
use gg_core::{AgentId, Call, CallSpec, Effect};
use serde::Deserialize;
use serde_json::json;

/// The id of the capability.
pub(crate) const CAPABILITY: &str = "fork";

/// The name of the call.
pub(crate) const CALL: &str = "fork";

/// The capability, as the launch check knows it. The call is offered to whoever can collect what it makes.
pub(crate) fn kind() -> Kind {
    super::kind(CAPABILITY, "Fork", ForkParams::schema(), vec![spec()])
}

fn spec() -> CallSpec {
    let description = "Have a copy of yourself work beside you. It knows all that you know, with a copy of this \
                       conversation up to the end of this turn, and does what you tell it here. Answers with its id at \
                       once; the copy comes to be at the end of this turn, so it cannot be waited for or written to \
                       before the next. Collect its result with `wait_for_subagents` in a later turn. A turn may make \
                       several copies. It works in the same workspace as you: do not do its part as well.";
    let properties = json!({
        "prompt": {
            "type": "string", "minLength": 1,
            "description": "What the copy is to do, and you are not."
        }
    });
    super::spec(CALL, description, properties, &["prompt"], Effect::Deferred)
}

#[derive(Deserialize)]
struct Fork {
    prompt: String,
}

/// What the copy is to do, by a call that was checked against the schema.
pub(crate) fn prompt(call: &Call) -> Result<String, String> {
    let Fork { prompt } = subagents::arguments(call)?;
    subagents::check_text("prompt", &prompt)?;
    Ok(prompt)
}

/// Why a copy that was asked for in this turn cannot be waited for or written to in it.
pub(crate) fn not_yet(id: &AgentId) -> String {
    format!("{id} comes to be at the end of this turn: do that in a later one")
}
