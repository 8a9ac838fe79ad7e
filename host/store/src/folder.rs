//! The directory of a run: its name, its files, who may read them and who owns it.

use crate::error::StoreError;
use etcetera::{BaseStrategy, base_strategy::Xdg};
use gg_core::RunId;
use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// The effective configuration.
const CONFIG: &str = "config.json";
/// The database.
const DATABASE: &str = "run.db";
/// SQLite's write-ahead log beside it.
const LOG: &str = "run.db-wal";
/// Locked by the process that writes the run, as long as it lives.
const LOCK: &str = "lock";

/// The largest configuration that is read back. Prompts make it long, but nobody writes megabytes by hand.
pub(crate) const MAX_CONFIG_BYTES: u64 = 32 << 20;

/// How often a new run looks for a free name. Two runs share a name only if they start in the same millisecond or
/// two and draw the same of a thousand suffixes.
const NAME_ATTEMPTS: u32 = 32;

/// Letters of a name's suffix: none that is easily taken for another.
const SUFFIX: &[u8] = b"23456789abcdefghjkmnpqrstuvwxyz";

/// The suffix's length: two letters of time, two of chance.
const SUFFIX_LEN: usize = 4;

/// How often a lock is tried. Whoever lists runs holds it for an instant, which must not pass for an owner.
const LOCK_ATTEMPTS: u32 = 20;

/// How long to wait between two tries.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The most entries of a runs folder that are looked at.
const MAX_ENTRIES: usize = 1_000_000;

/// Where runs are kept unless somebody names another folder: `gg/runs` in the user's state folder, by the XDG
/// base directory specification (`$XDG_STATE_HOME`, else `~/.local/state`).
///
/// # Errors
/// [`StoreError::NoHome`] if the user has no home folder.
pub fn default_runs_dir() -> Result<PathBuf, StoreError> {
    let state = Xdg::new().ok().and_then(|base| base.state_dir()).ok_or(StoreError::NoHome)?;
    Ok(state.join("gg").join("runs"))
}

/// The directory of the run that `wanted` names: its id, or the start or the end of it if no other run in
/// `runs_dir` has the same.
///
/// # Errors
/// [`StoreError::NoSuchRun`], [`StoreError::Ambiguous`], or [`StoreError::Io`] if the folder cannot be read.
pub fn find_run(runs_dir: &Path, wanted: &str) -> Result<PathBuf, StoreError> {
    let names = run_names(runs_dir)?;
    if names.iter().any(|name| name == wanted) {
        return Ok(runs_dir.join(wanted));
    }
    let fits = |name: &&String| {
        !wanted.is_empty() && (name.starts_with(wanted) || name.rsplit('-').next() == Some(wanted))
    };
    let found: Vec<&String> = names.iter().filter(fits).collect();
    match found.as_slice() {
        [name] => Ok(runs_dir.join(name)),
        [] => Err(StoreError::NoSuchRun { wanted: wanted.to_owned(), runs_dir: runs_dir.to_owned() }),
        more => Err(StoreError::Ambiguous {
            wanted: wanted.to_owned(),
            count: more.len(),
            runs_dir: runs_dir.to_owned(),
        }),
    }
}

/// The names of the runs in a folder, newest first. A folder that does not exist has none, and what is not
/// named like a run is not one.
pub(crate) fn run_names(runs_dir: &Path) -> Result<Vec<String>, StoreError> {
    let fail = |error| StoreError::io("list the runs in", runs_dir, error);
    let entries = match fs::read_dir(runs_dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut names = Vec::new();
    for entry in entries.take(MAX_ENTRIES) {
        let name = entry.map_err(fail)?.file_name();
        if let Some(name) = name.to_str().filter(|name| is_run_name(name)) {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable_by(|a, b| b.cmp(a));
    Ok(names)
}

/// Whether a name looks like `20261130-131502-k3f9`.
fn is_run_name(name: &str) -> bool {
    let digits = |text: &str, len: usize| text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
    let mut parts = name.split('-');
    let (date, time, suffix) = (parts.next(), parts.next(), parts.next());
    parts.next().is_none()
        && date.is_some_and(|date| digits(date, 8))
        && time.is_some_and(|time| digits(time, 6))
        && suffix.is_some_and(|s| s.len() == SUFFIX_LEN && s.bytes().all(|b| SUFFIX.contains(&b)))
}

/// A name for a run that starts at `now_ms`: sortable, readable, in UTC so that it sorts everywhere alike.
fn run_name(now_ms: u64) -> String {
    let ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let mut name = time.strftime("%Y%m%d-%H%M%S-").to_string();
    // The letters ascend, and the first two say how far the second had come, so that runs of one second sort
    // in the order in which they started.
    let letters = SUFFIX.len();
    let within = usize::try_from(now_ms % 1000).unwrap_or(0) * letters * letters / 1000;
    let drawn = [fastrand::usize(..letters), fastrand::usize(..letters)];
    for at in [within / letters, within % letters].into_iter().chain(drawn) {
        name.push(char::from(SUFFIX[at]));
    }
    name
}

/// The directory of one run.
#[derive(Clone, Debug)]
pub(crate) struct RunFolder {
    dir: PathBuf,
}

impl RunFolder {
    /// Makes a new, empty directory under a name that no other run has.
    pub(crate) fn create(runs_dir: &Path, now_ms: u64) -> Result<(RunId, Self), StoreError> {
        builder(Parents::Make)
            .create(runs_dir)
            .map_err(|error| StoreError::io("make the folder", runs_dir, error))?;
        // A path that means the same after a change of the working directory.
        let runs_dir = &fs::canonicalize(runs_dir)
            .map_err(|error| StoreError::io("find the folder", runs_dir, error))?;
        let mut attempt = 0;
        loop {
            let name = run_name(now_ms);
            let dir = runs_dir.join(&name);
            // Making a directory is exclusive: of two processes with the same name, one fails.
            match builder(Parents::Expect).create(&dir) {
                Ok(()) => return Ok((RunId::new(name), Self { dir })),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < NAME_ATTEMPTS => {
                    attempt += 1;
                }
                Err(error) => return Err(StoreError::io("make the folder", &dir, error)),
            }
        }
    }

    /// The directory at a path, whatever is there.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// The directory of a run that was made before. What is in it is for others to look at.
    pub(crate) fn open(dir: &Path) -> Result<Self, StoreError> {
        let not_a_run = |why: &str| StoreError::NotARun { dir: dir.to_owned(), why: why.to_owned() };
        let found = match fs::canonicalize(dir) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(not_a_run("there is no such folder"));
            }
            Err(error) => return Err(StoreError::io("open", dir, error)),
        };
        if !found.is_dir() {
            return Err(not_a_run("it is not a folder"));
        }
        if !found.join(DATABASE).is_file() {
            return Err(not_a_run("it holds no run.db"));
        }
        Ok(Self { dir: found })
    }

    /// The directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The database's file.
    pub(crate) fn database(&self) -> PathBuf {
        self.dir.join(DATABASE)
    }

    /// The file of SQLite's write-ahead log.
    pub(crate) fn log(&self) -> PathBuf {
        self.dir.join(LOG)
    }

    /// Writes the configuration, and makes the empty file of the database so that SQLite does not choose who
    /// may read it; its log gets the same permissions.
    pub(crate) fn write_first_files(&self, config: &[u8]) -> Result<(), StoreError> {
        write_new(&self.dir.join(CONFIG), config)?;
        write_new(&self.database(), &[])
    }

    /// The configuration's bytes.
    pub(crate) fn read_config(&self) -> Result<Vec<u8>, StoreError> {
        let path = self.dir.join(CONFIG);
        let fail = |error| StoreError::io("read", &path, error);
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(fail)?;
        file.take(MAX_CONFIG_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
        if bytes.len() as u64 > MAX_CONFIG_BYTES {
            return Err(StoreError::damaged(&self.dir, "config.json is larger than gg ever writes"));
        }
        Ok(bytes)
    }

    /// Puts the names of new files on disk, and the name of the directory itself. Without this the files
    /// could be missing after a power cut though their contents were synced.
    pub(crate) fn sync_names(&self) -> Result<(), StoreError> {
        let folders = [Some(self.dir.as_path()), self.dir.parent()];
        for folder in folders.into_iter().flatten() {
            sync_folder(folder).map_err(|error| StoreError::io("sync", folder, error))?;
        }
        Ok(())
    }

    /// Makes this process the run's owner, until the file is dropped or the process ends, however it ends.
    pub(crate) fn own(&self) -> Result<File, StoreError> {
        let path = self.dir.join(LOCK);
        let file = private_file()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| StoreError::io("make", &path, error))?;
        for attempt in 1..=LOCK_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if attempt < LOCK_ATTEMPTS => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::WouldBlock) => break,
                Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", &path, error)),
            }
        }
        Err(StoreError::Owned { dir: self.dir.clone() })
    }

    /// Whether a process owns the run now.
    pub(crate) fn is_owned(&self) -> Result<bool, StoreError> {
        let path = self.dir.join(LOCK);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(StoreError::io("open", &path, error)),
        };
        // Shared, so that two who list runs do not take each other for owners. Dropping the file unlocks it.
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", &path, error)),
        }
    }
}

/// Which file a path led to, so that one can tell later whether it still does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity(u64, u64);

impl FileIdentity {
    /// The identity of the file at `path`; `None` if there is none.
    #[cfg(unix)]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(path).ok().map(|facts| Self(facts.dev(), facts.ino()))
    }

    /// Where files have no stable numbers, an open file cannot be removed either: it is there, or not.
    #[cfg(not(unix))]
    pub(crate) fn of(path: &Path) -> Option<Self> {
        path.exists().then_some(Self(0, 0))
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let write = || {
        let mut file = private_file().write(true).create_new(true).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| StoreError::io("write", path, error))
}

/// Makes an empty file that only its owner may read, and the folders it is in, unless it is there.
pub(crate) fn make_private_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        builder(Parents::Make).create(folder)?;
    }
    private_file().write(true).create(true).truncate(false).open(path).map(drop)
}

/// Whether missing parents of a folder are made too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parents {
    Make,
    Expect,
}

/// Makes folders that only their owner may enter: a run holds prompts, files and replies.
fn builder(parents: Parents) -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(parents == Parents::Make);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Opens files that only their owner may read.
fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
