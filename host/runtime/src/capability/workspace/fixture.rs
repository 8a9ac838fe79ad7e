//! A workspace to test in.

use super::{Site, Workspace, WorkspaceLimits};
use gg_core::{Arguments, Call, CallId, CallStatus};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

/// A directory with a workspace in its `root`, and room outside of it.
pub(super) struct Fixture {
    dir: tempfile::TempDir,
    pub(super) workspace: Workspace,
}

/// Small enough that tests reach them.
pub(super) const LIMITS: WorkspaceLimits =
    WorkspaceLimits { max_read_bytes: 1500, max_write_bytes: 1000, max_results: 5 };

pub(super) fn call(name: &str, arguments: Value) -> Call {
    let Value::Object(map) = arguments else { panic!("arguments are an object") };
    Call { id: CallId::new("c1"), name: name.into(), arguments: Arguments::Json(map) }
}

impl Fixture {
    /// With these files, by path and content. A path that ends in `/` is a directory.
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        let fixture = Self { workspace: Workspace::open(&Site::new(&root), LIMITS).unwrap(), dir };
        for (path, content) in files {
            if path.ends_with('/') {
                fs::create_dir_all(fixture.path(path)).unwrap();
            } else {
                fixture.put(path, content);
            }
        }
        fixture
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join("root").join(path)
    }

    pub(super) fn outside(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(super) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(super) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    pub(super) fn text(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    /// Every name in a directory, sorted.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    pub(super) fn link(&self, target: impl AsRef<Path>, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    #[cfg(unix)]
    pub(super) fn fifo(&self, path: &str) {
        let made = std::process::Command::new("mkfifo").arg(self.path(path)).status().unwrap();
        assert!(made.success());
    }

    pub(super) fn run(&self, name: &str, arguments: Value) -> (CallStatus, String) {
        let result = self.workspace.run(&call(name, arguments), &AtomicBool::new(false));
        (result.status, result.content)
    }

    #[track_caller]
    pub(super) fn ok(&self, name: &str, arguments: Value, expected: &str) {
        assert_eq!(self.run(name, arguments), (CallStatus::Ok, expected.to_owned()));
    }

    #[track_caller]
    pub(super) fn refused(&self, name: &str, arguments: Value, expected: &str) {
        assert_eq!(self.run(name, arguments), (CallStatus::Refused, format!("refused: {expected}")));
    }
}
