//! What the model is offered, and what the host asks.

use crate::{
    archive::{MAX_TITLE_BYTES, PAGE_BYTES},
    window::Window,
};
use gg_module_sdk::{
    Call, CallError, Changes, Cx, Entry, Error, Feature, History, Module, NoParams, Reply, Section, Segment,
    Summary, Value, json,
};
use serde::Deserialize;

type Moment<'a> = Cx<'a, NoParams>;
type Outcome = Result<Reply, CallError>;

/// The feature that offers both archive calls.
const ARCHIVE: &str = "archive";

impl Module for Window {
    const KIND: &'static str = "history";
    const TITLE: &'static str = "History";
    const STATE_FORMAT: &'static str = "gg.history/1";
    type Params = NoParams;

    fn features() -> Vec<Feature> {
        vec![Feature {
            name: ARCHIVE,
            description: "Offers archive_thread and read_archive: the model may take finished turns out of its \
                          window and read them back.",
            enabled: true,
        }]
    }

    fn calls() -> Vec<Call<Self>> {
        vec![
            Call::deferred(
                "archive_thread",
                "Takes finished turns out of your conversation to make room, and leaves a one-line note in \
                 their place. Turns are counted from 1, one for each of your replies. Use it when a thread of \
                 work is over and its details are no longer needed. It happens at the end of this turn; \
                 read_archive gives the turns back.",
                archive_schema,
                Self::on_declare,
                Self::on_apply,
            )
            .only_with(ARCHIVE),
            Call::read_only(
                "read_archive",
                "Reads turns that archive_thread took out. A long archive comes in parts: the answer says at \
                 which `offset` the next begins.",
                read_schema,
                Self::on_read,
            )
            .only_with(ARCHIVE),
        ]
    }

    fn prompt(&self, cx: &Moment<'_>) -> Vec<Section> {
        if self.archives.is_empty() || !cx.settings.has(ARCHIVE) {
            return Vec::new();
        }
        vec![Section {
            title: "Archives".into(),
            body: format!("Earlier turns that read_archive gives back:\n{}", self.latest_archives("\n")),
        }]
    }
}

impl History for Window {
    fn append(&mut self, cx: &Moment<'_>, entries: Vec<Entry>) -> Result<(), Error> {
        Window::append(self, cx.turn, &entries)
    }

    fn entries(&self, _: &Moment<'_>, since: u64) -> Changes {
        self.changes(since)
    }

    fn fold(&self, _: &Moment<'_>, budget: u64, keep_turns: u32) -> Vec<Segment> {
        Window::fold(self, budget, keep_turns)
    }

    fn folded(&mut self, _: &Moment<'_>, summaries: Vec<Summary>) -> Result<(), Error> {
        Window::folded(self, &summaries)
    }
}

fn archive_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["from", "to", "title"],
        "properties": {
            "from": {"type": "integer", "minimum": 0, "description": "The first turn."},
            "to": {"type": "integer", "minimum": 0, "description": "The last turn; it must be over."},
            "title": {
                "type": "string", "minLength": 1, "maxLength": MAX_TITLE_BYTES,
                "description": "What the turns were about, on one line.",
            },
        },
    })
}

fn read_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["archive"],
        "properties": {
            "archive": {"type": "integer", "minimum": 1, "description": "The archive's number."},
            "offset": {
                "type": "integer", "minimum": 0, "default": 0,
                "description": format!("The byte to begin at. At most {PAGE_BYTES} bytes are read."),
            },
        },
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArchiveThread {
    from: u32,
    to: u32,
    title: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArchive {
    archive: u32,
    #[serde(default)]
    offset: usize,
}

impl Window {
    fn on_declare(&self, cx: &Moment<'_>, asked: ArchiveThread) -> Outcome {
        let ArchiveThread { from, to, title } = asked;
        let plan = self.plan_archive(cx.turn, (from, to), &title)?;
        Ok(Reply::text(format!(
            "Noted: turns {from} to {to} ({} messages, about {} tokens) are archived at the end of this turn.",
            plan.messages, plan.tokens
        )))
    }

    fn on_apply(&mut self, cx: &Moment<'_>, asked: ArchiveThread) -> Outcome {
        let ArchiveThread { from, to, title } = asked;
        self.archive(cx.turn, (from, to), &title, cx.messages).map(Reply::text)
    }

    fn on_read(&self, cx: &Moment<'_>, asked: ReadArchive) -> Outcome {
        let archive = self.archive_numbered(asked.archive)?;
        archive.read(asked.offset, cx.messages).map(Reply::text)
    }
}

#[cfg(test)]
mod tests;
