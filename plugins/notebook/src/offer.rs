//! What the model is offered.

use crate::book::{MAX_NAME_BYTES, Notebook, Params};
use gg_module_sdk::{Call, CallError, Cx, Module, Note, Reply, Section, Value, cut, json, page};
use serde::Deserialize;
use std::fmt::Write;

/// The most of a page that one reading gives, in bytes: about eight thousand tokens. The host would cut a
/// result at 64 KiB.
const READ_BYTES: usize = 24 * 1024;

/// The most that the list of pages takes, in bytes.
const LIST_BYTES: usize = 16 * 1024;

/// The most that a new holder is told, in bytes: it can ask for the rest.
const OPENING_BYTES: usize = 4 * 1024;

/// How much of a page's first line a list shows, in bytes.
const GLANCE_BYTES: usize = 80;

type Moment<'a> = Cx<'a, Params>;
type Outcome = Result<Reply, CallError>;

impl Module for Notebook {
    const KIND: &'static str = "notebook";
    const TITLE: &'static str = "Notebook";
    const STATE_FORMAT: &'static str = "gg.notebook/1";
    type Params = Params;

    fn params() -> Value {
        let default = Params::default();
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "maxPages": {
                    "type": "integer", "minimum": 1, "maximum": 10_000, "default": default.max_pages,
                    "description": "The most pages.",
                },
                "maxPageBytes": {
                    "type": "integer", "minimum": 64, "maximum": 1_048_576, "default": default.max_page_bytes,
                    "description": "The longest page, in bytes.",
                    // A page that may be larger than all pages together is a mistake in the configuration.
                    "x-atMost": "maxBytes",
                },
                "maxBytes": {
                    "type": "integer", "minimum": 64, "maximum": 4_194_304, "default": default.max_bytes,
                    "description": "All pages together, in bytes.",
                },
            },
        })
    }

    fn calls() -> Vec<Call<Self>> {
        vec![
            Call::acting(
                "write_page",
                "Writes a page of your notebook: makes it, or replaces all its text. Use it to keep findings, \
                 decisions and anything long that you will need again.",
                text_schema,
                Self::on_write,
            ),
            Call::acting(
                "append_page",
                "Adds text to the end of a page, on a new line. Makes the page if there is none.",
                text_schema,
                Self::on_append,
            ),
            Call::read_only(
                "read_page",
                "Reads a page. A long one comes in parts: the answer says at which `offset` the next begins.",
                read_schema,
                Self::on_read,
            ),
            Call::read_only(
                "list_pages",
                "Lists the pages of your notebook, with their sizes and first lines.",
                list_schema,
                Self::on_list,
            ),
            Call::acting(
                "delete_page",
                "Deletes a page of your notebook for good.",
                delete_schema,
                Self::on_delete,
            ),
        ]
    }

    fn prompt(&self, _: &Moment<'_>) -> Vec<Section> {
        vec![Section {
            title: "Notebook".into(),
            body: "You keep a notebook of named pages (write_page, append_page, read_page, list_pages, \
                   delete_page). What is in it stays when older messages are summarised away."
                .into(),
        }]
    }

    fn opening(&self, _: &Moment<'_>) -> Vec<Note> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![Note { title: "Notebook".into(), body: list(self, OPENING_BYTES) }]
    }
}

fn name_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES, "description": "The page's name."})
}

fn text_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["page", "text"],
        "properties": {"page": name_schema(), "text": {"type": "string"}},
    })
}

fn read_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["page"],
        "properties": {
            "page": name_schema(),
            "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "The byte to begin at."},
            "limit": {
                "type": "integer", "minimum": 1, "maximum": READ_BYTES, "default": READ_BYTES,
                "description": "The most bytes to read.",
            },
        },
    })
}

fn list_schema() -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": {}})
}

fn delete_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["page"],
        "properties": {"page": name_schema()},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    page: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    page: String,
    #[serde(default)]
    offset: usize,
    #[serde(default = "read_bytes")]
    limit: usize,
}

fn read_bytes() -> usize {
    READ_BYTES
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    page: String,
}

impl Notebook {
    fn on_write(&mut self, cx: &Moment<'_>, Text { page, text }: Text) -> Outcome {
        let bytes = text.len();
        self.write(&page, text, &cx.settings.params)?;
        Ok(Reply::text(format!("Page \"{page}\" is written: {bytes} bytes."))
            .notify(format!("{} wrote the page \"{page}\" ({bytes} bytes)", cx.agent)))
    }

    fn on_append(&mut self, cx: &Moment<'_>, Text { page, text }: Text) -> Outcome {
        let bytes = self.append(&page, &text, &cx.settings.params)?;
        Ok(Reply::text(format!("Page \"{page}\" is now {bytes} bytes long."))
            .notify(format!("{} added to the page \"{page}\" (now {bytes} bytes)", cx.agent)))
    }

    fn on_read(&self, _: &Moment<'_>, read: Read) -> Outcome {
        let text = self.get(&read.page)?;
        if read.offset > text.len() {
            return Err(CallError::refused(format!(
                "Page \"{}\" is {} bytes long: `offset` may be 0 to {}.",
                read.page,
                text.len(),
                text.len()
            )));
        }
        let (start, part) = page(text, read.offset, read.limit.min(READ_BYTES));
        let end = start + part.len();
        if start == 0 && end == text.len() {
            return Ok(Reply::text(if part.is_empty() { "[the page is empty]" } else { part }));
        }
        let next = match text.len() - end {
            0 => "this is its end".to_owned(),
            left => format!("{left} bytes follow at offset {end}"),
        };
        Ok(Reply::text(format!("{part}\n[bytes {start} to {end} of {}; {next}]", text.len())))
    }

    fn on_list(&self, _: &Moment<'_>, _: List) -> Outcome {
        Ok(Reply::text(if self.is_empty() {
            "The notebook is empty.".into()
        } else {
            list(self, LIST_BYTES)
        }))
    }

    fn on_delete(&mut self, cx: &Moment<'_>, Delete { page }: Delete) -> Outcome {
        self.delete(&page)?;
        Ok(Reply::text(format!("Page \"{page}\" is deleted."))
            .notify(format!("{} deleted the page \"{page}\"", cx.agent)))
    }
}

/// The pages, one a line, in at most about `most` bytes.
fn list(book: &Notebook, most: usize) -> String {
    let pages = if book.len() == 1 { "1 page".to_owned() } else { format!("{} pages", book.len()) };
    let mut out = format!("{pages}, {} bytes in all:\n", book.bytes());
    for (at, (name, text)) in book.pages().enumerate() {
        let first = text.lines().next().unwrap_or("");
        let glance = cut(first, GLANCE_BYTES);
        let more = if glance.len() < text.len() { " …" } else { "" };
        let entry = format!("\"{name}\" ({} bytes): {glance}{more}\n", text.len());
        if out.len() + entry.len() > most {
            let _ = writeln!(out, "[{} more pages]", book.len() - at);
            break;
        }
        out.push_str(&entry);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use gg_module_sdk::testing::{Holder, descriptor_faults};

    fn holder(params: Value) -> Holder<Notebook> {
        Holder::open(json!({"params": params})).unwrap()
    }

    fn refusal(answer: Outcome) -> String {
        match answer {
            Err(CallError::Refused(why)) => why,
            other => panic!("not refused: {other:?}"),
        }
    }

    fn read(book: &mut Holder<Notebook>, arguments: Value) -> Value {
        book.call("read_page", arguments).unwrap().value
    }

    #[test]
    fn the_descriptor_is_sound() {
        assert_eq!(descriptor_faults::<Notebook>(), Vec::<String>::new());
    }

    #[test]
    fn pages_are_written_added_to_read_listed_and_deleted() {
        let mut book = holder(json!({}));
        assert_eq!(book.opening(), vec![]);
        assert_eq!(
            book.call("write_page", json!({"page": "plan", "text": "first"})).unwrap(),
            Reply::text("Page \"plan\" is written: 5 bytes.").notify("a1 wrote the page \"plan\" (5 bytes)")
        );
        assert_eq!(
            book.call("append_page", json!({"page": "plan", "text": "second\n"})).unwrap().value,
            json!("Page \"plan\" is now 13 bytes long.")
        );
        book.call("append_page", json!({"page": "plan", "text": "third"})).unwrap();
        book.call("append_page", json!({"page": "a new one", "text": ""})).unwrap();
        assert_eq!(read(&mut book, json!({"page": "plan"})), json!("first\nsecond\nthird"));
        assert_eq!(read(&mut book, json!({"page": "a new one"})), json!("[the page is empty]"));
        let listed = "2 pages, 18 bytes in all:\n\"a new one\" (0 bytes): \n\"plan\" (18 bytes): first …\n";
        assert_eq!(book.call("list_pages", json!({})).unwrap().value, json!(listed));
        assert_eq!(book.opening(), vec![Note { title: "Notebook".into(), body: listed.into() }]);
        assert_eq!(
            book.call("delete_page", json!({"page": "plan"})).unwrap(),
            Reply::text("Page \"plan\" is deleted.").notify("a1 deleted the page \"plan\"")
        );
        assert_eq!(
            refusal(book.call("read_page", json!({"page": "plan"}))),
            "There is no page \"plan\". There are: a new one."
        );
    }

    #[test]
    fn a_page_is_read_in_parts_between_characters() {
        let mut book = holder(json!({}));
        book.call("write_page", json!({"page": "p", "text": "añb"})).unwrap();
        assert_eq!(
            read(&mut book, json!({"page": "p", "limit": 2})),
            json!("a\n[bytes 0 to 1 of 4; 3 bytes follow at offset 1]")
        );
        assert_eq!(
            read(&mut book, json!({"page": "p", "offset": 1})),
            json!("ñb\n[bytes 1 to 4 of 4; this is its end]")
        );
        assert_eq!(
            refusal(book.call("read_page", json!({"page": "p", "offset": 5}))),
            "Page \"p\" is 4 bytes long: `offset` may be 0 to 4."
        );
    }

    #[test]
    fn caps_hold_and_what_is_over_a_lowered_one_stays() {
        let mut book = holder(json!({"maxPages": 2, "maxPageBytes": 64, "maxBytes": 100}));
        let text = |len: usize| "x".repeat(len);
        book.call("write_page", json!({"page": "a", "text": text(64)})).unwrap();
        assert_eq!(
            refusal(book.call("append_page", json!({"page": "a", "text": "y"}))),
            "The page would be 66 bytes long, and at most 64 are allowed. Split it into several pages."
        );
        assert_eq!(
            refusal(book.call("write_page", json!({"page": "b", "text": text(37)}))),
            "The notebook would hold 101 bytes, and at most 100 are allowed; it holds 64 now. Shorten or delete \
             pages first."
        );
        book.call("write_page", json!({"page": "b", "text": text(36)})).unwrap();
        assert!(
            refusal(book.call("write_page", json!({"page": "c", "text": ""})))
                .ends_with("add to an existing page: a, b.")
        );
        book.live.transfer(r#"{"params": {"maxPages": 1, "maxPageBytes": 10, "maxBytes": 10}}"#).unwrap();
        book.check_round_trip();
        assert_eq!(read(&mut book, json!({"page": "a"})), json!(text(64)));
        refusal(book.call("append_page", json!({"page": "a", "text": "y"})));
        book.call("write_page", json!({"page": "a", "text": text(63)})).unwrap();
    }

    #[test]
    fn a_name_is_one_trimmed_line() {
        let mut book = holder(json!({}));
        for name in ["", " ", " a", "a\nb", &"n".repeat(MAX_NAME_BYTES + 1)] {
            refusal(book.call("write_page", json!({"page": name, "text": "x"})));
        }
        assert_eq!(
            refusal(book.call("delete_page", json!({"page": "x"}))),
            "There is no page \"x\". The notebook is empty."
        );
    }

    #[test]
    fn a_reader_may_look_and_not_touch() {
        let mut book = holder(json!({}));
        book.call("write_page", json!({"page": "p", "text": "x"})).unwrap();
        book.context.access = "read-only".into();
        for name in ["write_page", "append_page"] {
            refusal(book.call(name, json!({"page": "p", "text": "y"})));
        }
        refusal(book.call("delete_page", json!({"page": "p"})));
        assert_eq!(read(&mut book, json!({"page": "p"})), json!("x"));
    }

    #[test]
    fn a_long_list_is_bounded() {
        let mut book = Notebook::default();
        let params = Params { max_pages: 2000, ..Params::default() };
        for n in 0..1000 {
            book.write(&format!("page {n}"), "ñ".repeat(100), &params).unwrap();
        }
        let list = list(&book, OPENING_BYTES);
        assert!(list.len() <= OPENING_BYTES + 40, "{}", list.len());
        assert!(list.ends_with(" more pages]\n"), "{list}");
    }
}
