//! The configuration document: positions, profiles, the launch check, the JSON Schema.
//!
//! [`Source::parse`] reads the text, [`Source::needs`] says what somebody who does I/O has to look up for it,
//! and [`check`] turns both into a [`Configuration`] or into every [`Refusal`] there is. Nothing here reads a
//! file, an environment variable or a clock.

mod base_url;
mod catalogue;
mod check;
mod code;
mod configuration;
mod format;
mod hooks;
mod nearest;
mod notes;
mod params;
mod provider;
mod refusal;
mod schema;
mod source;
mod value_schema;

pub use catalogue::{Catalogue, ComponentFault, Feature, HOST_KINDS, Kind, Reach};
pub use check::check;
pub use code::Code;
pub use configuration::{
    Budget, Capability, ComponentRef, Configuration, Execution, ModelRef, Profile, RosterEntry, Scope,
};
pub use hooks::Hook;
pub use nearest::nearest;
pub use notes::{Note, notes};
pub use params::{
    CompactionParams, ExecParams, ForkParams, FsmParams, ShellParams, State, SubagentsParams, Transition,
    WorkspaceParams,
};
pub use provider::{Api, Provider, Server};
pub use refusal::{Refusal, Report};
pub use schema::schema;
pub use source::{Needs, Source};
pub use value_schema::{Fault, FaultKind, Mark, SchemaError, ValueSchema};
