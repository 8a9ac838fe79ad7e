//! Every file below a directory, in one order, without those that are ignored.

use super::{
    Problem, Root, check_cancelled, file,
    ignore_rules::{self, Rules},
    path::RelPath,
    write,
};
use cap_std::fs::FileType;
use std::{
    ffi::{OsStr, OsString},
    sync::{Arc, atomic::AtomicBool},
    vec,
};

/// Directories of version control, which hold nothing for an agent to see and, written to, run programs.
const VERSION_CONTROL: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// The most entries of one walk. The largest source trees have about as many; a home directory can have more.
pub(super) const MAX_ENTRIES: usize = 500_000;

/// How deep a walk goes below the root. Real trees stay far above; one made to be deep ends the walk here.
const MAX_DEPTH: usize = 128;

/// One thing that a walk meets.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) path: RelPath,
    pub(super) kind: Kind,
    /// 1 for what is directly in the directory where the walk starts.
    pub(super) depth: usize,
}

impl Entry {
    pub(super) fn name(&self) -> &OsStr {
        self.path.as_path().file_name().unwrap_or_default()
    }
}

/// What an entry is, with links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Link,
    /// A pipe, socket or device.
    Special,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Directory
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }
}

/// What to do after an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Go on, into it if it is a directory.
    Enter,
    /// Go on, past it.
    Pass,
    /// End the walk.
    Stop,
}

/// What a walk did not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Unseen {
    /// Directories that could not be opened.
    pub(super) unreadable: usize,
    /// Directories too deep to enter.
    pub(super) too_deep: usize,
    /// Set where there were more than [`MAX_ENTRIES`].
    pub(super) cut: bool,
}

impl Unseen {
    /// One line for each thing that was not seen.
    pub(super) fn notes(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.unreadable > 0 {
            let directories = super::count(self.unreadable, "directory", "directories");
            notes.push(format!("[{directories} could not be opened]"));
        }
        if self.too_deep > 0 {
            let directories = super::count(self.too_deep, "directory", "directories");
            notes.push(format!("[{directories} more than {MAX_DEPTH} levels deep not entered]"));
        }
        if self.cut {
            notes.push(format!("[stopped after {MAX_ENTRIES} entries; name a smaller directory in path]"));
        }
        notes
    }
}

struct Level {
    path: RelPath,
    rules: Option<Arc<Rules>>,
    entries: vec::IntoIter<(OsString, Kind)>,
}

/// Whether it is one of version control's own directories; case does not count, as on some file systems.
pub(super) fn is_version_control(name: &OsStr) -> bool {
    VERSION_CONTROL.iter().any(|vc| name.eq_ignore_ascii_case(vc))
}

/// Calls `visit` with everything below the directory `start`, each directory before what is in it, in the
/// byte order of names. Links are not followed; hidden files are like others; version control's directories
/// are not met.
pub(super) fn walk(
    root: &Root,
    start: &RelPath,
    cancel: &AtomicBool,
    mut visit: impl FnMut(&Entry) -> Step,
) -> Result<Unseen, Problem> {
    let mut unseen = Unseen::default();
    let mut left = MAX_ENTRIES;
    let first = match open(root, start, outer_rules(root, start), &mut left) {
        Ok(level) => level,
        Err(error) => return Err(file::explain(root, "read", start, &error)),
    };
    let mut levels = vec![first];
    while let Some(level) = levels.last_mut() {
        check_cancelled(cancel)?;
        let Some((name, kind)) = level.entries.next() else {
            levels.pop();
            continue;
        };
        let path = level.path.join(&name);
        if Rules::hide(level.rules.as_ref(), path.as_path(), kind == Kind::Directory) {
            continue;
        }
        let rules = level.rules.clone();
        let entry = Entry { path, kind, depth: levels.len() };
        match visit(&entry) {
            Step::Stop => break,
            Step::Enter if kind == Kind::Directory => {
                if entry.path.as_path().components().count() >= MAX_DEPTH {
                    unseen.too_deep += 1;
                    continue;
                }
                match open(root, &entry.path, rules, &mut left) {
                    Ok(level) => levels.push(level),
                    Err(_) => unseen.unreadable += 1,
                }
            }
            Step::Enter | Step::Pass => {}
        }
    }
    unseen.cut = left == 0;
    Ok(unseen)
}

/// The rules of the directories that lead to `start`.
fn outer_rules(root: &Root, start: &RelPath) -> Option<Arc<Rules>> {
    let mut rules = root.enclosing.clone();
    let mut path = RelPath::root();
    for component in start.as_path().components() {
        rules = ignore_rules::within(root, &path, rules);
        path = path.join(component);
    }
    rules
}

fn open(root: &Root, path: &RelPath, outer: Option<Arc<Rules>>, left: &mut usize) -> std::io::Result<Level> {
    let mut entries = Vec::new();
    for entry in root.dir.read_dir(path.for_dir())? {
        if *left == 0 {
            break;
        }
        // An entry that vanishes while it is read is no longer there.
        let Ok(entry) = entry else { continue };
        let name = entry.file_name();
        if is_version_control(&name) || write::is_temporary(&name) {
            continue;
        }
        let Ok(kind) = entry.file_type() else { continue };
        *left -= 1;
        entries.push((name, Kind::from(kind)));
    }
    entries.sort_by(|(a, _), (b, _)| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    let rules = ignore_rules::within(root, path, outer);
    Ok(Level { path: path.clone(), rules, entries: entries.into_iter() })
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};
    use std::sync::atomic::Ordering;

    fn walked(files: &Fixture, step: impl Fn(&Entry) -> Step) -> Vec<(String, Kind, usize)> {
        let mut seen = Vec::new();
        let unseen = walk(&files.workspace.0, &RelPath::root(), &AtomicBool::new(false), |entry| {
            seen.push((entry.path.shown(), entry.kind, entry.depth));
            step(entry)
        });
        assert_eq!(unseen, Ok(Unseen::default()));
        seen
    }

    fn tree() -> Fixture {
        Fixture::new(&[
            ("b/c", ""),
            ("b.txt", ""),
            ("a", ""),
            (".gg-write-1-1.tmp", ""),
            (".jj/x", ""),
            ("b/.Git/y", ""),
        ])
    }

    #[test]
    fn goes_in_one_order_without_what_is_not_for_agents() {
        let expected = [
            ("a", Kind::File, 1),
            ("b", Kind::Directory, 1),
            ("b/c", Kind::File, 2),
            ("b.txt", Kind::File, 1),
        ];
        assert_eq!(walked(&tree(), |_| Step::Enter), expected.map(|(p, k, d)| (p.to_owned(), k, d)));
    }

    #[test]
    fn passes_and_stops_when_told() {
        let names = |step: fn(&Entry) -> Step| -> Vec<String> {
            walked(&tree(), step).into_iter().map(|(path, ..)| path).collect()
        };
        assert_eq!(names(|_| Step::Pass), ["a", "b", "b.txt"]);
        assert_eq!(names(|e| if e.depth == 2 { Step::Stop } else { Step::Enter }), ["a", "b", "b/c"]);
    }

    #[test]
    fn ends_once_it_is_cancelled_on_the_way() {
        let files = tree();
        let cancel = AtomicBool::new(false);
        let mut seen = 0;
        let ended = walk(&files.workspace.0, &RelPath::root(), &cancel, |_| {
            seen += 1;
            cancel.store(true, Ordering::Relaxed);
            Step::Enter
        });
        assert_eq!((ended, seen), (Err(Problem::Cancelled), 1));
    }
}
