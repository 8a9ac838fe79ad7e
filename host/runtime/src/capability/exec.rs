//! `exec`: the call by which an agent becomes another. `agent/succession.rs` carries it out.

use super::subagents;
use gg_config::{Configuration, ExecParams, Kind, Profile};
use gg_core::{Call, CallSpec, Effect, ProfileId, turn::Declaration};
use serde::Deserialize;
use serde_json::json;

/// The id of the capability.
pub(crate) const CAPABILITY: &str = "exec";

/// The name of the call.
pub(crate) const CALL: &str = "exec";

/// The capability, as the launch check knows it. The call is offered to whoever has somebody to become.
pub(crate) fn kind() -> Kind {
    super::kind(CAPABILITY, "Exec", ExecParams::schema(), vec![spec()])
}

/// The call, as it is before a roster is known.
fn spec() -> CallSpec {
    let description = "Become another agent. It goes on in your place, with this conversation and everything that both \
                       of you may hold; what it may not hold is dropped, and its calls, its prompt and its model take \
                       the place of yours. It takes effect at the end of this turn, after the other calls' results. A \
                       turn makes one succession: the first stands, a second is refused, and an ending in the same \
                       turn goes before it.";
    let properties = json!({
        "agent": { "type": "string", "minLength": 1, "description": "Whom to become, by its id." },
        "prompt": { "type": "string", "description": "What to tell it, beside what it will read above." }
    });
    super::spec(CALL, description, properties, &["agent"], Effect::Deferred)
}

/// The call as it is offered to agents of `profile`: it names those that they may become.
pub(crate) fn offered(profile: &Profile, configuration: &Configuration) -> CallSpec {
    subagents::naming_the_roster(spec(), profile, configuration)
}

#[derive(Deserialize)]
struct Exec {
    agent: ProfileId,
    #[serde(default)]
    prompt: Option<String>,
}

/// What a call, already checked against the schema, declares.
pub(crate) fn declaration(call: &Call) -> Result<Declaration, String> {
    let Exec { agent, prompt } = subagents::arguments(call)?;
    Ok(Declaration::Exec { agent, prompt: subagents::optional_text("prompt", prompt)? })
}
