//! The database's tables, and the one place that opens connections to it.

pub(crate) mod versions;

use crate::error::StoreError;
use rusqlite::{Connection, OpenFlags, config::DbConfig};
use std::{path::Path, time::Duration};

/// The version of the tables, kept in SQLite's `user_version`. It rises with every change of the tables.
pub const SCHEMA_VERSION: i64 = 3;

/// SQLite's `application_id` of a run's database: the letters `ggru`.
const APPLICATION_ID: i64 = 0x6767_7275;

/// How long to wait for another program that holds the database. Readers never hold it, so this is somebody's
/// own SQLite shell or a backup: enough for a quick one, and short beside a person's patience.
pub(crate) const BUSY_WAIT: Duration = Duration::from_secs(5);

/// Statements kept compiled per connection: more than there are.
const STATEMENTS: usize = 48;

/// How long the write-ahead log grows before it is copied into the database, and how large its file may stay
/// after that. Copying costs two more disk syncs, so SQLite's own 4 MiB would be too often for many agents. It
/// is larger only while one transaction needs it or a reader holds on to it.
const LOG_BYTES: u64 = 16 << 20;

/// SQLite's page size, fixed so that a limit in bytes can be said in pages.
pub(crate) const PAGE_BYTES: u64 = 4096;

// Bodies are JSON. A message stands once, in `messages`; its events point to it. `events_usage` lets a list of
// runs add up the cost of one that has no `run_ended` without reading every event. The numbers of modules and of an
// inbox autoincrement so that none is given twice, though a module is deleted with its last hold and an item once it
// was read. A hold repeats its module's kind, so that no agent holds two of one kind.
const TABLES: &str = "
CREATE TABLE run (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    run TEXT NOT NULL, started_ms INTEGER NOT NULL, root TEXT NOT NULL, gg TEXT NOT NULL,
    prompt TEXT NOT NULL, workspace TEXT NOT NULL, config_sha256 TEXT NOT NULL
) STRICT;
CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE events (
    seq INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, agent TEXT, type TEXT NOT NULL,
    message INTEGER, body TEXT NOT NULL
) STRICT;
CREATE INDEX events_usage ON events (seq) WHERE type = 'usage';
CREATE TABLE agents (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, profile TEXT NOT NULL, parent TEXT,
    depth INTEGER NOT NULL, ending TEXT, progress TEXT NOT NULL, lineage TEXT NOT NULL DEFAULT '', successor TEXT
) STRICT;
CREATE TABLE modules (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, profile TEXT, component_sha256 TEXT NOT NULL,
    state_format TEXT NOT NULL, state BLOB, state_sha256 TEXT
) STRICT;
CREATE TABLE holds (
    agent TEXT NOT NULL, kind TEXT NOT NULL, module INTEGER NOT NULL, PRIMARY KEY (agent, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX holds_module ON holds (module);
CREATE TABLE inboxes (
    n INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT NOT NULL, kind TEXT NOT NULL, sender TEXT, body TEXT NOT NULL
) STRICT;
CREATE INDEX inboxes_agent ON inboxes (agent, n);
CREATE TABLE calls (
    agent TEXT NOT NULL, turn INTEGER NOT NULL, place INTEGER NOT NULL, call_id TEXT NOT NULL,
    effect TEXT, call TEXT, result TEXT, PRIMARY KEY (agent, turn, place)
) STRICT;
CREATE TABLE declarations (
    agent TEXT NOT NULL, turn INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (agent, turn)
) STRICT, WITHOUT ROWID;
";

/// Whether a connection may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write { max_bytes: u64, busy_wait: Duration },
}

impl Access {
    /// The limit of the database's size, for messages.
    fn max_bytes(self) -> u64 {
        match self {
            Self::Read => 0,
            Self::Write { max_bytes, .. } => max_bytes,
        }
    }

    /// How long to wait for others.
    fn busy_wait(self) -> Duration {
        match self {
            Self::Read => BUSY_WAIT,
            Self::Write { busy_wait, .. } => busy_wait,
        }
    }
}

/// Opens the database at `path`, which exists, without looking at what is in it.
pub(crate) fn connect(dir: &Path, path: &Path, access: Access) -> Result<Connection, StoreError> {
    let fail = |error: rusqlite::Error| StoreError::sqlite(dir, access.max_bytes(), &error);
    let mode = match access {
        Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Access::Write { .. } => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let connection =
        Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(fail)?;
    connection.busy_timeout(access.busy_wait()).map_err(fail)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // The file may come from anywhere: nothing in its schema may run functions or touch internals.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(fail)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(fail)?;
    if let Access::Write { max_bytes, .. } = access {
        set_up_writing(dir, &connection, max_bytes)?;
    }
    Ok(connection)
}

fn set_up_writing(dir: &Path, connection: &Connection, max_bytes: u64) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| StoreError::sqlite(dir, max_bytes, &error);
    connection.pragma_update(None, "page_size", PAGE_BYTES as i64).map_err(fail)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0)).map_err(fail)?;
    if mode != "wal" {
        return Err(StoreError::Database {
            dir: dir.to_owned(),
            what: format!("its file system allows no write-ahead log (journal mode {mode})"),
        });
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES as i64).map_err(fail)?;
    let pages = (LOG_BYTES / PAGE_BYTES) as i64;
    connection.pragma_update(None, "wal_autocheckpoint", pages).map_err(fail)?;
    let pages = i64::try_from(max_bytes.div_ceil(PAGE_BYTES)).unwrap_or(i64::MAX).min(u32::MAX as i64 - 1);
    connection.pragma_update(None, "max_page_count", pages).map_err(fail)
}

/// Makes the tables in an empty database, in the same transaction as whatever `first` writes.
pub(crate) fn create(
    dir: &Path,
    connection: &mut Connection,
    max_bytes: u64,
    first: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), StoreError> {
    let fail = |error: rusqlite::Error| StoreError::sqlite(dir, max_bytes, &error);
    let transaction = connection.transaction().map_err(fail)?;
    transaction.execute_batch(TABLES).map_err(fail)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(fail)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(fail)?;
    first(&transaction).map_err(fail)?;
    transaction.commit().map_err(fail)
}

/// Checks that the database is a run's, of a version that this gg knows, and gives that version.
pub(crate) fn check(dir: &Path, connection: &Connection) -> Result<i64, StoreError> {
    let pragma = |name: &str| {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .map_err(|error| StoreError::sqlite(dir, 0, &error))
    };
    if pragma("application_id")? != APPLICATION_ID {
        return Err(StoreError::NotARun {
            dir: dir.to_owned(),
            why: "run.db is a database of something else".into(),
        });
    }
    let found = pragma("user_version")?;
    if found > SCHEMA_VERSION {
        return Err(StoreError::Newer { dir: dir.to_owned(), found, known: SCHEMA_VERSION });
    }
    if found < versions::FIRST {
        return Err(StoreError::damaged(dir, format!("run.db says it has version {found}")));
    }
    Ok(found)
}
