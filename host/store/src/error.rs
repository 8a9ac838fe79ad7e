//! What can go wrong with a run's directory, and what to do about it.

use gg_core::{AgentId, MessageId};
use rusqlite::ErrorCode;
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use thiserror::Error;

/// Why a run's directory could not be written or read. Each message says what to do.
///
/// It can be cloned because one failed transaction is the answer to every step that was in it.
#[derive(Clone, Debug, Error)]
pub enum StoreError {
    /// No home folder, so no default place for runs.
    #[error("there is no home folder to keep runs in; set HOME or XDG_STATE_HOME, or name a folder (--runs)")]
    NoHome,
    /// The file system refused something.
    #[error("cannot {action} {}: {source}; check that the folder exists, is yours and has room, or name another (--runs)", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// No room for more: the disk is full, or the database reached its limit.
    #[error("no room left for the run in {}: the disk is full or run.db reached its limit of {max_bytes} bytes; free some space and try again", dir.display())]
    Full {
        /// The run's directory.
        dir: PathBuf,
        /// The limit set for the database.
        max_bytes: u64,
    },
    /// The files may not be written.
    #[error("the run in {} cannot be written: its files are read-only; make them writable, or name another folder (--runs)", dir.display())]
    ReadOnly {
        /// The run's directory.
        dir: PathBuf,
    },
    /// The files were removed or replaced while the run went on, so nothing more can be kept.
    #[error("the record of the run in {} was removed or replaced while the run was going on; start the run again", dir.display())]
    Gone {
        /// The run's directory.
        dir: PathBuf,
    },
    /// Another program holds the database.
    #[error("another program holds run.db in {} locked; close whatever has it open and try again", dir.display())]
    Busy {
        /// The run's directory.
        dir: PathBuf,
    },
    /// Another process of gg writes this run.
    #[error("the run in {} is being written by another gg process; wait until it ends, or stop it", dir.display())]
    Owned {
        /// The run's directory.
        dir: PathBuf,
    },
    /// There is no run of that name.
    #[error("no run {wanted:?} in {}; `gg runs` lists what there is", runs_dir.display())]
    NoSuchRun {
        /// What was asked for.
        wanted: String,
        /// Where it was looked for.
        runs_dir: PathBuf,
    },
    /// More than one run has a name like that.
    #[error("{wanted:?} fits {count} runs in {}; write more of the name", runs_dir.display())]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// How many runs fit.
        count: usize,
        /// Where it was looked for.
        runs_dir: PathBuf,
    },
    /// The directory or its database was not made by gg.
    #[error("{} is not a run of gg: {why}; name the directory of a run, as `gg runs` lists them", dir.display())]
    NotARun {
        /// The directory.
        dir: PathBuf,
        /// How one can tell.
        why: String,
    },
    /// A newer gg made the database.
    #[error("the run in {} was written by a newer gg (its record has version {found}, this gg knows up to {known}); use that gg", dir.display())]
    Newer {
        /// The run's directory.
        dir: PathBuf,
        /// The version of the record.
        found: i64,
        /// The latest version that this gg knows.
        known: i64,
    },
    /// The record contradicts itself.
    #[error("the record in {} is damaged: {what}; restore it from a copy, or start the run again", dir.display())]
    Damaged {
        /// The run's directory.
        dir: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A step contradicts what is recorded. Only that step was refused.
    #[error("the step was not recorded: {0}; this is a fault of the program that wrote it")]
    Conflict(String),
    /// A step is larger than the bound. Only that step was refused.
    #[error(
        "the step was not recorded: it has {bytes} bytes and {max} are the most; make its messages or states smaller"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// A value is nested so deeply that it could not be read back. Only that step was refused.
    #[error("the step was not recorded: {what} is nested more than {max} levels deep; make it flatter")]
    TooDeep {
        /// What holds the value.
        what: String,
        /// The bound.
        max: usize,
    },
    /// A message was asked for that is not recorded.
    #[error("message {0} is not in the run's record; it was never committed")]
    NoMessage(MessageId),
    /// An agent was asked for that is not recorded.
    #[error("agent {0} is not in the run's record; `gg show` lists the run's agents")]
    NoAgent(AgentId),
    /// The store was closed, or its thread ended.
    #[error("the run's store is closed; nothing more can be recorded in this process")]
    Closed,
    /// Anything else that SQLite said.
    #[error("the database in {} failed: {what}; try again, and check the disk if it happens twice", dir.display())]
    Database {
        /// The run's directory.
        dir: PathBuf,
        /// What SQLite said.
        what: String,
    },
}

impl StoreError {
    /// The file system refused `action` on `path`.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source: Arc::new(source) }
    }

    /// The record in `dir` contradicts itself.
    pub(crate) fn damaged(dir: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { dir: dir.to_owned(), what: what.into() }
    }

    /// What SQLite's answer means for the run in `dir`.
    pub(crate) fn sqlite(dir: &Path, max_bytes: u64, error: &rusqlite::Error) -> Self {
        let dir = dir.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { dir, max_bytes },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly { dir },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { dir },
            Some(ErrorCode::NotADatabase) => {
                Self::NotARun { dir, why: "run.db is not an SQLite database".into() }
            }
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { dir, what: error.to_string() },
            Some(ErrorCode::ConstraintViolation) => Self::Conflict(error.to_string()),
            // A value of another type than the schema's: no writer of ours put it there.
            None => Self::Damaged { dir, what: error.to_string() },
            Some(_) => Self::Database { dir, what: error.to_string() },
        }
    }

    /// Whether it is the step's own fault, so that others in the same transaction are not affected.
    pub(crate) fn is_of_the_step(&self) -> bool {
        matches!(self, Self::Conflict(_) | Self::TooLarge { .. } | Self::TooDeep { .. })
    }
}
