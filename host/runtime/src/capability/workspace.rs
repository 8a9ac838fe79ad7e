//! The `workspace` capability: the files of one directory, and nothing outside it.
//!
//! Every open goes through one [`cap_std::fs::Dir`], so no path, link or race leads outside, and what is
//! opened is bounded before it is read. Calls block: run them where blocking is allowed.

mod arguments;
mod edit;
mod endings;
mod file;
mod glob;
mod ignore_rules;
mod list;
mod nearest;
mod path;
mod read;
mod search;
mod walk;
mod write;

pub(super) use arguments::whole;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod hostile;

use cap_std::{ambient_authority, fs::Dir};
use gg_config::WorkspaceParams;
use gg_core::{Call, CallResult, CallSpec, CallStatus, call::MAX_RESULT_BYTES};
use ignore_rules::Rules;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

/// The id of the capability.
pub(crate) const CAPABILITY: &str = "workspace";

/// The most text that one answer of these calls holds, in bytes: a whole result less room for its closing
/// notes, so that an answer is cut between lines, by the call that knows what it leaves out.
const MAX_ANSWER_BYTES: usize = MAX_RESULT_BYTES - 2048;

/// What the calls may take and give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkspaceLimits {
    /// The most of a file's text that one `read_file` gives, in bytes. More is read in pages.
    pub(crate) max_read_bytes: u64,
    /// The largest file that `write_file` and `edit_file` make, in bytes.
    pub(crate) max_write_bytes: u64,
    /// The most entries of one `list_files`, and the most matching lines of one `search`.
    pub(crate) max_results: u32,
}

impl From<WorkspaceParams> for WorkspaceLimits {
    fn from(params: WorkspaceParams) -> Self {
        Self {
            max_read_bytes: params.max_read_bytes,
            max_write_bytes: params.max_write_bytes,
            max_results: params.max_results,
        }
    }
}

/// Why a directory cannot serve as a workspace.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Nothing is there.
    #[error("the workspace {0} does not exist; name an existing directory")]
    Missing(PathBuf),
    /// A file, say.
    #[error("the workspace {0} is not a directory; name the directory that holds the files")]
    NotADirectory(PathBuf),
    /// It is there and cannot be opened.
    #[error("the workspace {path} cannot be opened; check that its permissions allow you to read it")]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// One directory that agents work in. Clones are the same workspace.
#[derive(Clone, Debug)]
pub(crate) struct Workspace(Arc<Root>);

#[derive(Debug)]
struct Root {
    dir: Dir,
    /// The same directory by name, as it was given and as the system resolves it: an absolute path that
    /// starts with either is understood.
    names: [PathBuf; 2],
    /// The ignore rules of a repository that this directory is a part of.
    enclosing: Option<Arc<Rules>>,
    limits: WorkspaceLimits,
    writing: Arc<Mutex<()>>,
}

/// The directory that the agents of a run work in, whichever workspaces their profiles open over it.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    root: PathBuf,
    /// Held from reading a file to replacing it, so that two agents' edits of one file cannot lose one
    /// another.
    writing: Arc<Mutex<()>>,
}

impl Site {
    /// The directory `root`. A run makes one of these: two would not know of each other's edits.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), writing: Arc::default() }
    }

    /// The directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

/// Why a call was not answered with what it asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    /// Not done, and the text says what would be right.
    Refused(String),
    /// Tried, and the system would not.
    Failed(String),
    /// The caller no longer wants it.
    Cancelled,
}

impl Workspace {
    /// Opens the directory of `site`, which must exist.
    ///
    /// # Errors
    /// Where it is missing, not a directory, or cannot be opened.
    pub(crate) fn open(site: &Site, limits: WorkspaceLimits) -> Result<Self, WorkspaceError> {
        let root = site.root();
        let explain = |source: io::Error| explain(root, source);
        let canonical = root.canonicalize().map_err(explain)?;
        let given = std::path::absolute(root).map_err(explain)?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(explain)?;
        let enclosing = ignore_rules::enclosing(&canonical);
        Ok(Self(Arc::new(Root {
            dir,
            names: [canonical, given],
            enclosing,
            limits,
            writing: site.writing.clone(),
        })))
    }

    /// The calls that the capability offers.
    pub(crate) fn specs() -> Vec<CallSpec> {
        vec![read::spec(), write::spec(), edit::spec(), list::spec(), search::spec()]
    }

    /// Carries out one of the calls of [`Workspace::specs`]. Blocks on the file system; once `cancel` is true
    /// it stops at the next file, and the answer says so.
    pub(crate) fn run(&self, call: &Call, cancel: &AtomicBool) -> CallResult {
        let root = &*self.0;
        let answer = match call.name.as_str() {
            read::NAME => arguments::parse(call).and_then(|a| read::run(root, &a, cancel)),
            write::NAME => arguments::parse(call).and_then(|a| write::run(root, &a)),
            edit::NAME => arguments::parse(call).and_then(|a| edit::run(root, &a, cancel)),
            list::NAME => arguments::parse(call).and_then(|a| list::run(root, &a, cancel)),
            search::NAME => arguments::parse(call).and_then(|a| search::run(root, &a, cancel)),
            other => Err(Problem::Refused(format!("the workspace has no call {other}"))),
        };
        match answer {
            Ok(text) => CallResult::new(call, CallStatus::Ok, text),
            Err(Problem::Refused(text)) => CallResult::new(call, CallStatus::Refused, text),
            Err(Problem::Failed(text)) => CallResult::new(call, CallStatus::Failed, text),
            Err(Problem::Cancelled) => {
                CallResult::new(call, CallStatus::Failed, "cancelled before it was done")
            }
        }
    }
}

/// The directory `root` as the system resolves it.
///
/// # Errors
/// Where it is missing or not a directory.
pub(super) fn resolve(root: &Path) -> Result<PathBuf, WorkspaceError> {
    let resolved = root.canonicalize().map_err(|error| explain(root, error))?;
    if resolved.is_dir() { Ok(resolved) } else { Err(WorkspaceError::NotADirectory(root.to_owned())) }
}

fn explain(root: &Path, source: io::Error) -> WorkspaceError {
    match source.kind() {
        io::ErrorKind::NotFound => WorkspaceError::Missing(root.to_owned()),
        io::ErrorKind::NotADirectory => WorkspaceError::NotADirectory(root.to_owned()),
        _ => WorkspaceError::Unusable { path: root.to_owned(), source },
    }
}

fn check_cancelled(cancel: &AtomicBool) -> Result<(), Problem> {
    if cancel.load(Ordering::Relaxed) { Err(Problem::Cancelled) } else { Ok(()) }
}

/// `1 file`, `2 files`.
fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use super::{fixture::Fixture, *};
    use gg_core::{Arguments, CallId, Effect};
    use serde_json::json;

    #[test]
    fn offers_its_calls_with_schemas_that_close() {
        let offered: Vec<_> = Workspace::specs()
            .into_iter()
            .map(|spec| {
                assert_eq!(spec.parameters["additionalProperties"], json!(false), "{}", spec.name);
                (spec.name, spec.effect)
            })
            .collect();
        let expected = [
            ("read_file", Effect::ReadOnly),
            ("write_file", Effect::Acting),
            ("edit_file", Effect::Acting),
            ("list_files", Effect::ReadOnly),
            ("search", Effect::ReadOnly),
        ];
        assert_eq!(offered, expected.map(|(name, effect)| (name.to_owned(), effect)));
    }

    #[test]
    fn says_why_a_root_will_not_do() {
        let files = Fixture::new(&[("file", "")]);
        let open = |name: &str| Workspace::open(&Site::new(&files.path(name)), fixture::LIMITS).map(|_| ());
        assert!(matches!(open("none"), Err(WorkspaceError::Missing(_))));
        assert!(matches!(open("file"), Err(WorkspaceError::NotADirectory(_))));
    }

    #[test]
    fn refuses_calls_and_arguments_it_does_not_know() {
        let files = Fixture::new(&[]);
        files.refused("delete_file", json!({}), "the workspace has no call delete_file");
        files.refused(
            "read_file",
            json!({ "file": "a" }),
            "the arguments of read_file do not fit: unknown field `file`, expected one of `path`, \
             `start_line`, `end_line`",
        );
        files.refused("read_file", json!({}), "the arguments of read_file do not fit: missing field `path`");
        files.refused(
            "read_file",
            json!({ "path": "a", "start_line": 1.5 }),
            "the arguments of read_file do not fit: 1.5 is not a whole number from 0 on",
        );
        let call = Call {
            id: CallId::new("1"),
            name: "read_file".into(),
            arguments: Arguments::Malformed("{\"path\":".into()),
        };
        assert_eq!(
            files.workspace.run(&call, &AtomicBool::new(false)),
            CallResult::new(
                &call,
                CallStatus::Refused,
                "the arguments of read_file are not a JSON object; write them as one, such as {\"path\": …}"
            )
        );
    }

    #[test]
    fn stops_when_cancelled() {
        let files = Fixture::new(&[("a.txt", "word\n")]);
        for (name, arguments) in [("list_files", json!({})), ("search", json!({ "pattern": "word" }))] {
            let call = fixture::call(name, arguments);
            assert_eq!(
                files.workspace.run(&call, &AtomicBool::new(true)),
                CallResult::new(&call, CallStatus::Failed, "cancelled before it was done")
            );
        }
    }

    #[test]
    fn is_shared_between_threads() {
        fn shared<T: Clone + Send + Sync + 'static>() {}
        shared::<Workspace>();
    }
}
