//! The one thread that writes. It takes what all agents have ready and commits it together: a disk sync
//! costs the same for one step as for a hundred.

mod modules;

use crate::{
    cache::Cache,
    error::StoreError,
    folder::{FileIdentity, RunFolder},
    queries::signed,
    step::{AgentRow, CallPlace, Prepared, Row},
    subscribers::Subscribers,
};
use gg_core::{CallId, Live, Message, Recorded, Seq};
use modules::Modules;
use rusqlite::{Connection, OptionalExtension, params};
use std::{
    fs::File,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{mpsc, oneshot};

/// The most steps that wait for the writer. Whoever comes later waits to hand its own over.
pub(crate) const QUEUE: usize = 1024;

/// The most steps of one transaction: with more, the first would wait long for its answer.
const MAX_BATCH_STEPS: usize = 512;

/// A transaction takes no further step once it has this many bytes, for the same reason.
const MAX_BATCH_BYTES: usize = 16 << 20;

/// The answer to a committed step: its events as they were recorded.
pub(crate) type Outcome = Result<Vec<Arc<Recorded>>, StoreError>;

/// What the writer is asked.
pub(crate) enum Request {
    /// Commit this.
    Commit(Prepared, oneshot::Sender<Outcome>),
    /// Commit everything that was asked before this, and end.
    Close(oneshot::Sender<Result<(), StoreError>>),
}

/// The connection that reads for the live store; gone once the store is closed.
pub(crate) type SharedReader = Arc<Mutex<Option<Connection>>>;

/// What the writing thread owns.
pub(crate) struct Writer {
    pub(crate) folder: RunFolder,
    pub(crate) connection: Connection,
    pub(crate) max_bytes: u64,
    pub(crate) now_ms: fn() -> u64,
    pub(crate) last_seq: u64,
    pub(crate) last_time_ms: u64,
    pub(crate) cache: Arc<Cache>,
    pub(crate) subscribers: Arc<Subscribers>,
    pub(crate) reader: SharedReader,
    pub(crate) files: Files,
    /// Why nothing can be written any more, once that is so.
    pub(crate) broken: Option<StoreError>,
    /// Dropped last, when the database is closed.
    pub(crate) lock: File,
}

/// The files that hold the record. SQLite goes on writing to files that were removed, and says that all is
/// well.
pub(crate) struct Files {
    paths: [PathBuf; 2],
    identities: [Option<FileIdentity>; 2],
}

impl Files {
    /// The files as they are now.
    pub(crate) fn of(folder: &RunFolder) -> Self {
        let paths = [folder.database(), folder.log()];
        let identities = [FileIdentity::of(&paths[0]), FileIdentity::of(&paths[1])];
        Self { paths, identities }
    }

    fn are_there(&self) -> bool {
        let now = [FileIdentity::of(&self.paths[0]), FileIdentity::of(&self.paths[1])];
        now.iter().all(Option::is_some) && now == self.identities
    }
}

/// A step that was committed, and what has to happen now that it is on disk.
struct Committed {
    events: Vec<Arc<Recorded>>,
    messages: Vec<(Arc<Message>, usize)>,
}

type Waiting = (Prepared, oneshot::Sender<Outcome>);

impl Writer {
    /// Serves requests until one closes the store or nobody is left who could ask.
    pub(crate) fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut closing = None;
        while closing.is_none() {
            let Some(first) = requests.blocking_recv() else { break };
            let (batch, close) = gather(first, &mut requests);
            closing = close;
            if !batch.is_empty() {
                self.commit(batch);
            }
        }
        // Whoever still waits in the queue is answered by its reply's end: the store is closed.
        drop(requests);
        let closed = self.close();
        if let Some(reply) = closing {
            // A caller that no longer waits loses nothing by it.
            let _ = reply.send(closed);
        }
    }

    /// Commits a batch and answers everyone in it. The order matters: only what is on disk is shown, and
    /// shown before the agent goes on, so that nobody sees the agent's next words before its last step.
    fn commit(&mut self, batch: Vec<Waiting>) {
        let (steps, replies): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        match self.write(steps) {
            Ok(outcomes) => {
                let committed = outcomes.iter().flatten();
                for (message, bytes) in committed.clone().flat_map(|step| &step.messages) {
                    self.cache.put(message, *bytes);
                }
                let events = committed.flat_map(|step| &step.events);
                self.subscribers.offer(events.map(|event| Live::Event(Arc::clone(event))));
                for (reply, outcome) in replies.into_iter().zip(outcomes) {
                    let _ = reply.send(outcome.map(|step| step.events));
                }
            }
            Err(error) => {
                for reply in replies {
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
    }

    /// Writes steps in one transaction. The inner results are the steps' own; an error outside means that
    /// nothing of any of them is recorded.
    fn write(&mut self, steps: Vec<Prepared>) -> Result<Vec<Result<Committed, StoreError>>, StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        // Checked before writing too, so that a database put in the place of ours is not written to.
        self.check_files()?;
        let time_ms = (self.now_ms)().max(self.last_time_ms);
        let mut seq = self.last_seq;
        let written = self.transaction(steps, time_ms, &mut seq);
        if written.is_err() && !self.connection.is_autocommit() {
            // If this fails too, the next BEGIN says so.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let outcomes = written?;
        self.check_files()?;
        self.last_seq = seq;
        self.last_time_ms = time_ms;
        Ok(outcomes)
    }

    fn transaction(
        &self,
        steps: Vec<Prepared>,
        time_ms: u64,
        seq: &mut u64,
    ) -> Result<Vec<Result<Committed, StoreError>>, StoreError> {
        let mut outcomes = Vec::with_capacity(steps.len());
        self.statement("BEGIN IMMEDIATE")?;
        for step in steps {
            let before = *seq;
            self.statement("SAVEPOINT step")?;
            let outcome = self.apply(step, time_ms, seq);
            if let Err(error) = &outcome {
                if !error.is_of_the_step() {
                    return Err(error.clone());
                }
                *seq = before;
                self.statement("ROLLBACK TO step")?;
            }
            self.statement("RELEASE step")?;
            outcomes.push(outcome);
        }
        self.statement("COMMIT")?;
        Ok(outcomes)
    }

    fn check_files(&mut self) -> Result<(), StoreError> {
        if self.files.are_there() {
            return Ok(());
        }
        let error = StoreError::Gone { dir: self.folder.dir().to_owned() };
        self.broken = Some(error.clone());
        Err(error)
    }

    fn apply(&self, step: Prepared, time_ms: u64, seq: &mut u64) -> Result<Committed, StoreError> {
        let mut committed = Committed { events: Vec::new(), messages: Vec::new() };
        let mut modules = Modules::default();
        for row in step.rows {
            match row {
                Row::Message { message, body } => {
                    self.insert_message(&message, &body)?;
                    committed.messages.push((message, body.len()));
                }
                Row::Event { agent, event, message, body } => {
                    *seq += 1;
                    let name = event.name();
                    let message = message.map(|id| signed(id.0));
                    let by = agent.as_ref().map(|agent| agent.as_str());
                    self.execute(
                        "INSERT INTO events (seq, time_ms, agent, type, message, body) \
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                        params![signed(*seq), signed(time_ms), by, name, message, body],
                    )?;
                    committed.events.push(Arc::new(Recorded { seq: Seq(*seq), time_ms, agent, event }));
                }
                Row::Module { module, digest } => self.write_module(&module, digest, &mut modules)?,
                Row::Hold { agent, module } => self.hold(&agent, module)?,
                Row::LetGo { agent, module } => self.let_go(&agent, module, &mut modules)?,
                other => self.apply_state(&other)?,
            }
        }
        self.settle_modules(&modules)?;
        Ok(committed)
    }

    fn apply_state(&self, row: &Row) -> Result<(), StoreError> {
        match row {
            // `apply` has dealt with these: some make part of the answer, some are settled at the step's end.
            Row::Message { .. }
            | Row::Event { .. }
            | Row::Module { .. }
            | Row::Hold { .. }
            | Row::LetGo { .. } => Ok(()),
            Row::Agent(agent) => self.upsert_agent(agent),
            Row::InboxPush { agent, item } => self
                .execute(
                    "INSERT INTO inboxes (n, agent, kind, sender, body) VALUES (?1, ?2, ?3, ?4, ?5)",
                    params![
                        signed(item.n),
                        agent.as_str(),
                        item.kind.word(),
                        item.from.as_ref().map(|from| from.as_str()),
                        item.text
                    ],
                )
                .map(drop),
            Row::InboxDrain { agent, up_to } => self
                .execute(
                    "DELETE FROM inboxes WHERE agent = ?1 AND n <= ?2",
                    params![agent.as_str(), signed(*up_to)],
                )
                .map(drop),
            Row::Intent { at, call, effect, body } => self.insert_intent(at, call, effect, body),
            Row::Result { at, call, body } => self.record_result(at, call, body),
            Row::Declarations { agent, turn, body } => self
                .execute(
                    "INSERT INTO declarations (agent, turn, body) VALUES (?1, ?2, ?3) \
                     ON CONFLICT (agent, turn) DO UPDATE SET body = excluded.body",
                    params![agent.as_str(), turn.0, body],
                )
                .map(drop),
        }
    }

    fn insert_message(&self, message: &Message, body: &str) -> Result<(), StoreError> {
        let id = signed(message.id.0);
        let sql = "INSERT INTO messages (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING";
        if self.execute(sql, params![id, body])? > 0 {
            return Ok(());
        }
        let sql = "SELECT 1 FROM messages WHERE id = ?1 AND body = ?2";
        let same = self.query(sql, params![id, body], |_| Ok(()))?;
        same.ok_or_else(|| {
            StoreError::Conflict(format!("another message is recorded under the id {}", message.id))
        })
    }

    fn upsert_agent(&self, agent: &AgentRow) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO agents (id, profile, parent, depth, ending, progress, lineage, successor) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO UPDATE SET profile = excluded.profile, \
             parent = excluded.parent, depth = excluded.depth, ending = excluded.ending, \
             progress = excluded.progress, lineage = excluded.lineage, successor = excluded.successor",
            params![
                agent.id.as_str(),
                agent.profile.as_str(),
                agent.parent.as_ref().map(|parent| parent.as_str()),
                agent.depth,
                agent.ending,
                agent.progress,
                agent.lineage.as_str(),
                agent.successor.as_ref().map(|successor| successor.as_str()),
            ],
        )
        .map(drop)
    }

    fn insert_intent(
        &self,
        at: &CallPlace,
        call: &CallId,
        effect: &str,
        body: &str,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO calls (agent, turn, place, call_id, effect, call) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
        let values = params![at.agent.as_str(), at.turn.0, at.index, call.as_str(), effect, body];
        match self.execute(sql, values)? {
            0 => Err(at.conflict("is recorded already")),
            _ => Ok(()),
        }
    }

    fn record_result(&self, at: &CallPlace, call: &CallId, body: &str) -> Result<(), StoreError> {
        let (agent, turn, place) = (at.agent.as_str(), at.turn.0, at.index);
        let sql = "INSERT INTO calls (agent, turn, place, call_id, result) VALUES (?1, ?2, ?3, ?4, ?5) \
                   ON CONFLICT DO UPDATE SET result = excluded.result \
                   WHERE result IS NULL AND call_id = excluded.call_id";
        if self.execute(sql, params![agent, turn, place, call.as_str(), body])? > 0 {
            return Ok(());
        }
        let sql = "SELECT call_id FROM calls WHERE agent = ?1 AND turn = ?2 AND place = ?3";
        let other: Option<String> = self.query(sql, params![agent, turn, place], |row| row.get(0))?;
        Err(match other {
            Some(other) if other != call.as_str() => at.conflict(&format!("is {other}, not {call}")),
            _ => at.conflict("has its result already"),
        })
    }

    fn statement(&self, sql: &str) -> Result<(), StoreError> {
        self.execute(sql, []).map(drop)
    }

    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize, StoreError> {
        let run = || self.connection.prepare_cached(sql)?.execute(params);
        run().map_err(|error| self.fail(&error))
    }

    fn query<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let run = || self.connection.prepare_cached(sql)?.query_row(params, read).optional();
        run().map_err(|error| self.fail(&error))
    }

    fn fail(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::sqlite(self.folder.dir(), self.max_bytes, error)
    }

    /// Closes the database, then gives the run up. The reader goes first: the last connection to go is the
    /// one that copies the log into the database, and only one that writes can.
    fn close(self) -> Result<(), StoreError> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (dir, max_bytes) = (self.folder.dir(), self.max_bytes);
        let closed = self.connection.close().map_err(|(_, error)| StoreError::sqlite(dir, max_bytes, &error));
        self.subscribers.close();
        drop(self.lock);
        self.broken.map_or(closed, Err)
    }
}

impl CallPlace {
    fn conflict(&self, what: &str) -> StoreError {
        StoreError::Conflict(format!("call {} of {}'s turn {} {what}", self.index, self.agent, self.turn))
    }
}

/// The first request and all that wait behind it, as far as one transaction should go.
fn gather(
    first: Request,
    requests: &mut mpsc::Receiver<Request>,
) -> (Vec<Waiting>, Option<oneshot::Sender<Result<(), StoreError>>>) {
    let mut batch = Vec::new();
    let mut bytes = 0_usize;
    let mut next = Some(first);
    while let Some(request) = next {
        match request {
            Request::Commit(step, reply) => {
                bytes = bytes.saturating_add(step.bytes);
                batch.push((step, reply));
            }
            Request::Close(reply) => return (batch, Some(reply)),
        }
        let full = batch.len() >= MAX_BATCH_STEPS || bytes >= MAX_BATCH_BYTES;
        next = if full { None } else { requests.try_recv().ok() };
    }
    (batch, None)
}
