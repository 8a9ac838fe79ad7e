//! What an agent can do, one file per capability, and the calls that come of it.

pub(crate) mod compact;
pub(crate) mod exec;
pub(crate) mod finish;
pub(crate) mod fork;
pub(crate) mod fsm;
pub(crate) mod shell;
pub(crate) mod subagents;
pub(crate) mod workspace;

use gg_config::{CompactionParams, Feature, Kind, ShellParams, WorkspaceParams};
use gg_core::{CallSpec, Effect};
use serde_json::{Value, json};

/// The capabilities that the host itself carries out, as the launch check wants to know them. The kinds of
/// modules come from their components.
pub fn host_kinds() -> Vec<Kind> {
    vec![
        kind(workspace::CAPABILITY, "Workspace", WorkspaceParams::schema(), workspace::Workspace::specs()),
        kind(
            shell::CAPABILITY,
            "Shell",
            ShellParams::schema(),
            vec![shell::Shell::spec(&ShellParams::default())],
        ),
        Kind {
            features: vec![Feature {
                name: compact::FEATURE_ASKED.into(),
                description: "Offers the call `compact`, so that the model may ask for a compaction.".into(),
                enabled: true,
            }],
            ..kind(compact::CAPABILITY, "Compaction", CompactionParams::schema(), vec![compact::spec()])
        },
        subagents::kind(),
        exec::kind(),
        fork::kind(),
        fsm::kind(),
    ]
}

/// A capability of the host without a switch.
fn kind(id: &str, title: &str, params: Value, calls: Vec<CallSpec>) -> Kind {
    Kind { kind: id.into(), title: title.into(), params, features: Vec::new(), calls, state_format: None }
}

/// A call that is always offered, with these arguments.
fn spec(name: &str, description: &str, properties: Value, required: &[&str], effect: Effect) -> CallSpec {
    CallSpec {
        name: name.into(),
        description: description.into(),
        parameters: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        }),
        effect,
        feature: None,
    }
}
