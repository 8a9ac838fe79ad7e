//! The run's directory and its database: one transaction a step, recovery, subscribers.
//!
//! A run lives in one directory: `config.json` (the effective configuration), `run.db` (everything that
//! happened, in SQLite) and `lock` (held by the process that writes). [`RunStore`] writes it, one process at
//! a time; [`RunReader`] reads it, while the run lives and after it ended or crashed; [`list_runs`] gathers
//! all runs of a folder.
//!
//! What several runs share is not in any of them: [`ProjectStore`] keeps it for their workspace.
//!
//! What holds at every instant:
//! - a [`Step`] is in the database whole or not at all, and [`RunStore::commit`] answers only once it is on
//!   disk;
//! - events are numbered at the commit, across the run, without gaps;
//! - a message never changes once it is recorded;
//! - a module has a holder, or is a profile's; one that nobody holds any more is gone;
//! - whoever reads along never slows the run.

mod cache;
mod error;
mod folder;
mod list;
mod project;
mod queries;
mod reader;
mod records;
mod schema;
mod step;
mod store;
mod subscribers;
mod writer;

pub use error::StoreError;
pub use folder::{default_runs_dir, find_run};
pub use list::{Listed, RunStatus, RunSummary, list_runs};
pub use project::{Kept, ProjectError, ProjectModule, ProjectStore, Saved};
pub use reader::{MAX_PAGE, RunReader};
pub use records::{
    AgentRecord, AgentStatus, CallRecord, InboxItem, InboxKind, Intent, ModuleRecord, RunMeta, StartedRun,
};
pub use schema::SCHEMA_VERSION;
pub use step::{MAX_NESTING, MAX_STEP_BYTES, Step};
pub use store::{Options, RunStore};
pub use subscribers::{MAX_SUBSCRIPTION, Subscription};
