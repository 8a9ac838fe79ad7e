//! Where things are.

use std::path::{Path, PathBuf};

/// The repository.
pub(crate) struct Tree {
    root: PathBuf,
    target: PathBuf,
}

impl Tree {
    /// The repository that cargo runs this program for. Two clones may share a target folder, so where it was
    /// compiled says nothing.
    pub(crate) fn here() -> Self {
        let package = std::env::var_os("CARGO_MANIFEST_DIR");
        let package = package.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root: PathBuf = package.components().collect();
        let root = root.ancestors().nth(2).unwrap_or(&root).to_owned();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(dir) => root.join(dir),
            None => root.join("target"),
        };
        Self { root, target }
    }

    /// The repository's own folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The workspace of the components.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// What is built and not committed.
    pub(crate) fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// The built program.
    pub(crate) fn gg(&self) -> PathBuf {
        self.bin().join(format!("gg{}", std::env::consts::EXE_SUFFIX))
    }

    /// Where cargo leaves what it builds for this machine.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Where cargo leaves what it builds of the components. A folder of its own, so that the two workspaces
    /// never wait for each other's lock.
    pub(crate) fn plugins_target(&self) -> PathBuf {
        self.target.join("plugins")
    }
}
