//! What the model is offered, and what gg itself calls.

use crate::{
    ids::MAX_LENGTH,
    library::{Entry, Library, MAX_ID_LENGTH, MIN_ID_LENGTH, Params, Ran},
};
use gg_module_sdk::{Call, CallError, Cx, Feature, Module, Note, Reply, Section, Value, cut, json, page};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The feature that offers `record_program`.
const RECORD: &str = "record";

/// The most of a source that one reading gives, in bytes: about eight thousand tokens. The host would cut a result
/// at 64 KiB, and as JSON it is longer.
const READ_BYTES: usize = 24 * 1024;

/// The most programs that one list has.
const MAX_LISTED: usize = 100;

/// How many it has if nobody says.
const LISTED: usize = 20;

/// How much of a source and of an outcome a list shows, in bytes.
const GLANCE_BYTES: usize = 80;

/// The most that a new holder is told, in bytes: it can ask for the rest.
const OPENING_BYTES: usize = 3 * 1024;

type Moment<'a> = Cx<'a, Params>;
type Outcome = Result<Reply, CallError>;

impl Module for Library {
    const KIND: &'static str = "programs";
    const TITLE: &'static str = "Program library";
    const STATE_FORMAT: &'static str = "gg.programs/1";
    type Params = Params;

    fn params() -> Value {
        let default = Params::default();
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "maxEntries": {
                    "type": "integer", "minimum": 1, "maximum": 1000, "default": default.max_entries,
                    "description": "How many programs are kept. The oldest go first.",
                },
                "maxBytes": {
                    "type": "integer", "minimum": 1024, "maximum": 4_194_304, "default": default.max_bytes,
                    "description": "How much the kept programs and outcomes may take, in bytes. The oldest go \
                                    first.",
                },
                "maxSourceBytes": {
                    "type": "integer", "minimum": 1024, "maximum": 1_048_576,
                    "default": default.max_source_bytes,
                    "description": "The longest program that is kept, in bytes.",
                    // A program that may be larger than all together is a mistake in the configuration.
                    "x-atMost": "maxBytes",
                },
                "maxOutcomeBytes": {
                    "type": "integer", "minimum": 0, "maximum": 16_384, "default": default.max_outcome_bytes,
                    "description": "How much of a program's outcome is kept, in bytes.",
                },
                "idLength": {
                    "type": "integer", "minimum": MIN_ID_LENGTH, "maximum": MAX_ID_LENGTH,
                    "default": default.id_length,
                    "description": "The length of a program's id. Ids get longer once a run has more of them \
                                    than there are of this length, so that none is ever issued twice.",
                },
            },
        })
    }

    fn features() -> Vec<Feature> {
        vec![Feature {
            name: RECORD,
            description: "Offers record_program to the model. gg itself records what ran, with or without it.",
            enabled: false,
        }]
    }

    fn calls() -> Vec<Call<Self>> {
        vec![
            Call::read_only(
                "list_programs",
                "Lists the programs that were run and are kept, the newest first: id, size, and the beginnings of \
                 source and outcome.",
                list_schema,
                Self::on_list,
            ),
            Call::read_only(
                "read_program",
                "Gives a kept program: its source, its outcome, and the agent and turn that ran it. A long source \
                 comes in parts: `next` says at which `offset` the next one begins.",
                read_schema,
                Self::on_read,
            ),
            Call::acting(
                "record_program",
                "Keeps a program that ran, with its outcome, and answers its id.",
                record_schema,
                Self::on_record,
            )
            .only_with(RECORD),
        ]
    }

    fn prompt(&self, _: &Moment<'_>) -> Vec<Section> {
        vec![Section {
            title: "Program library".into(),
            body: "The programs you run are kept with their outcomes, the newest of them (list_programs, \
                   read_program). Take up one that worked instead of writing it again."
                .into(),
        }]
    }

    fn opening(&self, _: &Moment<'_>) -> Vec<Note> {
        if self.is_empty() {
            return Vec::new();
        }
        vec![Note { title: "Program library".into(), body: opening(self) }]
    }
}

fn id_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_LENGTH, "description": "The program's id."})
}

fn list_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LISTED, "default": LISTED},
            "before": {
                "type": "string", "maxLength": MAX_LENGTH,
                "description": "Lists those that ran before the program with this id.",
            },
        },
    })
}

fn read_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["id"],
        "properties": {
            "id": id_schema(),
            "offset": {
                "type": "integer", "minimum": 0, "default": 0,
                "description": "The byte of the source to begin at.",
            },
        },
    })
}

fn record_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["source", "outcome"],
        "properties": {
            "source": {"type": "string", "minLength": 1},
            "outcome": {"type": "string", "description": "What came of it, as its author was told."},
        },
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default = "listed")]
    limit: usize,
    before: Option<String>,
}

fn listed() -> usize {
    LISTED
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    id: String,
    #[serde(default)]
    offset: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    source: String,
    outcome: String,
}

/// A program in a list.
#[derive(Serialize)]
struct Listed<'a> {
    id: &'a str,
    agent: &'a str,
    turn: u32,
    bytes: usize,
    source: String,
    outcome: String,
}

impl Library {
    fn on_list(&self, _: &Moment<'_>, List { limit, before }: List) -> Outcome {
        let limit = limit.clamp(1, MAX_LISTED);
        let skip = match &before {
            // Asked for first, so that an id which is gone or none is said to be so.
            Some(id) => {
                self.get(id)?;
                1 + self.newest().take_while(|entry| entry.id != *id).count()
            }
            None => 0,
        };
        let programs: Vec<_> = self.newest().skip(skip).take(limit).map(in_list).collect();
        let more = self.len() - skip - programs.len();
        Ok(Reply::json(&json!({"programs": programs, "more": more})))
    }

    fn on_read(&self, _: &Moment<'_>, Read { id, offset }: Read) -> Outcome {
        let entry = self.get(&id)?;
        let bytes = entry.source.len();
        if offset > bytes {
            return Err(CallError::refused(format!(
                "The program \"{id}\" is {bytes} bytes long: `offset` may be 0 to {bytes}."
            )));
        }
        let (start, part) = page(&entry.source, offset, READ_BYTES);
        let mut answer = json!({
            "id": entry.id,
            "agent": entry.agent,
            "turn": entry.turn,
            "bytes": bytes,
            "source": part,
            "outcome": entry.outcome,
        });
        if start + part.len() < bytes {
            answer["next"] = json!(start + part.len());
        }
        Ok(Reply::json(&answer))
    }

    fn on_record(&mut self, cx: &Moment<'_>, Record { source, outcome }: Record) -> Outcome {
        let ran = Ran { source, outcome: &outcome, agent: cx.agent, turn: cx.turn, salt: cx.salt };
        let (id, dropped) = self.record(ran, &cx.settings.params)?;
        let notice = format!("{} ran the program \"{id}\"", cx.agent);
        Ok(Reply::json(&json!({"id": id, "dropped": dropped})).notify(notice))
    }
}

fn in_list(entry: &Entry) -> Listed<'_> {
    Listed {
        id: &entry.id,
        agent: &entry.agent,
        turn: entry.turn,
        bytes: entry.source.len(),
        source: glance(&entry.source),
        outcome: glance(&entry.outcome),
    }
}

/// The newest programs, one a line.
fn opening(library: &Library) -> String {
    let count = if library.len() == 1 {
        "1 program is".to_owned()
    } else {
        format!("{} programs are", library.len())
    };
    let mut out = format!("{count} kept, the newest first:\n");
    for entry in library.newest() {
        let line = format!("{}: {} → {}\n", entry.id, glance(&entry.source), glance(&entry.outcome));
        if out.len() + line.len() > OPENING_BYTES {
            out.push_str("[list_programs shows the rest]\n");
            break;
        }
        let _ = write!(out, "{line}");
    }
    out
}

/// The beginning of a text's first line.
fn glance(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim();
    let shown = cut(first, GLANCE_BYTES);
    let more = if shown.len() < text.trim().len() { " …" } else { "" };
    format!("{shown}{more}")
}

#[cfg(test)]
mod tests;
