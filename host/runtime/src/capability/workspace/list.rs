//! `list_files`: what files there are.

use super::{
    MAX_ANSWER_BYTES, Problem, Root,
    arguments::whole,
    file,
    glob::{self, Filter},
    path::{self, RelPath},
    walk::{self, Entry, Kind, Step},
};
use gg_core::{CallSpec, Effect, text};
use serde::Deserialize;
use serde_json::json;
use std::sync::atomic::AtomicBool;

pub(super) const NAME: &str = "list_files";

/// The most of a link's target that is shown, in bytes.
const MAX_LINK_BYTES: usize = 200;

pub(super) fn spec() -> CallSpec {
    CallSpec {
        name: NAME.to_owned(),
        description: "List the workspace's files, sorted, with paths from the workspace root. What \
            .gitignore and .ignore name is left out, and so are version control's own directories; other \
            hidden files are listed. A directory is listed, with a slash, where what is in it is not. Links \
            are shown and not followed. A tree with too many files is shown as deep as fits."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The directory to list; the workspace root if \
                    left out." },
                "glob": { "type": "string", "description": glob::DESCRIPTION },
                "depth": { "type": "integer", "minimum": 1, "description": "How many levels to go down; 1 \
                    lists the directory itself. All if left out." }
            },
            "additionalProperties": false
        }),
        effect: Effect::ReadOnly,
        feature: None,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFiles {
    path: Option<String>,
    glob: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    depth: Option<usize>,
}

pub(super) fn run(root: &Root, arguments: &ListFiles, cancel: &AtomicBool) -> Result<String, Problem> {
    let named = RelPath::parse(arguments.path.as_deref().unwrap_or_default(), &root.names)?;
    if arguments.depth == Some(0) {
        return Err(Problem::Refused("depth 0 lists nothing; 1 lists the directory itself".to_owned()));
    }
    let start = directory(root, &named)?;
    let filter = arguments.glob.as_deref().map(|g| Filter::new(g, &start)).transpose()?;
    let depth = arguments.depth.unwrap_or(usize::MAX);
    let mut entries = Vec::new();
    let unseen = walk::walk(root, &start, cancel, |entry| {
        let chosen = match &filter {
            Some(filter) => entry.kind != Kind::Directory && filter.takes(&entry.path),
            None => true,
        };
        if chosen {
            entries.push(Entry { path: entry.path.clone(), kind: entry.kind, depth: entry.depth });
        }
        if entry.depth < depth { Step::Enter } else { Step::Pass }
    })?;
    let mut lines = answer(root, &named, arguments, &entries);
    lines.extend(unseen.notes());
    Ok(lines.join("\n"))
}

/// `path` with links followed, if it is a directory.
pub(super) fn directory(root: &Root, path: &RelPath) -> Result<RelPath, Problem> {
    let fail = |e: std::io::Error| file::explain(root, "list", path, &e);
    if !root.dir.metadata(path.for_dir()).map_err(fail)?.is_dir() {
        return Err(Problem::Refused(format!("{} is a file; read_file reads it", path.shown())));
    }
    let real = root.dir.canonicalize(path.for_dir()).map_err(fail)?;
    Ok(RelPath::known(real.iter().filter(|part| *part != ".").collect()))
}

/// The entries, or as many as fit, and what was left out.
fn answer(root: &Root, named: &RelPath, arguments: &ListFiles, entries: &[Entry]) -> Vec<String> {
    let most = usize::try_from(root.limits.max_results).unwrap_or(usize::MAX);
    let deepest = entries.iter().map(|e| e.depth).max().unwrap_or_default();
    let all = rows(entries, deepest);
    if all.is_empty() {
        let what = match &arguments.glob {
            Some(glob) => format!("no file in {} matches the glob {glob}", named.shown()),
            None => format!("no files in {}", named.shown()),
        };
        return vec![format!("[{what}]")];
    }
    if fitting(root, &all, most) == all.len() {
        return all.iter().map(|entry| line(root, entry)).collect();
    }
    // As deep as fits shows a large tree's shape; the first so many files would show one corner of it.
    if arguments.glob.is_none() && arguments.depth.is_none() {
        let fits = (1..deepest)
            .rev()
            .map(|d| (d, rows(entries, d)))
            .find(|(_, r)| fitting(root, r, most) == r.len());
        if let Some((depth, rows)) = fits {
            let files = entries.iter().filter(|e| e.kind != Kind::Directory).count();
            let mut lines: Vec<String> = rows.iter().map(|entry| line(root, entry)).collect();
            lines.push(format!(
                "[{files} files are too many for one answer: shown to depth {depth} of {deepest}; use path, \
                 depth or glob to see more]"
            ));
            return lines;
        }
    }
    let shown = fitting(root, &all, most);
    let mut lines: Vec<String> = all[..shown].iter().map(|entry| line(root, entry)).collect();
    lines.push(format!("[the first {shown} of {}; use path, depth or glob to see others]", all.len()));
    lines
}

/// What is listed down to `depth`: files, and the directories that no listed entry is in.
fn rows(entries: &[Entry], depth: usize) -> Vec<&Entry> {
    let mut rows: Vec<&Entry> = Vec::new();
    for entry in entries.iter().filter(|e| e.depth <= depth) {
        // Entries come in walking order, so what is in a directory follows it.
        if rows.last().is_some_and(|last| last.kind == Kind::Directory && last.depth < entry.depth) {
            rows.pop();
        }
        rows.push(entry);
    }
    rows
}

/// How many of `rows` one answer holds.
fn fitting(root: &Root, rows: &[&Entry], most: usize) -> usize {
    let mut bytes = 0;
    rows.iter()
        .take(most)
        .take_while(|entry| {
            bytes += line(root, entry).len() + 1;
            bytes <= MAX_ANSWER_BYTES
        })
        .count()
}

fn line(root: &Root, entry: &Entry) -> String {
    let shown = entry.path.shown();
    match entry.kind {
        Kind::File => shown,
        Kind::Directory => format!("{shown}/"),
        Kind::Special => format!("{shown} [a pipe, socket or device]"),
        Kind::Link => match root.dir.read_link_contents(entry.path.for_dir()) {
            Ok(target) => format!("{shown} -> {}", text::cut(&path::shown(&target), MAX_LINK_BYTES)),
            Err(_) => format!("{shown} [a link]"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Site, Workspace, WorkspaceLimits,
            fixture::{Fixture, LIMITS, call},
        },
        *,
    };

    #[test]
    fn lists_sorted_and_without_what_is_ignored() {
        let files = Fixture::new(&[
            ("b.txt", ""),
            ("a/z.rs", ""),
            ("a.txt", ""),
            (".hidden", ""),
            (".git/config", ""),
            ("sub/.git", "gitdir: elsewhere"),
            ("sub/ñ\n", ""),
            (".gitignore", "target\n"),
            ("target/x", ""),
        ]);
        files.ok(
            "list_files",
            json!({ "depth": 9, "path": "." }),
            ".gitignore\n.hidden\na/z.rs\na.txt\nb.txt\n[the first 5 of 6; use path, depth or glob to see \
             others]",
        );
        files.ok("list_files", json!({ "path": "sub" }), "\"sub/ñ\\n\"");
        files.ok("list_files", json!({ "path": "target" }), "target/x");
        files.ok("list_files", json!({ "glob": "*.rs" }), "a/z.rs");
        files.ok(
            "list_files",
            json!({ "path": "a", "glob": "*.txt" }),
            "[no file in a matches the glob *.txt]",
        );
    }

    #[test]
    fn shows_directories_where_it_stops() {
        let files = Fixture::new(&[("a/b/c/d", ""), ("a/e", ""), ("empty/", ""), ("f", "")]);
        files.ok("list_files", json!({}), "a/b/c/d\na/e\nempty/\nf");
        files.ok("list_files", json!({ "depth": 1 }), "a/\nempty/\nf");
        files.ok("list_files", json!({ "depth": 2 }), "a/b/\na/e\nempty/\nf");
        files.ok("list_files", json!({ "path": "a", "depth": 1 }), "a/b/\na/e");
        files.ok("list_files", json!({ "path": "empty" }), "[no files in empty]");
        files.refused("list_files", json!({ "path": "f" }), "f is a file; read_file reads it");
        files.refused(
            "list_files",
            json!({ "depth": 0 }),
            "depth 0 lists nothing; 1 lists the directory itself",
        );
    }

    #[test]
    fn shows_the_shape_of_a_tree_that_is_too_large() {
        let files = Fixture::new(&[]);
        for n in 0..6 {
            files.put(&format!("src/deep/{n}"), "");
            files.put(&format!("docs/{n}"), "");
        }
        files.put("top", "");
        files.ok(
            "list_files",
            json!({}),
            "docs/\nsrc/\ntop\n[13 files are too many for one answer: shown to depth 1 of 3; use path, \
             depth or glob to see more]",
        );
        files.ok(
            "list_files",
            json!({ "path": "docs" }),
            "docs/0\ndocs/1\ndocs/2\ndocs/3\ndocs/4\n[the first 5 of 6; use path, depth or glob to see \
             others]",
        );
    }

    #[test]
    fn long_names_fill_an_answer_no_further_than_it_goes() {
        let directory = tempfile::tempdir().unwrap();
        for n in 0..299 {
            std::fs::write(directory.path().join(format!("{n:03}{}", "x".repeat(250))), "").unwrap();
        }
        let workspace =
            Workspace::open(&Site::new(directory.path()), WorkspaceLimits { max_results: 299, ..LIMITS })
                .unwrap();
        let listing = call("list_files", json!({}));
        let content = workspace.run(&listing, &AtomicBool::new(false)).content;
        let shown = MAX_ANSWER_BYTES / 254;
        let last = content.lines().last().map(str::to_owned);
        let expected = format!("[the first {shown} of 299; use path, depth or glob to see others]");
        assert_eq!((last, content.lines().count()), (Some(expected), shown + 1));
    }
}
