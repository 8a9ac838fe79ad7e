//! `write_file`, and how every file of the workspace is replaced: whole, or not at all.

use super::{
    Problem, Root,
    file::{self, Version},
    path::RelPath,
    walk,
};
use cap_std::fs::{Dir, Metadata, OpenOptions};
use gg_core::{CallSpec, Effect};
use serde::Deserialize;
use serde_json::json;
use std::{
    ffi::OsStr,
    io::{self, Write},
    path::PathBuf,
    sync::{
        PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub(super) const NAME: &str = "write_file";

/// How many names are tried for the file that is written beside the old one: only a leftover of a killed
/// process with the same id can have taken one.
const TRIED_NAMES: usize = 16;

/// What the names of such files start and end with.
const TEMPORARY_START: &str = ".gg-write-";
const TEMPORARY_END: &str = ".tmp";

/// Whether it is the name of a file that is still being written, which nobody should meet.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY_START.as_bytes()) && name.ends_with(TEMPORARY_END.as_bytes())
}

pub(super) fn spec() -> CallSpec {
    CallSpec {
        name: NAME.to_owned(),
        description:
            "Create a file of the workspace, or replace one whole, with exactly this content. Directories on \
            the way are created. To change a part of a file use edit_file."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file, relative to the workspace root." },
                "content": { "type": "string", "description": "The file's whole new content." }
            },
            "required": ["path", "content"],
            "additionalProperties": false
        }),
        effect: Effect::Acting,
        feature: None,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteFile {
    path: String,
    content: String,
}

pub(super) fn run(root: &Root, arguments: &WriteFile) -> Result<String, Problem> {
    let path = RelPath::parse(&arguments.path, &root.names)?;
    let content = &arguments.content;
    if arguments.path.ends_with('/') {
        return Err(Problem::Refused(format!(
            "{} is written like a directory; name the file to write in it",
            path.shown()
        )));
    }
    check_size(root, &path, content.len())?;
    // What a thread that panicked left behind is a whole file all the same.
    let _writing = root.writing.lock().unwrap_or_else(PoisonError::into_inner);
    let target = target(root, &path)?;
    replace(root, &target, &[content.as_bytes()], None)?;
    let did = if target.existing.is_some() { "replaced" } else { "created" };
    let lines = super::count(content.split_inclusive('\n').count(), "line", "lines");
    Ok(format!("{did} {}: {lines}, {}", path.shown(), super::count(content.len(), "byte", "bytes")))
}

/// Refuses to make a file larger than the workspace allows.
pub(super) fn check_size(root: &Root, path: &RelPath, bytes: usize) -> Result<(), Problem> {
    let limit = root.limits.max_write_bytes;
    if bytes as u64 > limit {
        return Err(Problem::Refused(format!(
            "{} would have {bytes} bytes, and at most {limit} are written; write less, or several files",
            path.shown()
        )));
    }
    Ok(())
}

/// The file that a write goes to, with every link on the way followed.
#[derive(Debug)]
pub(super) struct Target {
    path: RelPath,
    /// What the caller called it.
    named: RelPath,
    existing: Option<Metadata>,
}

/// Finds where a write to `path` goes, and refuses what must not be written.
pub(super) fn target(root: &Root, path: &RelPath) -> Result<Target, Problem> {
    let fail = |e: io::Error| file::explain(root, "write", path, &e);
    if path.is_root() {
        return Err(Problem::Refused("the workspace root is a directory; name the file to write".to_owned()));
    }
    let existing = match root.dir.symlink_metadata(path.for_dir()) {
        Ok(_) => true,
        Err(e) if e.kind() == io::ErrorKind::NotFound => false,
        Err(e) => return Err(fail(e)),
    };
    let real = if existing { followed(root, path, path)? } else { below_existing(root, path)? };
    if real.as_path().iter().any(walk::is_version_control) {
        return Err(Problem::Refused(format!(
            "{} belongs to version control, which is not written to; change the files it tracks",
            path.shown()
        )));
    }
    let existing = if existing {
        let metadata = root.dir.metadata(real.for_dir()).map_err(fail)?;
        file::check_regular(path, &metadata)?;
        if metadata.permissions().readonly() {
            return Err(Problem::Refused(format!(
                "{} is read-only; write another file, or say that its permissions are in the way",
                path.shown()
            )));
        }
        Some(metadata)
    } else {
        None
    };
    Ok(Target { path: real, named: path.clone(), existing })
}

/// `path`, which exists, with every link followed.
fn followed(root: &Root, path: &RelPath, named: &RelPath) -> Result<RelPath, Problem> {
    match root.dir.canonicalize(path.for_dir()) {
        Ok(real) => Ok(RelPath::known(real.iter().filter(|part| *part != ".").collect::<PathBuf>())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Problem::Refused(format!(
            "{} is a symbolic link to nothing; write to a path without it",
            path.shown()
        ))),
        Err(e) => Err(file::explain(root, "write", named, &e)),
    }
}

/// `path`, which does not exist, below the nearest directory that does.
fn below_existing(root: &Root, path: &RelPath) -> Result<RelPath, Problem> {
    let mut missing = Vec::new();
    let mut at = path.clone();
    loop {
        let (Some(parent), Some(name)) = (at.parent(), at.as_path().file_name()) else {
            return Ok(path.clone());
        };
        missing.push(name.to_owned());
        at = parent;
        match root.dir.symlink_metadata(at.for_dir()) {
            Ok(_) => break,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(file::explain(root, "write", path, &e)),
        }
    }
    let real = followed(root, &at, path)?;
    if !root.dir.metadata(real.for_dir()).is_ok_and(|m| m.is_dir()) {
        return Err(Problem::Refused(format!(
            "{} is a file, so nothing can be written below it; choose another path",
            at.shown()
        )));
    }
    Ok(missing.iter().rev().fold(real, |path, name| path.join(name)))
}

/// Puts `parts`, one after the other, in the place of `target`, whose permissions stay. Readers see the old
/// file or the new one, and so does whoever looks after a crash. Where `expected` is not what is there now,
/// nothing is done.
pub(super) fn replace(
    root: &Root,
    target: &Target,
    parts: &[&[u8]],
    expected: Option<&Version>,
) -> Result<(), Problem> {
    let fail = |e: io::Error| file::explain(root, "write", &target.named, &e);
    let (Some(parent), Some(name)) = (target.path.parent(), target.path.as_path().file_name()) else {
        return Err(Problem::Refused(format!("{} is not a file's path", target.named.shown())));
    };
    if target.existing.is_none() {
        root.dir.create_dir_all(parent.for_dir()).map_err(fail)?;
    }
    // From here on all happens in this one directory, wherever its name may point by then.
    let dir = root.dir.open_dir(parent.for_dir()).map_err(fail)?;
    let temporary = write_beside(&dir, target, parts).map_err(fail)?;
    let unchanged = expected.is_none_or(|v| dir.metadata(name).is_ok_and(|m| Version::of(&m) == *v));
    let moved = if unchanged { dir.rename(&temporary, &dir, name).map_err(fail) } else { Ok(()) };
    if !unchanged || moved.is_err() {
        // The name is ours alone; where it cannot be removed, the answer is the same.
        let _ = dir.remove_file(&temporary);
    }
    moved?;
    if unchanged {
        Ok(())
    } else {
        Err(Problem::Refused(format!(
            "{} was changed by somebody else just now; read it again before you edit it",
            target.named.shown()
        )))
    }
}

/// Writes `parts` to a new file in `dir` and gives its name.
fn write_beside(dir: &Dir, target: &Target, parts: &[&[u8]]) -> io::Result<String> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut tries = 0;
    let (mut file, name) = loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TEMPORARY_START}{}-{number}{TEMPORARY_END}", std::process::id());
        match dir.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
            Ok(file) => break (file, name),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && tries < TRIED_NAMES => tries += 1,
            Err(e) => return Err(e),
        }
    };
    let mut fill = || {
        // Before the content, so that nobody reads here what the old file kept from them.
        if let Some(metadata) = &target.existing {
            file.set_permissions(kept_permissions(metadata))?;
        }
        for part in parts {
            file.write_all(part)?;
        }
        // Without it a power cut after the rename could leave an empty file under the name.
        file.sync_all()
    };
    match fill() {
        Ok(()) => Ok(name),
        Err(e) => {
            let _ = dir.remove_file(&name);
            Err(e)
        }
    }
}

/// Who may read, write and run the file; a write takes set-user-id away, as it does in place.
fn kept_permissions(metadata: &Metadata) -> cap_std::fs::Permissions {
    let permissions = metadata.permissions();
    #[cfg(unix)]
    {
        use cap_std::fs::PermissionsExt;
        cap_std::fs::Permissions::from_mode(permissions.mode() & 0o777)
    }
    #[cfg(not(unix))]
    permissions
}

#[cfg(test)]
mod tests {
    use super::{
        super::fixture::{Fixture, LIMITS},
        *,
    };
    use std::fs;

    #[test]
    fn creates_and_replaces() {
        let files = Fixture::new(&[]);
        let write = |path: &str, content: &str| json!({ "path": path, "content": content });
        files.ok("write_file", write("a/b/ñ.txt", "one\r\ntwo"), "created a/b/ñ.txt: 2 lines, 8 bytes");
        assert_eq!(files.text("a/b/ñ.txt"), "one\r\ntwo");
        files.ok("write_file", write("a/b/ñ.txt", ""), "replaced a/b/ñ.txt: 0 lines, 0 bytes");
        assert_eq!(files.text("a/b/ñ.txt"), "");
        files.ok("write_file", write("new\nline", "x"), "created \"new\\nline\": 1 line, 1 byte");
        assert_eq!(files.names(""), ["a", "new\nline"]);
        assert_eq!(files.names("a/b"), ["ñ.txt"]);
    }

    #[test]
    fn refuses_what_is_not_a_file_to_write() {
        let files = Fixture::new(&[("file", "kept"), ("dir/", ""), (".git/config", "kept")]);
        let refused = |path: &str, expected: &str| {
            files.refused("write_file", json!({ "path": path, "content": "x" }), expected);
        };
        refused("", "the workspace root is a directory; name the file to write");
        refused(
            "dir",
            "dir is a directory; list_files shows what is in it, and a file's path names the file",
        );
        refused("new/", "new is written like a directory; name the file to write in it");
        refused("file/x", "a part of file/x is a file and not a directory; list_files shows what is there");
        let version_control = |path: &str| {
            refused(
                path,
                &format!(
                    "{path} belongs to version control, which is not written to; change the files it tracks"
                ),
            );
        };
        version_control(".git/config");
        version_control(".git/hooks/pre-commit");
        version_control("sub/.GIT/config");
        let long = "x".repeat(300);
        refused(&long, &format!("{long} has a name that is too long or not allowed; use a shorter one"));
        assert_eq!((files.text("file"), files.text(".git/config")), ("kept".into(), "kept".into()));
        assert_eq!(files.names(""), [".git", "dir", "file"]);
    }

    #[test]
    fn bounds_what_is_written() {
        let files = Fixture::new(&[]);
        let most = usize::try_from(LIMITS.max_write_bytes).unwrap();
        let write = |bytes: usize| json!({ "path": "a", "content": "x".repeat(bytes) });
        files.refused(
            "write_file",
            write(most + 1),
            "a would have 1001 bytes, and at most 1000 are written; write less, or several files",
        );
        files.ok("write_file", write(most), "created a: 1 line, 1000 bytes");
    }

    #[test]
    fn leaves_a_file_alone_that_changed_since_it_was_read() {
        let files = Fixture::new(&[("a", "one")]);
        let root = &*files.workspace.0;
        let target = target(root, &RelPath::known("a".into())).unwrap();
        let version = Version::of(target.existing.as_ref().unwrap());
        files.put("a", "theirs");
        let refusal = "a was changed by somebody else just now; read it again before you edit it";
        assert_eq!(
            replace(root, &target, &[b"ours"], Some(&version)),
            Err(Problem::Refused(refusal.to_owned()))
        );
        assert_eq!((files.text("a"), files.names("")), ("theirs".into(), vec!["a".into()]));
    }

    #[cfg(unix)]
    #[test]
    fn keeps_permissions_and_honours_read_only() {
        use std::os::unix::fs::PermissionsExt;
        let files = Fixture::new(&[("run.sh", "old"), ("fixed", "old")]);
        let mode = |name: &str| fs::metadata(files.path(name)).unwrap().permissions().mode() & 0o7777;
        fs::set_permissions(files.path("run.sh"), fs::Permissions::from_mode(0o4750)).unwrap();
        fs::set_permissions(files.path("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
        files.ok(
            "write_file",
            json!({ "path": "run.sh", "content": "new" }),
            "replaced run.sh: 1 line, 3 bytes",
        );
        assert_eq!((files.text("run.sh"), mode("run.sh")), ("new".into(), 0o750));
        let refusal = "fixed is read-only; write another file, or say that its permissions are in the way";
        files.refused("write_file", json!({ "path": "fixed", "content": "new" }), refusal);
        files.refused("edit_file", json!({ "path": "fixed", "old": "old", "new": "new" }), refusal);
        assert_eq!((files.text("fixed"), mode("fixed")), ("old".into(), 0o444));
    }
}
