//! Records that an earlier gg made: brought up to date by whoever goes on with them, and read as they are by
//! everyone else.

use super::SCHEMA_VERSION;
use crate::error::StoreError;
use rusqlite::Connection;
use std::path::Path;

/// The first version there was.
pub(crate) const FIRST: i64 = 1;

/// From version 1, in which each module was one agent's and an inbox held messages only.
const FROM_1: &str = "
ALTER TABLE modules RENAME TO modules_1;
CREATE TABLE modules (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, profile TEXT, component_sha256 TEXT NOT NULL,
    state_format TEXT NOT NULL, state BLOB, state_sha256 TEXT
) STRICT;
CREATE TABLE holds (
    agent TEXT NOT NULL, kind TEXT NOT NULL, module INTEGER NOT NULL, PRIMARY KEY (agent, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX holds_module ON holds (module);
INSERT INTO modules (id, kind, component_sha256, state_format, state, state_sha256)
    SELECT rowid, kind, component_sha256, state_format, state, state_sha256 FROM modules_1;
INSERT INTO holds (agent, kind, module) SELECT agent, kind, rowid FROM modules_1;
DROP TABLE modules_1;
ALTER TABLE inboxes ADD COLUMN kind TEXT NOT NULL DEFAULT 'message';
";

/// From version 2, in which no agent became another.
const FROM_2: &str = "
ALTER TABLE agents ADD COLUMN lineage TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN successor TEXT;
UPDATE agents SET lineage = id;
";

/// The tables of version 1 as version 2 has them. A temporary view stands before the table of its name, and needs no
/// right to write.
const VIEW_OF_1: &str = "
CREATE TEMP VIEW modules AS
    SELECT rowid AS id, kind, NULL AS profile, component_sha256, state_format, state, state_sha256
    FROM main.modules;
CREATE TEMP VIEW holds AS SELECT agent, kind, rowid AS module FROM main.modules;
CREATE TEMP VIEW inboxes AS SELECT n, agent, 'message' AS kind, sender, body FROM main.inboxes;
";

/// The tables of version 2 as this version has them.
const VIEW_OF_2: &str = "
CREATE TEMP VIEW agents AS
    SELECT n, id, profile, parent, depth, ending, progress, id AS lineage, NULL AS successor FROM main.agents;
";

/// Brings a record of the version `found` up to date, all of it or nothing.
pub(crate) fn upgrade(
    dir: &Path,
    connection: &mut Connection,
    max_bytes: u64,
    found: i64,
) -> Result<(), StoreError> {
    if found == SCHEMA_VERSION {
        return Ok(());
    }
    let fail = |error: rusqlite::Error| StoreError::sqlite(dir, max_bytes, &error);
    let transaction = connection.transaction().map_err(fail)?;
    for (version, step) in [(1, FROM_1), (2, FROM_2)] {
        if found <= version {
            transaction.execute_batch(step).map_err(fail)?;
        }
    }
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(fail)?;
    transaction.commit().map_err(fail)
}

/// Lets this connection read a record of the version `found` as if it were up to date. The record stays as it is.
pub(crate) fn read_as_current(dir: &Path, connection: &Connection, found: i64) -> Result<(), StoreError> {
    for (version, view) in [(1, VIEW_OF_1), (2, VIEW_OF_2)] {
        if found <= version {
            connection.execute_batch(view).map_err(|error| StoreError::sqlite(dir, 0, &error))?;
        }
    }
    Ok(())
}
