//! `edit_file`: one exact text for another.

use super::{
    Problem, Root,
    endings::{Endings, Flat, LineBreak},
    file::{self, Bom},
    nearest::likeness,
    path::RelPath,
    write,
};
use gg_core::{CallSpec, Effect, text};
use serde::Deserialize;
use serde_json::json;
use std::{
    ops::Range,
    sync::{PoisonError, atomic::AtomicBool},
};

pub(super) const NAME: &str = "edit_file";

/// How many places of an ambiguous text are counted: finding more helps nobody.
const MAX_COUNTED: usize = 1000;

/// How many line numbers are named.
const MAX_NAMED_LINES: usize = 10;

/// How much comparing is done to find the lines nearest to a text that is absent, in bytes compared.
const MAX_COMPARED_BYTES: usize = 20_000_000;

/// How alike lines must be to be shown as the nearest ones, in percent.
const MIN_LIKENESS: usize = 60;

/// The most of the nearest lines that is shown, in bytes.
const MAX_NEAREST_BYTES: usize = 2000;

pub(super) fn spec() -> CallSpec {
    CallSpec {
        name: NAME.to_owned(),
        description: "Replace a text in a file of the workspace. `old` must be exactly what the file holds, \
            with its indentation and without line numbers, and must occur once: add lines around it until \
            it does, or set replace_all. The file keeps its line endings."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file, relative to the workspace root." },
                "old": { "type": "string", "minLength": 1, "description": "The text to replace." },
                "new": { "type": "string", "description": "What to put in its place; empty to delete it." },
                "replace_all": { "type": "boolean", "description": "Replace every occurrence; false if left \
                    out." }
            },
            "required": ["path", "old", "new"],
            "additionalProperties": false
        }),
        effect: Effect::Acting,
        feature: None,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EditFile {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

pub(super) fn run(root: &Root, arguments: &EditFile, cancel: &AtomicBool) -> Result<String, Problem> {
    let path = RelPath::parse(&arguments.path, &root.names)?;
    let refuse = |why: String| Err(Problem::Refused(why));
    if arguments.old.is_empty() {
        return refuse("old is empty; give the text to replace, or use write_file for a new file".to_owned());
    }
    let old = Flat::new(&arguments.old).text;
    let new = Flat::new(&arguments.new).text;
    if old == new {
        let but = if arguments.old == arguments.new { "" } else { " but for line endings, which are kept" };
        return refuse(format!("old and new are the same{but}; nothing to replace"));
    }
    let _writing = root.writing.lock().unwrap_or_else(PoisonError::into_inner);
    let target = write::target(root, &path)?;
    let file = file::read_text(root, &path, cancel)?;
    let flat = Flat::new(&file.text);
    let places = if arguments.replace_all == Some(true) {
        flat.text.match_indices(&*old).map(|(at, _)| at).collect()
    } else {
        overlapping(&flat.text, &old)
    };
    match places.as_slice() {
        [] => return refuse(absent(&path, &flat.text, &old)),
        [_] => {}
        _ if arguments.replace_all == Some(true) => {}
        many => return refuse(ambiguous(&path, &flat.text, many)),
    }
    let removed = places.len() * old.len();
    let added = places.len().saturating_mul(new.len());
    // Before it is made: a short text that stands often can grow beyond memory. Line breaks only add to this.
    write::check_size(root, &path, (flat.text.len() - removed).saturating_add(added))?;
    let edited = substitute(&file.text, &flat, &places, old.len(), arguments);
    write::check_size(root, &path, edited.len())?;
    let bom: &[u8] = if file.bom == Some(Bom) { &Bom::BYTES } else { &[] };
    write::replace(root, &target, &[bom, edited.as_bytes()], Some(&file.version))?;
    Ok(format!(
        "edited {}: {} replaced, at {}",
        path.shown(),
        super::count(places.len(), "occurrence", "occurrences"),
        lines_named(&flat.text, &places)
    ))
}

/// Every place of `old`, also where two share a part: either could be meant.
fn overlapping(text: &str, old: &str) -> Vec<usize> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old) {
        places.push(from + at);
        from += at + step;
        if places.len() > MAX_COUNTED {
            break;
        }
    }
    places
}

/// The text with the new one in each place, its line breaks those of what it replaces.
fn substitute(
    original: &str,
    flat: &Flat<'_>,
    places: &[usize],
    old_len: usize,
    arguments: &EditFile,
) -> String {
    let usual = Endings::of(original).usual();
    let new = Flat::new(&arguments.new).text;
    let mut out = String::with_capacity(original.len());
    let mut done = 0;
    for &at in places {
        let (start, end) = (flat.original(at), flat.original(at + old_len));
        out.push_str(&original[done..start]);
        match LineBreak::first_in(&original[start..end]).or(usual) {
            Some(LineBreak::Lf) => out.push_str(&new),
            Some(LineBreak::Crlf) => out.push_str(&new.replace('\n', LineBreak::Crlf.as_str())),
            None => out.push_str(&arguments.new),
        }
        done = end;
    }
    out.push_str(&original[done..]);
    out
}

fn ambiguous(path: &RelPath, text: &str, places: &[usize]) -> String {
    let times = if places.len() > MAX_COUNTED {
        format!("more than {MAX_COUNTED}")
    } else {
        places.len().to_string()
    };
    format!(
        "old occurs {times} times in {}, at {}; add lines around it until it is the only one, or set \
         replace_all",
        path.shown(),
        lines_named(text, places)
    )
}

/// `line 3`, or `lines 3, 8 and 2 more places`.
fn lines_named(text: &str, places: &[usize]) -> String {
    let mut numbers = Vec::new();
    let (mut line, mut from) = (1, 0);
    for &at in places.iter().take(MAX_NAMED_LINES) {
        line += text[from..at].matches('\n').count();
        from = at;
        numbers.push(line.to_string());
    }
    let word = if places.len() == 1 { "line" } else { "lines" };
    let more = match places.len() - numbers.len() {
        0 => String::new(),
        more => format!(" and {}", super::count(more, "more place", "more places")),
    };
    format!("{word} {}{more}", numbers.join(", "))
}

/// Says that `old` is not there, and what is most like it.
fn absent(path: &RelPath, text: &str, old: &str) -> String {
    let shown = path.shown();
    let numbered = old.lines().filter(|l| !l.trim().is_empty()).all(|line| {
        line.split_once('\t').is_some_and(|(n, _)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    });
    if numbered {
        return format!(
            "old is not in {shown}; leave out the line numbers and tabs that read_file puts before each line"
        );
    }
    let Some((lines, alike)) = nearest_lines(text, old) else {
        return format!("old is not in {shown}; read the file and copy the text from it");
    };
    let which = if alike == 100 { "the same but for white space" } else { "nearest" };
    let body: Vec<String> = text
        .lines()
        .enumerate()
        .skip(lines.start)
        .take(lines.len())
        .map(|(index, line)| format!("{}\t{line}", index + 1))
        .collect();
    format!("old is not in {shown}; {which}:\n{}", text::cut(&body.join("\n"), MAX_NEAREST_BYTES))
}

/// The lines, counted from 0, that are most like those of `old`, and how alike they are in percent.
fn nearest_lines(text: &str, old: &str) -> Option<(Range<usize>, usize)> {
    let old: Vec<&str> = old.trim_matches('\n').lines().map(str::trim).collect();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let weight: usize = old.iter().map(|l| l.len()).sum();
    if weight == 0 || text.len().saturating_mul(old.len()) > MAX_COMPARED_BYTES {
        return None;
    }
    let alike = |start: usize| -> usize {
        old.iter().zip(&lines[start..]).map(|(a, b)| likeness(a, b) * a.len()).sum::<usize>() / weight
    };
    // The first of the best.
    let mut best = (0, 0);
    for start in 0..lines.len() {
        let score = alike(start);
        if score > best.1 {
            best = (start, score);
        }
    }
    let (start, score) = best;
    (score >= MIN_LIKENESS).then(|| (start..(start + old.len()).min(lines.len()), score))
}

#[cfg(test)]
mod tests {
    use super::super::{
        Site, Workspace,
        fixture::{Fixture, LIMITS, call},
    };
    use gg_core::CallStatus;
    use serde_json::{Value, json};
    use std::sync::atomic::AtomicBool;

    fn edit(old: &str, new: &str) -> Value {
        json!({ "path": "a", "old": old, "new": new })
    }

    fn edit_all(old: &str, new: &str) -> Value {
        json!({ "path": "a", "old": old, "new": new, "replace_all": true })
    }

    #[test]
    fn replaces_one_exact_text() {
        let files = Fixture::new(&[("a", "one\n  two ñ\nthree\n")]);
        files.ok("edit_file", edit("  two ñ\nth", "2\nTH"), "edited a: 1 occurrence replaced, at line 2");
        assert_eq!(files.text("a"), "one\n2\nTHree\n");
        files.ok("edit_file", edit("one\n", ""), "edited a: 1 occurrence replaced, at line 1");
        assert_eq!(files.text("a"), "2\nTHree\n");
        assert_eq!(files.names(""), ["a"]);
    }

    #[test]
    fn refuses_ambiguity() {
        let files = Fixture::new(&[("a", "x = 1\ny\nx = 1; x = 1\n")]);
        files.refused(
            "edit_file",
            edit("x = 1", "x = 2"),
            "old occurs 3 times in a, at lines 1, 3, 3; add lines around it until it is the only one, or set \
             replace_all",
        );
        files.ok("edit_file", edit_all("x = 1", "z"), "edited a: 3 occurrences replaced, at lines 1, 3, 3");
        assert_eq!(files.text("a"), "z\ny\nz; z\n");

        files.put("a", "aaa");
        files.refused(
            "edit_file",
            edit("aa", "b"),
            "old occurs 2 times in a, at lines 1, 1; add lines around it until it is the only one, or set \
             replace_all",
        );
        files.put("a", "-\n".repeat(2000));
        files.refused(
            "edit_file",
            edit("-", "+"),
            "old occurs more than 1000 times in a, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 991 more \
             places; add lines around it until it is the only one, or set replace_all",
        );
    }

    #[test]
    fn refuses_what_changes_nothing() {
        let files = Fixture::new(&[("a", "x\r\n")]);
        files.refused(
            "edit_file",
            edit("", "x"),
            "old is empty; give the text to replace, or use write_file for a new file",
        );
        files.refused("edit_file", edit("x", "x"), "old and new are the same; nothing to replace");
        files.refused(
            "edit_file",
            edit("x\r\n", "x\n"),
            "old and new are the same but for line endings, which are kept; nothing to replace",
        );
        assert_eq!(files.text("a"), "x\r\n");
    }

    #[test]
    fn shows_what_is_nearest_to_an_absent_text() {
        let files = Fixture::new(&[("a", "fn main() {\n    let count = 1;\n    print(count);\n}\n")]);
        files.refused(
            "edit_file",
            edit("let count = 1;\nprint(count);", "x"),
            "old is not in a; the same but for white space:\n2\t    let count = 1;\n3\t    print(count);",
        );
        files.refused(
            "edit_file",
            edit("    let count = 2;", "x"),
            "old is not in a; nearest:\n2\t    let count = 1;",
        );
        files.refused(
            "edit_file",
            edit("something else", "x"),
            "old is not in a; read the file and copy the text from it",
        );
        files.refused(
            "edit_file",
            edit("2\t    let count = 1;\n3\t    print(count);", "x"),
            "old is not in a; leave out the line numbers and tabs that read_file puts before each line",
        );
        files.refused(
            "edit_file",
            json!({ "path": "b", "old": "x", "new": "y" }),
            "b does not exist; list_files shows what is in the workspace root",
        );
    }

    #[test]
    fn keeps_line_endings_and_byte_order_mark() {
        let files = Fixture::new(&[]);
        for (before, old, new, after) in [
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
            ("a\r\nb\r\n", "a\r\nb\r\n", "x\r\n", "x\r\n"),
            ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
            ("a\r\nb\r\n", "\n", "-", "refused"),
            ("a\nb\n", "b\r\n", "c\r\nd\r\n", "a\nc\nd\n"),
            ("a\nb\r\nc\nd\n", "b\n", "x\ny\n", "a\nx\r\ny\r\nc\nd\n"),
            ("a\nb\r\nc\nd\n", "b", "x\ny", "a\nx\ny\r\nc\nd\n"),
            ("one", "one", "a\r\nb", "a\r\nb"),
            ("\u{feff}a\r\n", "a", "b", "\u{feff}b\r\n"),
            ("a\rb\n", "a\rb", "c", "c\n"),
        ] {
            files.put("a", before);
            let (_, content) = files.run("edit_file", edit(old, new));
            if after == "refused" {
                assert!(content.starts_with("refused: old occurs 2 times"), "{content}");
                assert_eq!(files.text("a"), before);
            } else {
                assert_eq!(files.text("a"), after, "{before:?} {old:?} {content}");
            }
        }
    }

    #[test]
    fn bounds_what_an_edit_makes() {
        let files = Fixture::new(&[("a", "")]);
        let refusal = |bytes: usize| {
            format!("a would have {bytes} bytes, and at most 1000 are written; write less, or several files")
        };
        files.put("a", "x".repeat(600));
        files.refused("edit_file", edit_all("x", "yy"), &refusal(1200));
        files.refused("edit_file", edit_all("x", &"y".repeat(1 << 20)), &refusal(600 << 20));
        files.put("a", "x\r\n".repeat(333) + ".");
        files.refused("edit_file", edit(".", "\n"), &refusal(1001));
        files.ok("edit_file", edit(".", "!"), "edited a: 1 occurrence replaced, at line 334");
        files.put("a", "x".repeat(5000) + ".");
        files.refused("edit_file", edit(".", "!"), &refusal(5001));
    }

    #[test]
    fn edits_by_many_at_once_lose_none() {
        let names: Vec<String> = (0..8).map(|n| format!("<{n}>")).collect();
        let files = Fixture::new(&[("a", &names.join("\n"))]);
        std::thread::scope(|scope| {
            for (n, name) in names.iter().enumerate() {
                let files = &files;
                scope.spawn(move || {
                    let line = n + 1;
                    let expected = format!("edited a: 1 occurrence replaced, at line {line}");
                    files.ok("edit_file", edit(name, &format!("done {n}")), &expected);
                });
            }
        });
        let expected: Vec<String> = (0..8).map(|n| format!("done {n}")).collect();
        assert_eq!(files.text("a"), expected.join("\n"));
    }

    /// Two profiles have a workspace each, with limits of their own, over the one directory of a run.
    #[test]
    fn edits_through_two_workspaces_of_a_run_lose_nothing() {
        const EACH: usize = 40;
        let names: Vec<String> = (0..2 * EACH).map(|n| format!("<{n}>")).collect();
        let files = Fixture::new(&[("a", &names.join(" "))]);
        let site = Site::new(&files.path(""));
        let two = [0, 1].map(|_| Workspace::open(&site, LIMITS).unwrap());
        std::thread::scope(|scope| {
            for (at, workspace) in two.iter().enumerate() {
                let names = &names[at * EACH..(at + 1) * EACH];
                scope.spawn(move || {
                    for name in names {
                        let edited =
                            workspace.run(&call("edit_file", edit(name, "done")), &AtomicBool::new(false));
                        assert_eq!(edited.status, CallStatus::Ok, "{}", edited.content);
                    }
                });
            }
        });
        assert_eq!(files.text("a"), vec!["done"; 2 * EACH].join(" "));
    }
}
