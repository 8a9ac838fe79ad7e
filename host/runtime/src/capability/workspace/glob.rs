//! Which paths a `glob` argument chooses.

use super::{Problem, path::RelPath};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// What a model is told of globs, the same in every call that takes one.
pub(super) const DESCRIPTION: &str = "Only files that match this glob, such as \"*.rs\", \"src/**/*.ts\" or \
    \"*.{js,ts}\". One without a slash matches names at any depth; one with a slash matches paths from the \
    workspace root or from `path`.";

/// A glob that files are held against.
#[derive(Debug)]
pub(super) struct Filter {
    set: GlobSet,
    from: RelPath,
}

impl Filter {
    /// Understands `pattern` for a walk that starts at `from`.
    pub(super) fn new(pattern: &str, from: &RelPath) -> Result<Self, Problem> {
        if pattern.starts_with('!') {
            return Err(Problem::Refused(format!(
                "the glob {pattern} excludes; a glob here says what to include, and ignored files are left \
                 out anyway"
            )));
        }
        let bare = pattern.trim_start_matches("./").trim_start_matches('/');
        if bare.is_empty() {
            return Err(Problem::Refused("the glob is empty; leave it out to have every file".to_owned()));
        }
        let mut full = if bare.trim_end_matches('/').contains('/') || bare.starts_with("**") {
            bare.to_owned()
        } else {
            format!("**/{bare}")
        };
        if full.ends_with('/') {
            full.push_str("**");
        }
        let bad = |e: globset::Error| {
            Problem::Refused(format!("the glob {pattern} cannot be read: {}; example: src/**/*.rs", e.kind()))
        };
        let glob =
            GlobBuilder::new(&full).literal_separator(true).empty_alternates(true).build().map_err(bad)?;
        let set = GlobSetBuilder::new().add(glob).build().map_err(bad)?;
        Ok(Self { set, from: from.clone() })
    }

    pub(super) fn takes(&self, path: &RelPath) -> bool {
        let path = path.as_path();
        self.set.is_match(path)
            || path.strip_prefix(self.from.as_path()).is_ok_and(|below| self.set.is_match(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn chooses_by_name_or_by_path() {
        let paths = ["a.rs", "src/b.rs", "src/c.ts", "src/deep/d.rs", "src/deep/[x].tsx"];
        let chosen = |glob: &str, from: &str| -> Vec<&str> {
            let filter = Filter::new(glob, &RelPath::known(PathBuf::from(from))).unwrap();
            paths.into_iter().filter(|p| filter.takes(&RelPath::known(PathBuf::from(p)))).collect()
        };
        assert_eq!(chosen("*.rs", ""), ["a.rs", "src/b.rs", "src/deep/d.rs"]);
        assert_eq!(chosen("src/*.rs", ""), ["src/b.rs"]);
        assert_eq!(chosen("/src/*.rs", ""), ["src/b.rs"]);
        assert_eq!(chosen("./src/**/*.rs", ""), ["src/b.rs", "src/deep/d.rs"]);
        assert_eq!(chosen("deep/*.rs", "src"), ["src/deep/d.rs"]);
        assert_eq!(chosen("src/deep/*.rs", "src"), ["src/deep/d.rs"]);
        assert_eq!(chosen("deep/", ""), ["src/deep/d.rs", "src/deep/[x].tsx"]);
        assert_eq!(chosen("*.{ts,tsx}", ""), ["src/c.ts", "src/deep/[x].tsx"]);
        assert_eq!(chosen("**", ""), paths);
        assert_eq!(chosen("src/deep/\\[x\\].tsx", ""), ["src/deep/[x].tsx"]);
    }

    #[test]
    fn refuses_what_is_no_glob() {
        let refusal = |glob: &str| match Filter::new(glob, &RelPath::root()) {
            Err(Problem::Refused(text)) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(refusal(""), "the glob is empty; leave it out to have every file");
        assert_eq!(
            refusal("!*.rs"),
            "the glob !*.rs excludes; a glob here says what to include, and ignored files are left out anyway"
        );
        assert_eq!(
            refusal("a{b"),
            "the glob a{b cannot be read: unclosed alternate group; missing '}' (maybe escape '{' with \
             '[{]'?); example: src/**/*.rs"
        );
    }
}
