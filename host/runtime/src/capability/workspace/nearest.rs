//! What a model may have meant by a path that is not there.

use super::{
    Root,
    path::{self, RelPath},
    walk::{self, Kind, Step},
};
use std::{path::Path, sync::atomic::AtomicBool};

/// The most names that are suggested from one directory, and from elsewhere.
const MAX_NAMES: usize = 3;

/// How many names are looked at, beside the missing one and then anywhere: a missing file must not cost a
/// whole walk.
const MAX_LOOKED_AT: usize = 5000;

/// Says that nothing is at `path`, and what is near it: like names in the nearest directory that exists, and
/// files of the same name elsewhere.
pub(super) fn missing(root: &Root, path: &RelPath) -> String {
    let shown = path.shown();
    let Some((parent, name)) = nearest_parent(root, path) else { return format!("{shown} does not exist") };
    let mut names = siblings(root, &parent, &name);
    names.extend(same_name(root, path).into_iter().filter(|p| !names.contains(p)).collect::<Vec<_>>());
    if names.is_empty() {
        format!("{shown} does not exist; list_files shows what is in {}", parent.shown())
    } else {
        format!("{shown} does not exist; nearest: {}", names.join(", "))
    }
}

/// The longest part of `path` that is a directory, and the name that is missing in it.
fn nearest_parent(root: &Root, path: &RelPath) -> Option<(RelPath, String)> {
    let mut path = path.clone();
    loop {
        let parent = path.parent()?;
        if root.dir.metadata(parent.for_dir()).is_ok_and(|m| m.is_dir()) {
            let name = path.as_path().file_name()?.to_string_lossy().into_owned();
            return Some((parent, name));
        }
        path = parent;
    }
}

fn siblings(root: &Root, parent: &RelPath, name: &str) -> Vec<String> {
    let Ok(entries) = root.dir.read_dir(parent.for_dir()) else { return Vec::new() };
    let mut ranked: Vec<(usize, String)> = entries
        .take(MAX_LOOKED_AT)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|other| {
            let alike = likeness(&name.to_lowercase(), &other.to_lowercase());
            (alike >= 60).then(|| (100 - alike, path::shown(parent.join(&other).as_path())))
        })
        .collect();
    ranked.sort();
    ranked.into_iter().take(MAX_NAMES).map(|(_, name)| name).collect()
}

fn same_name(root: &Root, path: &RelPath) -> Vec<String> {
    let Some(name) = path.as_path().file_name() else { return Vec::new() };
    let mut found = Vec::new();
    let mut looked_at = 0;
    // Whatever stops this walk only costs a suggestion.
    let _ = walk::walk(root, &RelPath::root(), &AtomicBool::new(false), |entry| {
        looked_at += 1;
        if entry.kind == Kind::File && Path::new(name) == Path::new(entry.name()) {
            found.push(entry.path.shown());
        }
        if found.len() == MAX_NAMES || looked_at == MAX_LOOKED_AT { Step::Stop } else { Step::Enter }
    });
    found
}

/// How alike two texts are, in percent: what they share at their starts and ends. Cheap, and enough for a
/// slip of one word or ending.
pub(super) fn likeness(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 100;
    }
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let end = a[start..].iter().rev().zip(b[start..].iter().rev()).take_while(|(x, y)| x == y).count();
    (start + end) * 100 / longer
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};
    use serde_json::json;

    #[test]
    fn likeness_is_what_both_ends_share() {
        assert_eq!(likeness("config.toml", "confg.toml"), 90);
        assert_eq!(likeness("aa", "aaa"), 66);
        assert_eq!(likeness("abc", "xyz"), 0);
        assert_eq!(likeness("", ""), 100);
        assert_eq!(likeness("", "a"), 0);
    }

    #[test]
    fn names_what_is_near() {
        let files = Fixture::new(&[
            ("src/config.rs", ""),
            ("src/config.toml", ""),
            ("src/deep/er/parser.rs", ""),
            ("README.md", ""),
            ("target/parser.rs", ""),
            (".gitignore", "target\n"),
        ]);
        for (path, expected) in [
            ("src/confg.rs", "src/confg.rs does not exist; nearest: src/config.rs"),
            ("readme.md", "readme.md does not exist; nearest: README.md"),
            ("src/parser.rs", "src/parser.rs does not exist; nearest: src/deep/er/parser.rs"),
            ("lib/zzz.c", "lib/zzz.c does not exist; list_files shows what is in the workspace root"),
            ("src/zzz.c", "src/zzz.c does not exist; list_files shows what is in src"),
        ] {
            files.refused("read_file", json!({ "path": path }), expected);
        }
    }
}
