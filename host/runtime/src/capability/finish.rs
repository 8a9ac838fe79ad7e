//! `finish`: the call by which an agent ends its own work and says how it went.

use gg_core::{Arguments, Call, CallSpec, Effect, Ending, Outcome};
use serde::Deserialize;
use serde_json::{Value, json};

/// The name of the call.
pub(crate) const CALL: &str = "finish";

/// The call as it is offered to every agent.
pub(crate) fn spec() -> CallSpec {
    let description = "End your work. Whoever asked for it receives the outcome, the text and the data. \
                       It takes effect at the end of this turn, after its other calls.";
    let properties = json!({
        "outcome": {
            "type": "string",
            "enum": ["success", "failure"],
            "description": "Whether the work is done."
        },
        "text": { "type": "string", "description": "The final answer, or why it could not be given." },
        // An object, because servers that turn schemas into grammars refuse one without a type.
        "data": { "type": "object", "description": "Facts for a program to read, by name." }
    });
    super::spec(CALL, description, properties, &["outcome", "text"], Effect::Deferred)
}

#[derive(Deserialize)]
struct Finish {
    outcome: Outcome,
    text: String,
    #[serde(default)]
    data: Option<Value>,
}

/// The ending that a call, already checked against the schema, declares.
pub(crate) fn ending(call: &Call) -> Result<Ending, String> {
    let Arguments::Json(arguments) = &call.arguments else {
        return Err("the arguments are not a JSON object".into());
    };
    let finish: Finish =
        serde_json::from_value(Value::Object(arguments.clone())).map_err(|error| error.to_string())?;
    Ok(Ending::Finished { outcome: finish.outcome, text: finish.text, data: finish.data })
}
