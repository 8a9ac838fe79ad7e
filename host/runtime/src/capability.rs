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

/// The capabilities that the host itself carries out, as the launch check wants to know them. The kinds of
/// modules come from their components.
pub fn host_kinds() -> Vec<Kind> {
    vec![
        Kind {
            kind: workspace::CAPABILITY.into(),
            title: "Workspace".into(),
            params: WorkspaceParams::schema(),
            features: Vec::new(),
            calls: workspace::Workspace::specs(),
            state_format: None,
        },
        Kind {
            kind: shell::CAPABILITY.into(),
            title: "Shell".into(),
            params: ShellParams::schema(),
            features: Vec::new(),
            calls: vec![shell::Shell::spec(&ShellParams::default())],
            state_format: None,
        },
        Kind {
            kind: compact::CAPABILITY.into(),
            title: "Compaction".into(),
            params: CompactionParams::schema(),
            features: vec![Feature {
                name: compact::FEATURE_ASKED.into(),
                description: "Offers the call `compact`, so that the model may ask for a compaction.".into(),
                enabled: true,
            }],
            calls: vec![compact::spec()],
            state_format: None,
        },
        subagents::kind(),
        exec::kind(),
        fork::kind(),
        fsm::kind(),
    ]
}
