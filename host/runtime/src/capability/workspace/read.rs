//! `read_file`: a text file's lines, numbered.

use super::{MAX_ANSWER_BYTES, Problem, Root, arguments::whole, endings::Endings, file, path::RelPath};
use gg_core::{CallSpec, Effect, text};
use serde::Deserialize;
use serde_json::json;
use std::{fmt::Write, sync::atomic::AtomicBool};

pub(super) const NAME: &str = "read_file";

pub(super) fn spec() -> CallSpec {
    CallSpec {
        name: NAME.to_owned(),
        description: "Read a text file of the workspace. Each line comes as its number, a tab and its text; \
            number and tab are not part of the file. A long file comes in pages: the last line then says \
            how many lines there are and where to go on."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The file, relative to the workspace root." },
                "start_line": { "type": "integer", "minimum": 1, "description": "The first line to read; 1 \
                    if left out." },
                "end_line": { "type": "integer", "minimum": 1, "description": "The last line to read; the \
                    file's last if left out." }
            },
            "required": ["path"],
            "additionalProperties": false
        }),
        effect: Effect::ReadOnly,
        feature: None,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    path: String,
    #[serde(default, deserialize_with = "whole")]
    start_line: Option<usize>,
    #[serde(default, deserialize_with = "whole")]
    end_line: Option<usize>,
}

pub(super) fn run(root: &Root, arguments: &ReadFile, cancel: &AtomicBool) -> Result<String, Problem> {
    let path = RelPath::parse(&arguments.path, &root.names)?;
    let content = file::read_text(root, &path, cancel)?.text;
    let total = content.split_inclusive('\n').count();
    let start = arguments.start_line.unwrap_or(1);
    let asked_end = arguments.end_line.unwrap_or(usize::MAX);
    if start == 0 || asked_end == 0 {
        return Err(Problem::Refused("lines are numbered from 1".to_owned()));
    }
    if asked_end < start {
        return Err(Problem::Refused(format!(
            "end_line {asked_end} is before start_line {start}; swap them"
        )));
    }
    if total == 0 {
        return Ok("[the file is empty]".to_owned());
    }
    if start > total {
        let lines = super::count(total, "line", "lines");
        return Err(Problem::Refused(format!(
            "{} has {lines}; start_line {start} is past its end",
            path.shown()
        )));
    }
    let room = usize::try_from(root.limits.max_read_bytes).unwrap_or(usize::MAX);
    Ok(page(&content, start, asked_end.min(total), total, room))
}

/// Lines `start..=end` of `content`, as far as they fit in `most` bytes and one answer, and what there is to
/// know besides.
fn page(content: &str, start: usize, end: usize, total: usize, most: usize) -> String {
    let mut out = String::new();
    let mut last = start;
    let mut left = most;
    let mut notes = Vec::new();
    for (index, raw) in content.split_inclusive('\n').enumerate().take(end).skip(start - 1) {
        let number = index + 1;
        let line = raw.strip_suffix("\r\n").or_else(|| raw.strip_suffix('\n')).unwrap_or(raw);
        let head = format!("{number}\t");
        let used = out.len() + head.len() + 1;
        if number > start && (line.len() > left || left == 0 || used + line.len() > MAX_ANSWER_BYTES) {
            break;
        }
        let room = MAX_ANSWER_BYTES.saturating_sub(used).min(left);
        let shown = text::cut(line, room);
        if shown.len() < line.len() {
            notes.push(format!("[line {number} is cut: {} of its {} bytes shown]", shown.len(), line.len()));
        }
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{head}{shown}");
        last = number;
        left = left.saturating_sub(raw.len());
    }
    if last < end {
        notes.push(format!("[lines {start}-{last} of {total}; go on with start_line {}]", last + 1));
    } else if start > 1 || last < total {
        notes.push(format!("[lines {start}-{last} of {total}]"));
    }
    match Endings::of(content) {
        Endings::None | Endings::Lf => {}
        Endings::Crlf => notes.push("[lines end with CRLF]".to_owned()),
        Endings::Mixed { .. } => notes.push("[some lines end with CRLF, some with LF]".to_owned()),
    }
    if last == total && !content.ends_with('\n') {
        notes.push("[no line break at the end of the file]".to_owned());
    }
    out.push_str(&notes.join("\n"));
    out.truncate(out.trim_end_matches('\n').len());
    out
}

#[cfg(test)]
mod tests {
    use super::{super::fixture::Fixture, *};
    use gg_core::CallStatus;

    #[test]
    fn numbers_the_lines() {
        let files = Fixture::new(&[("src/a.rs", "one\n\n\tthree\n"), ("empty", ""), ("blank", "\n")]);
        files.ok("read_file", json!({ "path": "src/a.rs" }), "1\tone\n2\t\n3\t\tthree");
        files.ok("read_file", json!({ "path": files.path("src/a.rs") }), "1\tone\n2\t\n3\t\tthree");
        files.ok("read_file", json!({ "path": "empty" }), "[the file is empty]");
        files.ok("read_file", json!({ "path": "blank" }), "1\t");
    }

    #[test]
    fn gives_ranges() {
        let files = Fixture::new(&[("a", "one\ntwo\nthree")]);
        let read = |start, end| json!({ "path": "a", "start_line": start, "end_line": end });
        files.ok("read_file", read(2, 2), "2\ttwo\n[lines 2-2 of 3]");
        files.ok("read_file", read(1, 2), "1\tone\n2\ttwo\n[lines 1-2 of 3]");
        let tail = "2\ttwo\n3\tthree\n[lines 2-3 of 3]\n[no line break at the end of the file]";
        files.ok("read_file", read(2, 99), tail);
        files.ok("read_file", json!({ "path": "a", "start_line": 2.0, "end_line": null }), tail);
        files.refused("read_file", read(4, 9), "a has 3 lines; start_line 4 is past its end");
        files.refused("read_file", read(2, 1), "end_line 1 is before start_line 2; swap them");
        files.refused("read_file", read(0, 1), "lines are numbered from 1");
    }

    #[test]
    fn tells_of_other_line_endings() {
        let files = Fixture::new(&[("crlf", "a\r\nb\r\n"), ("mixed", "a\r\nb\nc\r"), ("bom", "\u{feff}a\n")]);
        files.ok("read_file", json!({ "path": "crlf" }), "1\ta\n2\tb\n[lines end with CRLF]");
        files.ok(
            "read_file",
            json!({ "path": "mixed" }),
            "1\ta\n2\tb\n3\tc\r\n[some lines end with CRLF, some with LF]\n[no line break at the end of the \
             file]",
        );
        files.ok("read_file", json!({ "path": "bom" }), "1\ta");
    }

    #[test]
    fn pages_fit_and_join_up() {
        let files = Fixture::new(&[]);
        let lines: Vec<String> = (1..=400).map(|n| format!("line {n} ñ")).collect();
        files.put("long", lines.join("\n") + "\n");
        let mut seen = Vec::new();
        let mut start = 1;
        loop {
            let (status, page) = files.run("read_file", json!({ "path": "long", "start_line": start }));
            assert_eq!(status, CallStatus::Ok);
            assert!(page.len() <= 2500, "{}", page.len());
            let (body, note) = page.rsplit_once('\n').unwrap();
            seen.extend(body.lines().map(|l| l.split_once('\t').unwrap().1.to_owned()));
            let Some((_, next)) = note.split_once("of 400; go on with start_line ") else {
                assert_eq!(note, format!("[lines {start}-400 of 400]"));
                break;
            };
            start = next.trim_end_matches(']').parse().unwrap();
        }
        assert_eq!(seen, lines);
    }

    #[test]
    fn cuts_a_line_that_no_page_holds() {
        let files = Fixture::new(&[]);
        files.put("wide", format!("one\n{}\nnext\n", "ñ".repeat(1000)));
        let read = |line| json!({ "path": "wide", "start_line": line });
        files.ok("read_file", read(1), "1\tone\n[lines 1-1 of 3; go on with start_line 2]");
        let expected = format!(
            "2\t{}\n[line 2 is cut: 1500 of its 2000 bytes shown]\n[lines 2-2 of 3; go on with start_line 3]",
            "ñ".repeat(750)
        );
        files.ok("read_file", read(2), &expected);
    }

    #[test]
    fn no_page_is_larger_than_an_answer() {
        let short = "\n".repeat(100_000);
        let page_of_short = page(&short, 1, 100_000, 100_000, usize::MAX);
        let long = "x".repeat(100_000);
        let page_of_long = page(&long, 1, 1, 1, usize::MAX);
        for page in [page_of_short, page_of_long] {
            let whole = MAX_ANSWER_BYTES - 10..=gg_core::call::MAX_RESULT_BYTES;
            assert!(whole.contains(&page.len()), "{}", page.len());
        }
    }
}
