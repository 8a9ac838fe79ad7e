//! Agents at work: the turn loop, one file per capability, and telemetry.
//!
//! `gg-core` decides, this crate acts: it renders prompts, asks models, runs calls, keeps the record. It
//! prints nothing; whoever embeds it subscribes to what happens.

mod agent;
mod budget;
mod capability;
mod command;
mod hooks;
mod identity;
pub mod launch;
mod leash;
mod life;
mod lineages;
mod machine;
mod profile;
mod run;
mod scope;
mod slots;
mod telemetry;

pub use agent::snapshot::AgentSnapshot;
pub use capability::host_kinds;
pub use run::{Launch, Observer, RunError, RunHandle, RunSummary, StartError, start};
