//! Paths as models write and read them: relative to the workspace's root, whatever form they came in.

use super::Problem;
use std::{
    ffi::OsStr,
    path::{Component, Path, PathBuf},
};

/// The longest path that is looked at, in bytes: what Linux takes.
const MAX_PATH_BYTES: usize = 4096;

/// A path below the root, without `.` and `..`. Empty is the root itself.
///
/// `..` is taken back by name before the file system is asked, as a model means it; whether links lead
/// outside is for `cap_std` to say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RelPath(PathBuf);

impl RelPath {
    /// Understands `raw`, which may also be absolute and start with one of the root's own `names`.
    pub(super) fn parse(raw: &str, names: &[PathBuf]) -> Result<Self, Problem> {
        let refuse = |why: &str| {
            let raw = shown(Path::new(gg_core::text::cut(raw, 200)));
            Err(Problem::Refused(format!(
                "{raw} {why}; paths are relative to the workspace root, such as src/main.rs"
            )))
        };
        if raw.len() > MAX_PATH_BYTES {
            return refuse("is too long for a path");
        }
        if raw.contains('\0') {
            return refuse("has a NUL in it");
        }
        if raw == "~" || raw.starts_with("~/") {
            return refuse("is in a home directory, outside the workspace");
        }
        let mut path = Path::new(raw);
        if path.is_absolute() {
            match names.iter().find_map(|name| path.strip_prefix(name).ok()) {
                Some(rest) => path = rest,
                None => return refuse("is an absolute path outside the workspace"),
            }
        }
        let mut parts = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => parts.push(name),
                Component::CurDir => {}
                Component::ParentDir => {
                    if !parts.pop() {
                        return refuse("leads out of the workspace");
                    }
                }
                Component::RootDir | Component::Prefix(_) => {
                    return refuse("is an absolute path outside the workspace");
                }
            }
        }
        Ok(Self(parts))
    }

    /// A path that is already known to be below the root.
    pub(super) fn known(path: PathBuf) -> Self {
        Self(path)
    }

    /// The root itself.
    pub(super) fn root() -> Self {
        Self(PathBuf::new())
    }

    pub(super) fn is_root(&self) -> bool {
        self.0.as_os_str().is_empty()
    }

    /// For calls of `Dir`, which knows its own directory as `.`.
    pub(super) fn for_dir(&self) -> &Path {
        if self.is_root() { Path::new(".") } else { &self.0 }
    }

    /// The bare path, empty for the root.
    pub(super) fn as_path(&self) -> &Path {
        &self.0
    }

    pub(super) fn join(&self, name: impl AsRef<OsStr>) -> Self {
        Self(self.0.join(name.as_ref()))
    }

    /// The directory that holds it; none for the root.
    pub(super) fn parent(&self) -> Option<Self> {
        if self.is_root() { None } else { self.0.parent().map(|p| Self(p.to_owned())) }
    }

    /// As a model reads it.
    pub(super) fn shown(&self) -> String {
        if self.is_root() { "the workspace root".to_owned() } else { shown(&self.0) }
    }
}

/// The path on one line. One with control characters or quotes stands as a JSON string, which is just how an
/// argument that names it is written; one that is not UTF-8 cannot be named in JSON at all, and says so.
pub(super) fn shown(path: &Path) -> String {
    let Some(text) = path.to_str() else {
        return format!("{:?} (not UTF-8: no call can name it)", path.to_string_lossy());
    };
    if text.is_empty() || text.contains('"') || text.chars().any(char::is_control) || text != text.trim() {
        serde_json::Value::from(text).to_string()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(raw: &str) -> Result<String, String> {
        let names = [PathBuf::from("/real/root"), PathBuf::from("/given")];
        match RelPath::parse(raw, &names) {
            Ok(path) => Ok(path.as_path().to_string_lossy().into_owned()),
            Err(Problem::Refused(text)) => Err(text),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn understands_paths_below_the_root() {
        for (raw, expected) in [
            ("a/b.txt", "a/b.txt"),
            ("./a//b/", "a/b"),
            ("a/../b", "b"),
            ("", ""),
            (".", ""),
            ("a/..", ""),
            ("/real/root/a", "a"),
            ("/given", ""),
            ("/given/x/../y", "y"),
            ("a/~", "a/~"),
            ("...", "..."),
        ] {
            assert_eq!(parse(raw).as_deref(), Ok(expected), "{raw}");
        }
    }

    #[test]
    fn refuses_paths_outside() {
        let hint = "; paths are relative to the workspace root, such as src/main.rs";
        for (raw, expected) in [
            ("..", ".. leads out of the workspace"),
            ("a/../../b", "a/../../b leads out of the workspace"),
            ("/given/../etc/passwd", "/given/../etc/passwd leads out of the workspace"),
            ("/etc/passwd", "/etc/passwd is an absolute path outside the workspace"),
            ("/givenX", "/givenX is an absolute path outside the workspace"),
            ("~/x", "~/x is in a home directory, outside the workspace"),
            ("a\0b", r#""a\u0000b" has a NUL in it"#),
        ] {
            assert_eq!(parse(raw), Err(format!("{expected}{hint}")), "{raw}");
        }
        let long = "x".repeat(5000);
        assert_eq!(parse(&long), Err(format!("{} is too long for a path{hint}", &long[..200])));
    }

    #[test]
    fn shows_names_on_one_line() {
        assert_eq!(shown(Path::new("ñ/日本.txt")), "ñ/日本.txt");
        assert_eq!(shown(Path::new("a b")), "a b");
        assert_eq!(shown(Path::new("a\nb")), r#""a\nb""#);
        assert_eq!(shown(Path::new("a\"b")), r#""a\"b""#);
        assert_eq!(shown(Path::new("a ")), r#""a ""#);
        assert_eq!(RelPath::root().shown(), "the workspace root");
    }
}
