//! Reading rows: the same queries for a live store and for a reader.

use crate::{
    error::StoreError,
    records::{AgentRecord, AgentStatus, CallRecord, InboxItem, InboxKind, Intent, ModuleRecord, StartedRun},
};
use gg_core::{
    AgentId, Event, Message, MessageId, ModuleId, ProfileId, Recorded, RunId, Seq, Turn, turn::Declaration,
};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::de::DeserializeOwned;
use std::{collections::BTreeMap, path::Path, sync::Arc};

/// A connection and the directory whose record it reads.
#[derive(Clone, Copy)]
pub(crate) struct Queries<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) connection: &'a Connection,
}

/// What a new process has to count on from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) seq: u64,
    pub(crate) time_ms: u64,
    pub(crate) message: u64,
    pub(crate) agent: u64,
    pub(crate) inbox: u64,
    pub(crate) module: u64,
}

/// An event's row, before its body is read.
struct EventRow {
    seq: i64,
    time_ms: i64,
    agent: Option<String>,
    message: Option<String>,
    body: String,
    kind: String,
}

impl Queries<'_> {
    pub(crate) fn started(&self) -> Result<StartedRun, StoreError> {
        let sql = "SELECT run, started_ms, root, gg, prompt, workspace, config_sha256 FROM run WHERE id = 1";
        let found = self.one(sql, [], |row| {
            Ok(StartedRun {
                id: RunId::new(row.get::<_, String>(0)?),
                started_ms: unsigned(row.get(1)?),
                root: ProfileId::new(row.get::<_, String>(2)?),
                gg: row.get(3)?,
                prompt: row.get(4)?,
                workspace: row.get(5)?,
                config_sha256: row.get(6)?,
            })
        })?;
        found.ok_or_else(|| StoreError::damaged(self.dir, "it does not say what run it is of"))
    }

    pub(crate) fn counters(&self) -> Result<Counters, StoreError> {
        let number = |sql: &str| Ok(self.one(sql, [], |row| row.get(0))?.map_or(0, unsigned));
        let ids: Vec<String> = self.all("SELECT id FROM agents", [], |row| row.get(0))?;
        let numbered = |id: &String| id.strip_prefix('a').and_then(|n| n.parse().ok());
        Ok(Counters {
            seq: number("SELECT ifnull(max(seq), 0) FROM events")?,
            time_ms: number("SELECT time_ms FROM events ORDER BY seq DESC LIMIT 1")?,
            message: number("SELECT ifnull(max(id), 0) FROM messages")?,
            agent: ids.iter().filter_map(numbered).max().unwrap_or(0),
            inbox: number("SELECT seq FROM sqlite_sequence WHERE name = 'inboxes'")?,
            module: number("SELECT seq FROM sqlite_sequence WHERE name = 'modules'")?,
        })
    }

    pub(crate) fn message(&self, id: MessageId) -> Result<(Message, usize), StoreError> {
        let found: Option<String> =
            self.one("SELECT body FROM messages WHERE id = ?1", [signed(id.0)], |row| row.get(0))?;
        let body = found.ok_or(StoreError::NoMessage(id))?;
        Ok((self.parse(&format!("message {id}"), &body)?, body.len()))
    }

    pub(crate) fn events(&self, from: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        let sql = "SELECT e.seq, e.time_ms, e.agent, m.body, e.body, e.type FROM events e \
                   LEFT JOIN messages m ON m.id = e.message WHERE e.seq >= ?1 ORDER BY e.seq LIMIT ?2";
        let rows = self.all(sql, [signed(from.0), signed(limit as u64)], event_row)?;
        rows.into_iter().map(|row| self.event(row)).collect()
    }

    pub(crate) fn last_event(&self) -> Result<Option<Recorded>, StoreError> {
        let sql = "SELECT e.seq, e.time_ms, e.agent, m.body, e.body, e.type FROM events e \
                   LEFT JOIN messages m ON m.id = e.message ORDER BY e.seq DESC LIMIT 1";
        self.one(sql, [], event_row)?.map(|row| self.event(row)).transpose()
    }

    /// The usage events in order, `limit` from the one after `after`.
    pub(crate) fn usage_events(&self, after: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        // The literal type is what makes SQLite take the partial index.
        let sql = "SELECT seq, time_ms, agent, NULL, body, type FROM events \
                   WHERE type = 'usage' AND seq > ?1 ORDER BY seq LIMIT ?2";
        let rows = self.all(sql, [signed(after.0), signed(limit as u64)], event_row)?;
        rows.into_iter().map(|row| self.event(row)).collect()
    }

    fn event(&self, row: EventRow) -> Result<Recorded, StoreError> {
        let seq = Seq(unsigned(row.seq));
        let what = format!("event {seq}");
        let event = if row.kind == "message" {
            let message = row
                .message
                .ok_or_else(|| StoreError::damaged(self.dir, format!("{what} lacks its message")))?;
            Event::Message {
                turn: self.parse(&what, &row.body)?,
                message: Arc::new(self.parse(&what, &message)?),
            }
        } else {
            self.parse(&what, &row.body)?
        };
        Ok(Recorded { seq, time_ms: unsigned(row.time_ms), agent: row.agent.map(AgentId::new), event })
    }

    pub(crate) fn agents(&self) -> Result<Vec<AgentRecord>, StoreError> {
        let sql =
            "SELECT id, profile, parent, depth, lineage, successor, ending, progress FROM agents ORDER BY n";
        let rows = self.all(sql, [], |row| {
            // The two bodies are read below: what fails there is damage, not an SQLite error.
            let agent = AgentRecord {
                id: AgentId::new(row.get::<_, String>(0)?),
                profile: ProfileId::new(row.get::<_, String>(1)?),
                parent: row.get::<_, Option<String>>(2)?.map(AgentId::new),
                depth: row.get(3)?,
                lineage: AgentId::new(row.get::<_, String>(4)?),
                status: match row.get::<_, Option<String>>(5)? {
                    Some(successor) => AgentStatus::Became(AgentId::new(successor)),
                    None => AgentStatus::Live,
                },
                progress: serde_json::Value::Null,
            };
            Ok((agent, row.get::<_, Option<String>>(6)?, row.get::<_, String>(7)?))
        })?;
        let read = |(mut agent, ending, progress): (AgentRecord, Option<String>, String)| {
            let what = format!("agent {}", agent.id);
            if let Some(ending) = ending {
                agent.status = AgentStatus::Ended(self.parse(&what, &ending)?);
            }
            agent.progress = self.parse(&what, &progress)?;
            Ok(agent)
        };
        rows.into_iter().map(read).collect()
    }

    pub(crate) fn agent_count(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM agents WHERE lineage = id";
        Ok(self.one(sql, [], |row| row.get(0))?.map_or(0, unsigned))
    }

    pub(crate) fn has_agent(&self, agent: &AgentId) -> Result<bool, StoreError> {
        let found = self.one("SELECT 1 FROM agents WHERE id = ?1", [agent.as_str()], |_| Ok(()))?;
        Ok(found.is_some())
    }

    pub(crate) fn modules(&self, agent: &AgentId) -> Result<Vec<ModuleRecord>, StoreError> {
        let sql = "SELECT m.id, m.kind, m.profile, m.component_sha256, m.state_format, m.state, m.state_sha256 \
                   FROM holds h JOIN modules m ON m.id = h.module WHERE h.agent = ?1 ORDER BY m.kind";
        let rows = self.all(sql, [agent.as_str()], module_row)?;
        rows.into_iter().map(|row| self.module(row)).collect()
    }

    pub(crate) fn all_modules(&self) -> Result<Vec<(ModuleRecord, Vec<AgentId>)>, StoreError> {
        let sql = "SELECT id, kind, profile, component_sha256, state_format, state, state_sha256 FROM modules \
                   ORDER BY id";
        let rows = self.all(sql, [], module_row)?;
        let mut holders: BTreeMap<i64, Vec<AgentId>> = BTreeMap::new();
        // In the order of the agents, which their ids as text would not give.
        let sql = "SELECT h.module, h.agent FROM holds h LEFT JOIN agents a ON a.id = h.agent ORDER BY a.n, h.agent";
        for (module, agent) in self.all(sql, [], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))? {
            holders.entry(module).or_default().push(AgentId::new(agent));
        }
        let with_holders = |row: ModuleRow| {
            let holders = holders.remove(&signed(row.0.id.0)).unwrap_or_default();
            Ok((self.module(row)?, holders))
        };
        rows.into_iter().map(with_holders).collect()
    }

    fn module(&self, (module, digest): ModuleRow) -> Result<ModuleRecord, StoreError> {
        if module.digest() != digest {
            let what = format!("the state of module {}, {}, is not what was stored", module.id, module.kind);
            return Err(StoreError::damaged(self.dir, what));
        }
        Ok(module)
    }

    pub(crate) fn inbox(&self, agent: &AgentId) -> Result<Vec<InboxItem>, StoreError> {
        let sql = "SELECT n, kind, sender, body FROM inboxes WHERE agent = ?1 ORDER BY n";
        let rows = self.all(sql, [agent.as_str()], |row| {
            let item = InboxItem {
                n: unsigned(row.get(0)?),
                kind: InboxKind::Message,
                from: row.get::<_, Option<String>>(2)?.map(AgentId::new),
                text: row.get(3)?,
            };
            Ok((item, row.get::<_, String>(1)?))
        })?;
        let read = |(item, kind): (InboxItem, String)| match InboxKind::parse(&kind) {
            Some(kind) => Ok(InboxItem { kind, ..item }),
            None => Err(StoreError::damaged(self.dir, format!("item {} of an inbox cannot be read", item.n))),
        };
        rows.into_iter().map(read).collect()
    }

    pub(crate) fn calls(&self, agent: &AgentId, turn: Turn) -> Result<Vec<CallRecord>, StoreError> {
        let sql = "SELECT turn, place, effect, call, result FROM calls \
                   WHERE agent = ?1 AND turn = ?2 ORDER BY place";
        self.call_rows(sql, (agent.as_str(), turn.0))
    }

    pub(crate) fn open_calls(&self, agent: &AgentId) -> Result<Vec<CallRecord>, StoreError> {
        let sql = "SELECT turn, place, effect, call, result FROM calls \
                   WHERE agent = ?1 AND result IS NULL ORDER BY turn, place";
        self.call_rows(sql, [agent.as_str()])
    }

    fn call_rows(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<CallRecord>, StoreError> {
        type Texts = (Option<String>, Option<String>, Option<String>);
        let rows = self.all(sql, params, |row| {
            let place: (u32, u32) = (row.get(0)?, row.get(1)?);
            let texts: Texts = (row.get(2)?, row.get(3)?, row.get(4)?);
            Ok((place, texts))
        })?;
        let read = |((turn, index), (effect, call, result)): ((u32, u32), Texts)| {
            let what = format!("call {index} of turn {turn}");
            let intent = match (effect, call) {
                (Some(effect), Some(call)) => {
                    Some(Intent { call: self.parse(&what, &call)?, effect: self.parse(&what, &effect)? })
                }
                _ => None,
            };
            let result = result.map(|result| self.parse(&what, &result)).transpose()?;
            Ok(CallRecord { turn: Turn(turn), index, intent, result })
        };
        rows.into_iter().map(read).collect()
    }

    pub(crate) fn declarations(&self, agent: &AgentId, turn: Turn) -> Result<Vec<Declaration>, StoreError> {
        let sql = "SELECT body FROM declarations WHERE agent = ?1 AND turn = ?2";
        let found: Option<String> = self.one(sql, (agent.as_str(), turn.0), |row| row.get(0))?;
        let what = || format!("the declarations of {agent} in turn {turn}");
        found.map_or_else(|| Ok(Vec::new()), |body| self.parse(&what(), &body))
    }

    fn parse<T: DeserializeOwned>(&self, what: &str, json: &str) -> Result<T, StoreError> {
        serde_json::from_str(json)
            .map_err(|error| StoreError::damaged(self.dir, format!("{what} cannot be read: {error}")))
    }

    fn one<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let query = || self.connection.prepare_cached(sql)?.query_row(params, read).optional();
        query().map_err(|error| self.fail(&error))
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let query = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map(params, read)?.collect::<rusqlite::Result<Vec<T>>>()
        };
        query().map_err(|error| self.fail(&error))
    }

    fn fail(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(self.dir, 0, error)
    }
}

/// A module with the digest that its state should have.
type ModuleRow = (ModuleRecord, Option<String>);

fn module_row(row: &Row<'_>) -> rusqlite::Result<ModuleRow> {
    let module = ModuleRecord {
        id: ModuleId(unsigned(row.get(0)?)),
        kind: row.get(1)?,
        profile: row.get::<_, Option<String>>(2)?.map(ProfileId::new),
        component_sha256: row.get(3)?,
        state_format: row.get(4)?,
        state: row.get::<_, Option<Vec<u8>>>(5)?.map(Into::into),
    };
    Ok((module, row.get(6)?))
}

fn event_row(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    Ok(EventRow {
        seq: row.get(0)?,
        time_ms: row.get(1)?,
        agent: row.get(2)?,
        message: row.get(3)?,
        body: row.get(4)?,
        kind: row.get(5)?,
    })
}

/// SQLite's integers are signed. Ours start at 0 or 1 and never come near the difference.
pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The other way; a negative number was put there by nobody of ours and counts as none.
pub(crate) fn unsigned(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
