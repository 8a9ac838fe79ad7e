//! The components that there are: those built into gg, and those that a configuration names.

use crate::{component::Component, error::LoadError};
use gg_core::digest::sha256_hex;
use gg_sandbox::{Sandbox, Trust};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::Path,
    sync::Arc,
    thread,
};

/// The built-in components by kind. `build.rs` sees that their files are there.
const BUILT_IN: [(&str, &[u8]); 5] = [
    ("history", include_bytes!("../../../bin/components/history.wasm")),
    ("tasks", include_bytes!("../../../bin/components/tasks.wasm")),
    ("notebook", include_bytes!("../../../bin/components/notebook.wasm")),
    ("memories", include_bytes!("../../../bin/components/memories.wasm")),
    ("programs", include_bytes!("../../../bin/components/programs.wasm")),
];

/// Loads components. The built-in ones are loaded once; a configuration's, whenever they are asked for.
pub struct Registry {
    sandbox: Arc<Sandbox>,
    built_in: BTreeMap<String, Arc<Component>>,
}

impl Registry {
    /// Loads the built-in components. With a cache of compiled code that takes milliseconds; without, about a
    /// second.
    ///
    /// # Errors
    /// See [`LoadError`]; any of them means that gg was built wrongly, or that the machine gives it no memory.
    pub fn new(sandbox: Arc<Sandbox>) -> Result<Self, LoadError> {
        let loaded: Vec<_> = thread::scope(|scope| {
            let started: Vec<_> = BUILT_IN
                .iter()
                .map(|(kind, bytes)| {
                    let sandbox = &sandbox;
                    scope.spawn(move || load_built_in(sandbox, kind, bytes))
                })
                .collect();
            started.into_iter().map(|thread| thread.join()).collect()
        });
        let mut built_in = BTreeMap::new();
        for component in loaded {
            let component = component
                .map_err(|_| LoadError::Link("a thread that loads components panicked".into()))??;
            built_in.insert(component.descriptor().kind.clone(), component);
        }
        Ok(Self { sandbox, built_in })
    }

    /// The built-in component of a kind.
    pub fn builtin(&self, kind: &str) -> Option<Arc<Component>> {
        self.built_in.get(kind).cloned()
    }

    /// Every built-in component, ordered by kind.
    pub fn builtins(&self) -> impl Iterator<Item = Arc<Component>> {
        self.built_in.values().cloned()
    }

    /// Loads a component that anyone may have written, from a file. `name` is what the configuration calls it,
    /// for errors; `expected_sha256` is the digest it must have, in hexadecimal digits, where one is given.
    /// Blocks: call it where that does no harm.
    ///
    /// # Errors
    /// See [`LoadError`]. The text is complete, and names what a person has to change.
    pub fn load(
        &self,
        name: &str,
        path: &Path,
        expected_sha256: Option<&str>,
    ) -> Result<Arc<Component>, LoadError> {
        let unreadable = |error| LoadError::Unreadable { path: path.to_owned(), error };
        // Whoever opens a pipe waits for its other end, which may never come.
        if !fs::metadata(path).map_err(unreadable)?.is_file() {
            return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")));
        }
        // One byte more than the sandbox takes, so that it says what is too large, also of a file that
        // grows while it is read.
        let most = self.sandbox.limits().component_bytes as u64 + 1;
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(unreadable)?;
        self.load_bytes(name, &bytes, expected_sha256)
    }

    /// The same, from memory.
    ///
    /// # Errors
    /// As [`Registry::load`].
    pub fn load_bytes(
        &self,
        name: &str,
        bytes: &[u8],
        expected_sha256: Option<&str>,
    ) -> Result<Arc<Component>, LoadError> {
        if let Some(expected) = expected_sha256 {
            let found = sha256_hex(bytes);
            if !found.eq_ignore_ascii_case(expected) {
                return Err(LoadError::Digest { expected: expected.to_owned(), found });
            }
        }
        Component::load(&self.sandbox, name, bytes, Trust::Stranger)
    }

    /// Where its components run.
    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }
}

fn load_built_in(sandbox: &Arc<Sandbox>, kind: &str, bytes: &[u8]) -> Result<Arc<Component>, LoadError> {
    let component = Component::load(sandbox, kind, bytes, Trust::BuiltIn)?;
    let found = &component.descriptor().kind;
    if found != kind {
        return Err(LoadError::BuiltIn { expected: kind.to_owned(), found: found.clone() });
    }
    Ok(component)
}
