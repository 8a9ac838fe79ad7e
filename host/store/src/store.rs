//! The live record of a run: commits, subscriptions, messages.

use crate::{
    cache::Cache,
    error::StoreError,
    folder::{MAX_CONFIG_BYTES, RunFolder},
    queries::{Counters, Queries, signed},
    records::RunMeta,
    schema::{self, Access, versions},
    step::Step,
    subscribers::{Subscribers, Subscription},
    writer::{Files, QUEUE, Request, SharedReader, Writer},
};
use gg_core::{AgentId, Live, Message, MessageId, ModuleId, Recorded, RunId, digest::sha256_hex};
use rusqlite::{Connection, params};
use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};
use tokio::sync::{mpsc, oneshot};

/// The most requests that wait for the thread that reads.
const READ_QUEUE: usize = 64;

/// How a store is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many bytes of messages are kept in memory.
    pub cache_bytes: usize,
    /// How large the database may become, in bytes. A step that would need more fails with
    /// [`StoreError::Full`].
    pub max_bytes: u64,
    /// How long a transaction waits for another program that holds the database, before it fails with
    /// [`StoreError::Busy`].
    pub busy_wait: Duration,
    /// The time in milliseconds since 1970; asked once a transaction.
    pub now_ms: fn() -> u64,
}

impl Default for Options {
    /// 64 MiB of messages, some sixteen million tokens; 64 GiB of database, so that a run that went wild stops
    /// before most disks are full; five seconds; the system's clock.
    fn default() -> Self {
        Self {
            cache_bytes: 64 << 20,
            max_bytes: 64 << 30,
            busy_wait: schema::BUSY_WAIT,
            now_ms: system_now_ms,
        }
    }
}

impl Options {
    fn access(&self) -> Access {
        Access::Write { max_bytes: self.max_bytes, busy_wait: self.busy_wait }
    }
}

fn system_now_ms() -> u64 {
    // A clock before 1970 is broken; times are for people to read, and a run is not worth less for it.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The record of a run that this process writes. Clones are handles of the same store.
///
/// It works with any executor: the threads that write and read are its own. Once the last handle is dropped,
/// what waits is committed and the run is given up; [`RunStore::close`] also waits until that is done.
#[derive(Clone)]
pub struct RunStore {
    inner: Arc<Inner>,
}

struct Inner {
    folder: RunFolder,
    run: RunId,
    config_sha256: String,
    requests: mpsc::Sender<Request>,
    reads: mpsc::Sender<Read>,
    reader: SharedReader,
    cache: Arc<Cache>,
    subscribers: Arc<Subscribers>,
    messages: AtomicU64,
    agents: AtomicU64,
    inbox: AtomicU64,
    modules: AtomicU64,
}

struct Read {
    ids: Vec<MessageId>,
    reply: oneshot::Sender<Result<Vec<Arc<Message>>, StoreError>>,
}

impl std::fmt::Debug for RunStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStore").field("dir", &self.inner.folder.dir()).finish_non_exhaustive()
    }
}

impl RunStore {
    /// Makes a new run in `runs_dir`, which is made too if need be, and becomes its owner. Only the user can
    /// read what it holds.
    ///
    /// # Errors
    /// [`StoreError::Io`] and its like if the folder cannot be written.
    pub fn create(runs_dir: &Path, meta: RunMeta) -> Result<Self, StoreError> {
        Self::create_with(runs_dir, meta, Options::default())
    }

    /// The same, with other bounds or another clock.
    ///
    /// # Errors
    /// As [`RunStore::create`].
    pub fn create_with(runs_dir: &Path, meta: RunMeta, options: Options) -> Result<Self, StoreError> {
        let config = serde_json::to_vec_pretty(&meta.config)
            .map_err(|error| StoreError::Conflict(format!("the configuration is not JSON: {error}")))?;
        if config.len() as u64 > MAX_CONFIG_BYTES {
            return Err(StoreError::TooLarge { bytes: config.len(), max: MAX_CONFIG_BYTES as usize });
        }
        let config_sha256 = sha256_hex(&config);
        let started_ms = (options.now_ms)();
        let (run, folder) = RunFolder::create(runs_dir, started_ms)?;
        // Owned before there is anything to see: whoever lists runs meanwhile knows that it is being made.
        let lock = folder.own()?;
        folder.write_first_files(&config)?;
        let access = options.access();
        let mut connection = schema::connect(folder.dir(), &folder.database(), access)?;
        schema::create(folder.dir(), &mut connection, options.max_bytes, |connection| {
            let sql = "INSERT INTO run (id, run, started_ms, root, gg, prompt, workspace, config_sha256) \
                       VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let RunMeta { prompt, workspace, root, gg, .. } = &meta;
            let started = signed(started_ms);
            let values = params![run.as_str(), started, root.as_str(), gg, prompt, workspace, config_sha256];
            connection.execute(sql, values).map(drop)
        })?;
        folder.sync_names()?;
        Self::start(folder, run, config_sha256, connection, lock, Counters::default(), options)
    }

    /// Becomes the owner of a run that was made before, and goes on where its record ends.
    ///
    /// # Errors
    /// [`StoreError::Owned`] while another process writes it; [`StoreError::NotARun`], [`StoreError::Newer`]
    /// or [`StoreError::Damaged`] if the directory does not hold what this gg can go on from.
    pub fn open(dir: &Path, options: Options) -> Result<Self, StoreError> {
        let folder = RunFolder::open(dir)?;
        // Looked at before it is touched: what is not ours stays as it is.
        let looking = schema::connect(folder.dir(), &folder.database(), Access::Read)?;
        let version = schema::check(folder.dir(), &looking)?;
        drop(looking);
        let lock = folder.own()?;
        let access = options.access();
        let mut connection = schema::connect(folder.dir(), &folder.database(), access)?;
        versions::upgrade(folder.dir(), &mut connection, options.max_bytes, version)?;
        let queries = Queries { dir: folder.dir(), connection: &connection };
        let started = queries.started()?;
        let counters = queries.counters()?;
        Self::start(folder, started.id, started.config_sha256, connection, lock, counters, options)
    }

    fn start(
        folder: RunFolder,
        run: RunId,
        config_sha256: String,
        connection: Connection,
        lock: File,
        counters: Counters,
        options: Options,
    ) -> Result<Self, StoreError> {
        let reading = schema::connect(folder.dir(), &folder.database(), Access::Read)?;
        let reader: SharedReader = Arc::new(Mutex::new(Some(reading)));
        let cache = Arc::new(Cache::new(options.cache_bytes));
        let subscribers = Arc::new(Subscribers::default());
        let writer = Writer {
            files: Files::of(&folder),
            folder: folder.clone(),
            connection,
            max_bytes: options.max_bytes,
            now_ms: options.now_ms,
            last_seq: counters.seq,
            last_time_ms: counters.time_ms,
            cache: Arc::clone(&cache),
            subscribers: Arc::clone(&subscribers),
            reader: Arc::clone(&reader),
            broken: None,
            lock,
        };
        let (requests, waiting) = mpsc::channel(QUEUE);
        let (reads, asked) = mpsc::channel(READ_QUEUE);
        spawn("gg-store-write", &folder, move || writer.run(waiting))?;
        let source = Source {
            dir: folder.dir().to_owned(),
            connection: Arc::clone(&reader),
            cache: Arc::clone(&cache),
        };
        spawn("gg-store-read", &folder, move || serve_reads(&source, asked))?;
        let inner = Inner {
            folder,
            run,
            config_sha256,
            requests,
            reads,
            reader,
            cache,
            subscribers,
            messages: AtomicU64::new(counters.message),
            agents: AtomicU64::new(counters.agent),
            inbox: AtomicU64::new(counters.inbox),
            modules: AtomicU64::new(counters.module),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The run's id.
    pub fn run_id(&self) -> &RunId {
        &self.inner.run
    }

    /// The run's directory, as an absolute path.
    pub fn dir(&self) -> &Path {
        self.inner.folder.dir()
    }

    /// The SHA-256 of `config.json`, in hexadecimal.
    pub fn config_sha256(&self) -> &str {
        &self.inner.config_sha256
    }

    /// An id for a new message: higher than all before.
    pub fn next_message_id(&self) -> MessageId {
        MessageId(next(&self.inner.messages))
    }

    /// An id for a new agent; `a1` is the first.
    pub fn next_agent_id(&self) -> AgentId {
        AgentId::nth(next(&self.inner.agents))
    }

    /// An id for a new module: higher than all before.
    pub fn next_module_id(&self) -> ModuleId {
        ModuleId(next(&self.inner.modules))
    }

    /// A number for a new item of any inbox: higher than all before.
    pub fn next_inbox_number(&self) -> u64 {
        next(&self.inner.inbox)
    }

    /// Records a step: all of it, or nothing. The answer comes once it is on disk, and holds the step's events
    /// with their numbers. Steps of one agent are recorded in the order in which they were handed over.
    ///
    /// Waits while many steps are ahead of this one. If the future is dropped, the step may be recorded all
    /// the same.
    ///
    /// # Errors
    /// [`StoreError::Conflict`], [`StoreError::TooLarge`] and [`StoreError::TooDeep`] are the step's own
    /// fault. Any other means that this transaction could not be written; unless it says
    /// [`StoreError::Gone`] or [`StoreError::Closed`], a later one may succeed.
    pub async fn commit(&self, step: Step) -> Result<Vec<Arc<Recorded>>, StoreError> {
        if step.is_empty() {
            return Ok(Vec::new());
        }
        let prepared = step.prepare(&self.inner.cache)?;
        let (reply, answer) = oneshot::channel();
        let request = Request::Commit(prepared, reply);
        self.inner.requests.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Shows something to the subscribers that is not recorded: a piece of text, a retry. Committed events are
    /// shown by [`RunStore::commit`] alone and [`Live::Missed`] by a subscription; given here, they are
    /// ignored.
    pub fn show(&self, live: Live) {
        if matches!(live, Live::Text { .. } | Live::Retrying { .. } | Live::Compacting { .. }) {
            self.inner.subscribers.offer(std::iter::once(live));
        }
    }

    /// Reads along from now on, without ever slowing the run. Up to `capacity` items, at least 1 and at most
    /// [`crate::MAX_SUBSCRIPTION`], wait for the reader; what finds no room is counted and the reader is told.
    pub fn subscribe(&self, capacity: usize) -> Subscription {
        self.inner.subscribers.subscribe(capacity)
    }

    /// A committed message: from memory if it was used lately, else from the database.
    ///
    /// # Errors
    /// [`StoreError::NoMessage`] if it was not committed; else as for any reading.
    pub async fn message(&self, id: MessageId) -> Result<Arc<Message>, StoreError> {
        if let Some(message) = self.inner.cache.get(id) {
            return Ok(message);
        }
        self.read(vec![id]).await?.pop().ok_or(StoreError::NoMessage(id))
    }

    /// Committed messages, in the order asked for. All that are not in memory are read at once.
    ///
    /// # Errors
    /// As [`RunStore::message`], for the first that fails.
    pub async fn messages(&self, ids: &[MessageId]) -> Result<Vec<Arc<Message>>, StoreError> {
        let mut found: Vec<_> = ids.iter().map(|id| self.inner.cache.get(*id)).collect();
        let missing = ids.iter().zip(&found).filter(|(_, message)| message.is_none());
        let missing: Vec<MessageId> = missing.map(|(id, _)| *id).collect();
        if !missing.is_empty() {
            let mut read = self.read(missing).await?.into_iter();
            for place in found.iter_mut().filter(|place| place.is_none()) {
                *place = read.next();
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// The same as [`RunStore::message`] for callers that cannot wait asynchronously. It reads one row of a
    /// local file at most.
    ///
    /// # Errors
    /// As [`RunStore::message`].
    pub fn message_blocking(&self, id: MessageId) -> Result<Arc<Message>, StoreError> {
        if let Some(message) = self.inner.cache.get(id) {
            return Ok(message);
        }
        let source = Source {
            dir: self.dir().to_owned(),
            connection: Arc::clone(&self.inner.reader),
            cache: Arc::clone(&self.inner.cache),
        };
        source.message(id)
    }

    async fn read(&self, ids: Vec<MessageId>) -> Result<Vec<Arc<Message>>, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.inner.reads.send(Read { ids, reply }).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Commits everything that was handed over before, closes the database, gives the run up and tells the
    /// subscribers. Later commits fail with [`StoreError::Closed`]; closing again does nothing.
    ///
    /// # Errors
    /// If the database could not be closed well. Everything acknowledged is on disk all the same, unless the
    /// error is [`StoreError::Gone`].
    pub async fn close(&self) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        if self.inner.requests.send(Request::Close(reply)).await.is_err() {
            return Ok(());
        }
        // No answer means that another close came first.
        answer.await.unwrap_or(Ok(()))
    }
}

/// Where messages are read from.
struct Source {
    dir: PathBuf,
    connection: SharedReader,
    cache: Arc<Cache>,
}

impl Source {
    fn message(&self, id: MessageId) -> Result<Arc<Message>, StoreError> {
        let guard = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = guard.as_ref().ok_or(StoreError::Closed)?;
        // Another reader may have been quicker; one message should be one allocation.
        if let Some(message) = self.cache.get(id) {
            return Ok(message);
        }
        let (message, bytes) = Queries { dir: &self.dir, connection }.message(id)?;
        let message = Arc::new(message);
        self.cache.put(&message, bytes);
        Ok(message)
    }
}

fn serve_reads(source: &Source, mut asked: mpsc::Receiver<Read>) {
    while let Some(Read { ids, reply }) = asked.blocking_recv() {
        // Whoever asked may have gone; nothing is lost then.
        let _ = reply.send(ids.into_iter().map(|id| source.message(id)).collect());
    }
}

fn spawn(name: &str, folder: &RunFolder, body: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    let started = thread::Builder::new().name(name.into()).spawn(body);
    started.map(drop).map_err(|error| StoreError::io("start a thread for", folder.dir(), error))
}

fn next(counter: &AtomicU64) -> u64 {
    // Only the number matters, and no memory hangs on it.
    counter.fetch_add(1, Ordering::Relaxed) + 1
}
