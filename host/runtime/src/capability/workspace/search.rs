//! `search`: lines that match a pattern, by ripgrep's own crates.

use super::{
    MAX_ANSWER_BYTES, Problem, Root,
    arguments::whole,
    check_cancelled, count, file,
    glob::{self, Filter},
    list,
    path::RelPath,
    walk::{self, Kind, Step},
};
use gg_core::{CallSpec, Effect, text};
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};
use serde::Deserialize;
use serde_json::json;
use std::{
    fmt::Write,
    io::{self, Read},
    sync::atomic::{AtomicBool, Ordering},
};

pub(super) const NAME: &str = "search";

/// The largest file that is searched, in bytes: a quarter of a second's work.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;

/// The longest line that is searched, in bytes: it has to be held in memory.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// The most of one line that is shown, in bytes. Generated files have lines that would fill a window.
const MAX_SHOWN_BYTES: usize = 400;

/// How much of a long line is shown before its match, in bytes.
const SHOWN_BEFORE_BYTES: usize = 100;

/// The most lines of context on each side of a match.
const MAX_CONTEXT: usize = 20;

/// The largest compiled pattern, in bytes, which a small one with large counts can reach.
const MAX_PATTERN_BYTES: usize = 10 * 1024 * 1024;

pub(super) fn spec() -> CallSpec {
    CallSpec {
        name: NAME.to_owned(),
        description: "Search the workspace's files for lines that match a pattern. Each file's path stands \
            above its lines: `12:` before a line that matches, `13-` before a line of context. What \
            .gitignore and .ignore name is left out, and so are version control's own directories, binary \
            files and links; other hidden files are searched."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "minLength": 1, "description": "A regular expression as in \
                    Rust and ripgrep: no lookaround, no back-references; matched within single lines." },
                "path": { "type": "string", "description": "The directory or file to search; the workspace \
                    root if left out." },
                "glob": { "type": "string", "description": glob::DESCRIPTION },
                "case": { "type": "string", "enum": ["sensitive", "insensitive"], "description": "Whether \
                    upper and lower case differ; sensitive if left out." },
                "literal": { "type": "boolean", "description": "Take the pattern as plain text; false if \
                    left out." },
                "context": { "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "description": "Lines \
                    to show before and after each match; 0 if left out." }
            },
            "required": ["pattern"],
            "additionalProperties": false
        }),
        effect: Effect::ReadOnly,
        feature: None,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    case: Option<Case>,
    literal: Option<bool>,
    #[serde(default, deserialize_with = "whole")]
    context: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Case {
    Sensitive,
    Insensitive,
}

pub(super) fn run(root: &Root, arguments: &Search, cancel: &AtomicBool) -> Result<String, Problem> {
    let path = RelPath::parse(arguments.path.as_deref().unwrap_or_default(), &root.names)?;
    let context = arguments.context.unwrap_or_default();
    if context > MAX_CONTEXT {
        return Err(Problem::Refused(format!(
            "context {context} is too much; at most {MAX_CONTEXT} lines are shown"
        )));
    }
    let mut hunt = Hunt {
        root,
        cancel,
        matcher: matcher(arguments)?,
        searcher: searcher(context),
        left: usize::try_from(root.limits.max_results).unwrap_or(usize::MAX),
        out: String::new(),
        searched: 0,
        skipped: Skipped::default(),
        more: false,
    };
    let metadata = root.dir.metadata(path.for_dir()).map_err(|e| file::explain(root, "search", &path, &e))?;
    let unseen = if metadata.is_dir() {
        let start = list::directory(root, &path)?;
        let filter = arguments.glob.as_deref().map(|g| Filter::new(g, &start)).transpose()?;
        walk::walk(root, &start, cancel, |entry| {
            if entry.kind == Kind::File && filter.as_ref().is_none_or(|f| f.takes(&entry.path)) {
                hunt.file(&entry.path);
            }
            if hunt.more { Step::Stop } else { Step::Enter }
        })?
    } else {
        file::check_regular(&path, &metadata)?;
        hunt.file(&path);
        walk::Unseen::default()
    };
    check_cancelled(cancel)?;
    Ok(hunt.answer(&path, arguments, unseen))
}

fn matcher(arguments: &Search) -> Result<RegexMatcher, Problem> {
    if arguments.pattern.is_empty() {
        return Err(Problem::Refused("the pattern is empty; give the text to look for".to_owned()));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(arguments.case == Some(Case::Insensitive))
        .fixed_strings(arguments.literal == Some(true))
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .multi_line(true)
        // So that `$` stands before CRLF too, and no pattern reaches over a line.
        .crlf(true);
    builder.build(&arguments.pattern).map_err(|e| {
        let hint = if arguments.literal == Some(true) {
            "a pattern is matched within single lines"
        } else {
            "mend it, or set literal to search for it as plain text"
        };
        Problem::Refused(format!("the pattern cannot be used: {e}; {hint}"))
    })
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .binary_detection(BinaryDetection::quit(0))
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(MAX_LINE_BYTES))
        .build()
}

/// Files that were not searched, by why.
#[derive(Debug, Default)]
struct Skipped {
    binary: usize,
    huge: usize,
    unreadable: usize,
}

/// One search under way.
struct Hunt<'a> {
    root: &'a Root,
    cancel: &'a AtomicBool,
    matcher: RegexMatcher,
    searcher: Searcher,
    /// How many matching lines may still be shown.
    left: usize,
    out: String,
    searched: usize,
    skipped: Skipped,
    /// Set once there is a match that is not shown.
    more: bool,
}

impl Hunt<'_> {
    fn file(&mut self, path: &RelPath) {
        let Ok((file, metadata)) = file::open(self.root, path) else {
            self.skipped.unreadable += 1;
            return;
        };
        if metadata.len() > MAX_FILE_BYTES {
            self.skipped.huge += 1;
            return;
        }
        let head = format!("{}{}\n", if self.out.is_empty() { "" } else { "\n" }, path.shown());
        let mut lines = Lines {
            matcher: &self.matcher,
            out: String::new(),
            kept: 0,
            shown: 0,
            left: self.left,
            room: MAX_ANSWER_BYTES.saturating_sub(self.out.len() + head.len()),
            more: false,
            binary: false,
        };
        let reader = Watched { file: file.take(MAX_FILE_BYTES), cancel: self.cancel };
        // A binary file may match before its first NUL; such lines are not text either.
        if self.searcher.search_reader(&self.matcher, reader, &mut lines).is_err() {
            self.skipped.unreadable += 1;
            return;
        }
        if lines.binary {
            self.skipped.binary += 1;
            return;
        }
        self.searched += 1;
        self.more = lines.more;
        if lines.shown > 0 {
            self.left -= lines.shown;
            lines.out.truncate(lines.kept);
            self.out.push_str(&head);
            self.out.push_str(&lines.out);
        }
    }

    fn answer(self, path: &RelPath, arguments: &Search, unseen: walk::Unseen) -> String {
        let mut notes = Vec::new();
        if self.out.is_empty() && !self.more {
            let glob = arguments.glob.as_ref().map(|g| format!(" that match {g}")).unwrap_or_default();
            notes.push(format!(
                "[no match in {}{glob} in {}]",
                count(self.searched, "text file", "text files"),
                path.shown()
            ));
        }
        if self.more {
            notes.push("[there are more matches; narrow the search with pattern, path or glob]".to_owned());
        }
        let Skipped { binary, huge, unreadable } = self.skipped;
        let skipped: Vec<String> = [
            (binary, "binary".to_owned()),
            (huge, format!("larger than {MAX_FILE_BYTES} bytes")),
            (unreadable, "unreadable or with lines too long".to_owned()),
        ]
        .into_iter()
        .filter(|(files, _)| *files > 0)
        .map(|(files, why)| format!("{files} {why}"))
        .collect();
        if !skipped.is_empty() {
            notes.push(format!("[files not searched: {}]", skipped.join(", ")));
        }
        notes.extend(unseen.notes());
        let between = if self.out.is_empty() || notes.is_empty() { "" } else { "\n" };
        let mut answer = self.out + between + &notes.join("\n");
        answer.truncate(answer.trim_end_matches('\n').len());
        answer
    }
}

/// A file that reads as an error once nobody wants it any more.
struct Watched<'a, R> {
    file: R,
    cancel: &'a AtomicBool,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

/// The lines of one file, as they are found.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    out: String,
    /// How much of `out` stands when no further match is shown: context before that match goes.
    kept: usize,
    shown: usize,
    left: usize,
    room: usize,
    more: bool,
    binary: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let start = self.matcher.find(found.bytes()).ok().flatten().map_or(0, |m| m.start());
        let line = shown_line(found.bytes(), start);
        let number = found.line_number().unwrap_or_default();
        if self.shown == self.left || self.out.len() + line.len() + 24 > self.room {
            self.more = true;
            return Ok(false);
        }
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{number}:{line}");
        self.shown += 1;
        self.kept = self.out.len();
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = shown_line(context.bytes(), 0);
        if self.out.len() + line.len() + 24 <= self.room {
            let _ = writeln!(self.out, "{}-{line}", context.line_number().unwrap_or_default());
            if *context.kind() == SinkContextKind::After {
                self.kept = self.out.len();
            }
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.out.push_str("--\n");
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line without its ending; of a long one, the part around its match.
fn shown_line(bytes: &[u8], match_start: usize) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    if bytes.len() <= MAX_SHOWN_BYTES {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let is_inside_character = |at: usize| bytes.get(at).is_some_and(|b| b & 0xC0 == 0x80);
    let mut start = match_start.min(bytes.len()).saturating_sub(SHOWN_BEFORE_BYTES);
    while is_inside_character(start) {
        start += 1;
    }
    let end = bytes.len().min(start + MAX_SHOWN_BYTES);
    // One character more, so that only `cut` decides where the last whole one ends.
    let tail = String::from_utf8_lossy(&bytes[start..bytes.len().min(end + 4)]);
    let shown = text::cut(&tail, MAX_SHOWN_BYTES);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < bytes.len() { "…" } else { "" };
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests;
