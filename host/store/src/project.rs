//! What outlives a run: module states that all runs on one workspace share.
//!
//! The database of a workspace is in the runs folder, under `projects`, named after the workspace's real path. It is
//! written seldom and by whoever comes, so each state has a version, and a change is made only to the version that it
//! was worked out from. Nothing of it is in a run's record.

use crate::{
    error::StoreError,
    folder::{self, FileIdentity},
    queries::{signed, unsigned},
    schema::BUSY_WAIT,
};
use gg_core::{ProfileId, digest::sha256_hex};
use rusqlite::{Connection, OpenFlags, OptionalExtension, config::DbConfig, params};
use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use thiserror::Error;

/// The version of the tables, kept in SQLite's `user_version`.
const SCHEMA_VERSION: i64 = 1;

/// SQLite's `application_id` of a project's database: the letters `ggpr`.
const APPLICATION_ID: i64 = 0x6767_7072;

/// Where in the runs folder the projects' databases are.
const FOLDER: &str = "projects";

/// How much of the digest of a workspace's path names its database, in hexadecimal digits. 128 bits are enough that
/// no two ever meet.
const NAME_DIGITS: usize = 32;

const TABLES: &str = "
CREATE TABLE project (id INTEGER PRIMARY KEY CHECK (id = 1), workspace TEXT NOT NULL) STRICT;
CREATE TABLE modules (
    profile TEXT NOT NULL, kind TEXT NOT NULL, version INTEGER NOT NULL, component_sha256 TEXT NOT NULL,
    state_format TEXT NOT NULL, state BLOB NOT NULL, state_sha256 TEXT NOT NULL, PRIMARY KEY (profile, kind)
) STRICT, WITHOUT ROWID;
";

/// Why what is kept for a workspace could not be read or written. Each message says what to do.
#[derive(Clone, Debug, Error)]
pub enum ProjectError {
    /// The file system refused something.
    #[error("{path} cannot be used: {source}; check that it is yours and has room", path = path.display())]
    Io {
        /// What was to be used.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// Another program holds the database.
    #[error("another program holds {} locked; close whatever has it open and try again", .0.display())]
    Busy(PathBuf),
    /// The file is not a project's database, or of a later gg.
    #[error("{path} cannot be used: {why}; use the gg that wrote it, or move it away to start anew", path = path.display())]
    Foreign {
        /// The database.
        path: PathBuf,
        /// How one can tell.
        why: String,
    },
    /// The database contradicts itself.
    #[error("{path} is damaged: {what}; restore it from a copy, or move it away to start anew", path = path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Anything else that SQLite said.
    #[error("{path} failed: {what}; try again, and check the disk if it happens twice", path = path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        what: String,
    },
}

/// A state that is kept for a workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectModule {
    /// The digest of the component that wrote it.
    pub component_sha256: String,
    /// The format of the bytes.
    pub state_format: String,
    /// The bytes.
    pub state: Arc<[u8]>,
}

/// What is kept, beside what the asker knows.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// The version that is known.
    AsKnown,
    /// Another version.
    Changed {
        /// Its number.
        version: u64,
        /// The state.
        module: ProjectModule,
    },
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// It is on disk, and has this version.
    As(u64),
    /// Another change came first. Nothing was written.
    Conflict,
}

/// The states that all runs on one workspace share. Clones are handles of the same connection.
///
/// Every method blocks: for a file's access, or as long as another process writes.
#[derive(Clone, Debug)]
pub struct ProjectStore {
    path: PathBuf,
    workspace: String,
    open: Arc<Mutex<Option<Open>>>,
}

/// A connection, and the file that it was made to.
#[derive(Debug)]
struct Open {
    connection: Connection,
    file: Option<FileIdentity>,
}

impl ProjectStore {
    /// What is kept for `workspace`, a folder that exists. Nothing is made or opened yet.
    ///
    /// # Errors
    /// [`ProjectError::Io`] if the workspace's real path cannot be found.
    pub fn of(runs_dir: &Path, workspace: &Path) -> Result<Self, ProjectError> {
        let real = fs::canonicalize(workspace).map_err(|error| io_error(workspace, error))?;
        let digest = sha256_hex(real.as_os_str().as_encoded_bytes());
        let name = format!("{}.db", digest.get(..NAME_DIGITS).unwrap_or(&digest));
        Ok(Self {
            path: runs_dir.join(FOLDER).join(name),
            workspace: real.display().to_string(),
            open: Arc::default(),
        })
    }

    /// The database's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state of a profile's module, unless its version is the one that is `known`.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub fn load(&self, profile: &ProfileId, kind: &str, known: u64) -> Result<Kept, ProjectError> {
        let sql = "SELECT version, component_sha256, state_format, state_sha256, \
                   CASE WHEN version <> ?3 THEN state END FROM modules WHERE profile = ?1 AND kind = ?2";
        let found = self.with(|connection| {
            let values = params![profile.as_str(), kind, signed(known)];
            let read = |row: &rusqlite::Row<'_>| {
                let version = unsigned(row.get(0)?);
                let facts: (String, String, String) = (row.get(1)?, row.get(2)?, row.get(3)?);
                Ok((version, facts, row.get::<_, Option<Vec<u8>>>(4)?))
            };
            connection.prepare_cached(sql)?.query_row(values, read).optional()
        })?;
        let Some((version, (component_sha256, state_format, digest), state)) = found else {
            return Ok(Kept::Nothing);
        };
        let Some(state) = state else { return Ok(Kept::AsKnown) };
        if sha256_hex(&state) != digest {
            let what = format!("the state of {profile}'s module {kind} is not what was stored");
            return Err(ProjectError::Damaged { path: self.path.clone(), what });
        }
        let module = ProjectModule { component_sha256, state_format, state: state.into() };
        Ok(Kept::Changed { version, module })
    }

    /// Makes sure that the database is there and can be used.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub fn check(&self) -> Result<(), ProjectError> {
        self.with(|_| Ok(()))
    }

    /// Puts a state in the place of the version `expected`, which is 0 if there was none. It is on disk when this
    /// answers.
    ///
    /// # Errors
    /// See [`ProjectError`]. That another change came first is no error, but an answer.
    pub fn save(
        &self,
        profile: &ProfileId,
        kind: &str,
        expected: u64,
        module: &ProjectModule,
    ) -> Result<Saved, ProjectError> {
        let next = expected.saturating_add(1);
        let sql = match expected {
            0 => {
                "INSERT INTO modules (profile, kind, version, component_sha256, state_format, state, state_sha256) \
                 VALUES (?1, ?2, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING"
            }
            _ => {
                "UPDATE modules SET version = ?4, component_sha256 = ?5, state_format = ?6, state = ?7, \
                 state_sha256 = ?8 WHERE profile = ?1 AND kind = ?2 AND version = ?3"
            }
        };
        let written = self.with(|connection| {
            let values = params![
                profile.as_str(),
                kind,
                signed(expected),
                signed(next),
                module.component_sha256,
                module.state_format,
                &*module.state,
                sha256_hex(&module.state),
            ];
            connection.prepare_cached(sql)?.execute(values)
        })?;
        Ok(if written > 0 { Saved::As(next) } else { Saved::Conflict })
    }

    /// Does something with the connection, which is made at first use, and again if the file was replaced: SQLite
    /// would go on writing to one that was removed.
    fn with<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, ProjectError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let there = FileIdentity::of(&self.path);
        let current = match open.take() {
            Some(current) if there.is_some() && current.file == there => current,
            _ => self.connect()?,
        };
        let done = work(&current.connection);
        *open = Some(current);
        done.map_err(|error| self.fail(&error))
    }

    fn connect(&self) -> Result<Open, ProjectError> {
        folder::make_private_file(&self.path).map_err(|error| io_error(&self.path, error))?;
        let open = || -> rusqlite::Result<Connection> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(&self.path, flags)?;
            connection.busy_timeout(BUSY_WAIT)?;
            // As for a run: the file may come from anywhere.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            Ok(connection)
        };
        let mut connection = open().map_err(|error| self.fail(&error))?;
        self.set_up(&mut connection)?;
        Ok(Open { connection, file: FileIdentity::of(&self.path) })
    }

    /// Makes the tables if the file is empty, and else checks that they are those of a project. Two processes may
    /// come here at once; the second finds the tables made.
    fn set_up(&self, connection: &mut Connection) -> Result<(), ProjectError> {
        let fail = |error: rusqlite::Error| self.fail(&error);
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(fail)?;
        let number = |sql: &str| transaction.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(fail);
        let is_empty = number("SELECT count(*) FROM sqlite_schema")? == 0;
        let application = number("PRAGMA application_id")?;
        let version = number("PRAGMA user_version")?;
        if is_empty && (application, version) == (0, 0) {
            transaction.execute_batch(TABLES).map_err(fail)?;
            let sql = "INSERT INTO project (id, workspace) VALUES (1, ?1)";
            transaction.execute(sql, [&self.workspace]).map_err(fail)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(fail)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(fail)?;
            return transaction.commit().map_err(fail);
        }
        let foreign = |why: String| Err(ProjectError::Foreign { path: self.path.clone(), why });
        if application != APPLICATION_ID {
            return foreign("it is a database of something else".into());
        }
        if version != SCHEMA_VERSION {
            return foreign(format!("it has version {version}, and this gg knows version {SCHEMA_VERSION}"));
        }
        Ok(())
    }

    fn fail(&self, error: &rusqlite::Error) -> ProjectError {
        let path = self.path.clone();
        match StoreError::sqlite(&path, 0, error) {
            StoreError::Busy { .. } => ProjectError::Busy(path),
            StoreError::NotARun { .. } => {
                ProjectError::Foreign { path, why: "it is not an SQLite database".into() }
            }
            StoreError::Damaged { what, .. } => ProjectError::Damaged { path, what },
            _ => ProjectError::Database { path, what: error.to_string() },
        }
    }
}

fn io_error(path: &Path, error: io::Error) -> ProjectError {
    ProjectError::Io { path: path.to_owned(), source: Arc::new(error) }
}
