//! Reading a run's record: while it lives, after it ended, after it crashed.

use crate::{
    error::StoreError,
    folder::RunFolder,
    list::{RunStatus, RunSummary},
    queries::Queries,
    records::{AgentRecord, CallRecord, InboxItem, ModuleRecord, RunMeta, StartedRun},
    schema::{self, Access, versions},
};
use gg_core::{AgentId, Message, MessageId, Recorded, Seq, Turn, digest::sha256_hex, turn::Declaration};
use rusqlite::Connection;
use serde_json::Value;
use std::path::Path;

/// The most events that are read at once. Each may carry a message.
pub const MAX_PAGE: usize = 1000;

/// Reads the record of one run. Each answer is consistent in itself; while the run lives, two answers may
/// stand for two instants.
///
/// It may be sent to another thread, and blocks the one it is used on.
#[derive(Debug)]
pub struct RunReader {
    folder: RunFolder,
    connection: Connection,
    started: StartedRun,
}

impl RunReader {
    /// Opens the record in a run's directory, and changes nothing in it. SQLite may leave its own empty files
    /// beside it (`run.db-shm`, `run.db-wal`), which the next owner removes.
    ///
    /// # Errors
    /// [`StoreError::NotARun`] for what gg did not make, [`StoreError::Newer`] for what a later gg made,
    /// [`StoreError::Damaged`] for what contradicts itself.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let folder = RunFolder::open(dir)?;
        let connection = schema::connect(folder.dir(), &folder.database(), Access::Read)?;
        let version = schema::check(folder.dir(), &connection)?;
        versions::read_as_current(folder.dir(), &connection, version)?;
        let started = Queries { dir: folder.dir(), connection: &connection }.started()?;
        Ok(Self { folder, connection, started })
    }

    fn queries(&self) -> Queries<'_> {
        Queries { dir: self.folder.dir(), connection: &self.connection }
    }

    /// The run's directory, as an absolute path.
    pub fn dir(&self) -> &Path {
        self.folder.dir()
    }

    /// What was recorded when the run was made.
    pub fn started(&self) -> &StartedRun {
        &self.started
    }

    /// The run as it was started, with its effective configuration.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if `config.json` is not the file that was written then.
    pub fn meta(&self) -> Result<RunMeta, StoreError> {
        let StartedRun { root, gg, prompt, workspace, .. } = self.started.clone();
        Ok(RunMeta { config: self.config()?, prompt, workspace, root, gg })
    }

    fn config(&self) -> Result<Value, StoreError> {
        let bytes = self.folder.read_config()?;
        if sha256_hex(&bytes) != self.started.config_sha256 {
            return Err(StoreError::damaged(self.dir(), "config.json was changed after the run began"));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| StoreError::damaged(self.dir(), format!("config.json: {error}")))
    }

    /// Whether the run goes on, ended or was interrupted.
    ///
    /// # Errors
    /// As for any reading.
    pub fn status(&self) -> Result<RunStatus, StoreError> {
        RunStatus::read(&self.folder, self.queries())
    }

    /// What a list of runs says of this one.
    ///
    /// # Errors
    /// As for any reading.
    pub fn summary(&self) -> Result<RunSummary, StoreError> {
        RunSummary::read(&self.folder, self.queries(), self.started.clone())
    }

    /// Events in order, from the number `from` on: at most `limit` and at most [`MAX_PAGE`]. None are left
    /// once the answer is empty, if the run does not go on.
    ///
    /// # Errors
    /// As for any reading.
    pub fn events(&self, from: Seq, limit: usize) -> Result<Vec<Recorded>, StoreError> {
        self.queries().events(from, limit.min(MAX_PAGE))
    }

    /// All events in order, from the number `from` on, read page by page; those that a live run commits
    /// meanwhile come too. It ends after an error.
    pub fn events_from(&self, from: Seq) -> impl Iterator<Item = Result<Recorded, StoreError>> + '_ {
        let mut next = Some(from);
        let pages = std::iter::from_fn(move || {
            let page = self.events(next?, MAX_PAGE);
            next = page.as_ref().ok().and_then(|page| page.last()).map(|event| event.seq.next());
            match page {
                Ok(page) if page.is_empty() => None,
                Ok(page) => Some(page.into_iter().map(Ok).collect::<Vec<_>>()),
                Err(error) => Some(vec![Err(error)]),
            }
        });
        pages.flatten()
    }

    /// The last event; `None` if nothing was recorded yet.
    ///
    /// # Errors
    /// As for any reading.
    pub fn last_event(&self) -> Result<Option<Recorded>, StoreError> {
        self.queries().last_event()
    }

    /// A message.
    ///
    /// # Errors
    /// [`StoreError::NoMessage`] if it is not recorded.
    pub fn message(&self, id: MessageId) -> Result<Message, StoreError> {
        Ok(self.queries().message(id)?.0)
    }

    /// All agents, in the order in which they were first recorded.
    ///
    /// # Errors
    /// As for any reading.
    pub fn agents(&self) -> Result<Vec<AgentRecord>, StoreError> {
        self.queries().agents()
    }

    /// Every module, in the order of their ids, with the agents that hold it. One without holders is a profile's.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if a state is not the one that was stored.
    pub fn all_modules(&self) -> Result<Vec<(ModuleRecord, Vec<AgentId>)>, StoreError> {
        self.queries().all_modules()
    }

    /// The modules that an agent holds, by kind. The digest of each state was checked.
    ///
    /// # Errors
    /// [`StoreError::NoAgent`] if there is no such agent; [`StoreError::Damaged`] if a state is not the one
    /// that was stored.
    pub fn modules(&self, agent: &AgentId) -> Result<Vec<ModuleRecord>, StoreError> {
        self.expect(agent)?.modules(agent)
    }

    /// What waits in an agent's inbox, in order.
    ///
    /// # Errors
    /// [`StoreError::NoAgent`] if there is no such agent.
    pub fn inbox(&self, agent: &AgentId) -> Result<Vec<InboxItem>, StoreError> {
        self.expect(agent)?.inbox(agent)
    }

    /// What is known of the calls of an agent's turn, in their order.
    ///
    /// # Errors
    /// [`StoreError::NoAgent`] if there is no such agent.
    pub fn calls(&self, agent: &AgentId, turn: Turn) -> Result<Vec<CallRecord>, StoreError> {
        self.expect(agent)?.calls(agent, turn)
    }

    /// An agent's calls whose intent is recorded and whose result is not, in their order: after a crash their
    /// outcome is unknown.
    ///
    /// # Errors
    /// [`StoreError::NoAgent`] if there is no such agent.
    pub fn open_calls(&self, agent: &AgentId) -> Result<Vec<CallRecord>, StoreError> {
        self.expect(agent)?.open_calls(agent)
    }

    /// The declarations of an agent's turn, in order; none if none were recorded.
    ///
    /// # Errors
    /// [`StoreError::NoAgent`] if there is no such agent.
    pub fn declarations(&self, agent: &AgentId, turn: Turn) -> Result<Vec<Declaration>, StoreError> {
        self.expect(agent)?.declarations(agent, turn)
    }

    fn expect(&self, agent: &AgentId) -> Result<Queries<'_>, StoreError> {
        let queries = self.queries();
        if queries.has_agent(agent)? { Ok(queries) } else { Err(StoreError::NoAgent(agent.clone())) }
    }
}
