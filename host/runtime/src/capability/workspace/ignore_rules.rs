//! Which files `.gitignore` and `.ignore` hide.
//!
//! The matching is the `ignore` crate's. Reading the rules is done here, because its walker opens whatever is
//! called `.gitignore`: a pipe would hold it for ever, and a link to an endless device would fill memory.

use super::{Root, file, path::RelPath};
use cap_std::fs::Dir;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The most that is read of one file of rules, in bytes. The largest in use are a tenth of it.
const MAX_RULES_BYTES: u64 = 256 * 1024;

/// The rules of one directory, and those of the directories around it.
#[derive(Debug)]
pub(super) struct Rules {
    matcher: Gitignore,
    base: Base,
    outer: Option<Arc<Rules>>,
}

/// Where a directory with rules lies.
#[derive(Debug)]
enum Base {
    /// In the workspace, at this path.
    Inside(PathBuf),
    /// Around the workspace, whose root is at this path below it.
    Around(PathBuf),
}

impl Rules {
    /// Whether these rules hide what is at `path`, a path below the workspace's root. The innermost rule that
    /// says anything decides. That the directories around it are not hidden is for the walk to know.
    pub(super) fn hide(rules: Option<&Arc<Self>>, path: &Path, is_dir: bool) -> bool {
        let mut next = rules;
        while let Some(rules) = next {
            let matched = match &rules.base {
                Base::Inside(base) => rules.matcher.matched(path.strip_prefix(base).unwrap_or(path), is_dir),
                Base::Around(root) => rules.matcher.matched(root.join(path), is_dir),
            };
            match matched {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = rules.outer.as_ref(),
            }
        }
        false
    }
}

/// The rules that hold in the directory `path`, given those that hold around it. Those of a repository end
/// where another one begins, as in git.
pub(super) fn within(root: &Root, path: &RelPath, outer: Option<Arc<Rules>>) -> Option<Arc<Rules>> {
    let is_repository = root.dir.symlink_metadata(path.join(".git").for_dir()).is_ok();
    let outer = if is_repository && !path.is_root() { None } else { outer };
    let mut lines = Vec::new();
    if is_repository {
        lines.extend(read(&root.dir, path.join(".git/info/exclude").for_dir()));
    }
    // The last rule wins, so `.ignore` comes last: it is for search tools alone.
    for name in [".gitignore", ".ignore"] {
        lines.extend(read(&root.dir, path.join(name).for_dir()));
    }
    match compile(&lines) {
        Some(matcher) => {
            Some(Arc::new(Rules { matcher, base: Base::Inside(path.as_path().to_owned()), outer }))
        }
        None => outer,
    }
}

/// The rules of the repository that the directory `root` is a part of, from above it. None where `root` is
/// itself a repository's top, or where that repository ignores it altogether: then its rules were not made
/// for these files.
pub(super) fn enclosing(root: &Path) -> Option<Arc<Rules>> {
    if root.join(".git").exists() {
        return None;
    }
    let mut around = Vec::new();
    let mut top = None;
    for above in root.ancestors().skip(1) {
        around.push(above);
        if above.join(".git").exists() {
            top = Some(above);
            break;
        }
    }
    top?;
    let mut rules = None;
    for above in around.into_iter().rev() {
        let below = root.strip_prefix(above).ok()?;
        let lines: Vec<String> =
            [".gitignore", ".ignore"].iter().filter_map(|name| read_ambient(&above.join(name))).collect();
        let Some(matcher) = compile(&lines) else { continue };
        if matcher.matched_path_or_any_parents(below, true).is_ignore() {
            return None;
        }
        rules = Some(Arc::new(Rules { matcher, base: Base::Around(below.to_owned()), outer: rules }));
    }
    rules
}

/// A matcher for paths relative to where the rules stand. Lines that are no rules are passed over, as git
/// does.
fn compile(files: &[String]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    for line in files.iter().flat_map(|text| text.lines()) {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|matcher| !matcher.is_empty())
}

/// A regular file of rules. A link is not followed, as in git.
fn read(dir: &Dir, path: &Path) -> Option<String> {
    if !dir.symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    text_of(dir.open_with(path, &file::for_reading()).ok()?)
}

fn read_ambient(path: &Path) -> Option<String> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    text_of(fs::File::open(path).ok()?)
}

/// The whole lines in the part that is read.
fn text_of(file: impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(MAX_RULES_BYTES).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 == MAX_RULES_BYTES {
        let end = bytes.iter().rposition(|&b| b == b'\n')?;
        bytes.truncate(end);
    }
    let text = String::from_utf8_lossy(&bytes);
    Some(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{Site, Workspace, WorkspaceLimits, fixture};
    use gg_config::WorkspaceParams;
    use gg_core::CallStatus;
    use serde_json::json;
    use std::{fs, path::Path, sync::atomic::AtomicBool};

    fn list(root: &Path) -> String {
        let workspace =
            Workspace::open(&Site::new(root), WorkspaceLimits::from(WorkspaceParams::default())).unwrap();
        let result = workspace.run(&fixture::call("list_files", json!({})), &AtomicBool::new(false));
        assert_eq!(result.status, CallStatus::Ok);
        result.content
    }

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        dir
    }

    #[test]
    fn inner_rules_and_later_lines_win() {
        let dir = tree(&[
            (".gitignore", "*.log\n/build\n# comment\n[bad\nkeep/*\n!keep/this\n"),
            (".ignore", "!shown.log\n"),
            ("a.log", ""),
            ("shown.log", ""),
            ("build/x", ""),
            ("sub/build/y", ""),
            ("sub/.gitignore", "!b.log\n/only\n"),
            ("sub/b.log", ""),
            ("sub/only", ""),
            ("sub/more/only", ""),
            ("keep/this", ""),
            ("keep/that", ""),
        ]);
        assert_eq!(
            list(dir.path()),
            ".gitignore\n.ignore\nkeep/this\nshown.log\nsub/.gitignore\nsub/b.log\nsub/build/y\nsub/more/only"
        );
    }

    #[test]
    fn a_repository_within_has_its_own_rules() {
        let dir = tree(&[
            (".gitignore", "*.log\n"),
            (".git/info/exclude", "secret\n"),
            ("secret", ""),
            ("vendor/.git/HEAD", ""),
            ("vendor/.git/info/exclude", "mine\n"),
            ("vendor/mine", ""),
            ("vendor/v.log", ""),
        ]);
        assert_eq!(list(dir.path()), ".gitignore\nvendor/v.log");
    }

    #[test]
    fn rules_of_the_enclosing_repository_hold() {
        let files = [
            (".git/HEAD", ""),
            (".gitignore", "target/\n/crates/*/gen\n!important\n"),
            ("crates/.gitignore", "*.tmp\n"),
            ("crates/a/src.rs", ""),
            ("crates/a/x.tmp", ""),
            ("crates/a/gen/y", ""),
            ("crates/a/target/z", ""),
        ];
        let dir = tree(&files);
        assert_eq!(list(&dir.path().join("crates/a")), "src.rs");

        fs::write(dir.path().join(".gitignore"), "*\n").unwrap();
        assert_eq!(list(&dir.path().join("crates/a")), "gen/y\nsrc.rs\ntarget/z\nx.tmp");
    }
}
