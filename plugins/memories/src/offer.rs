//! What the model is offered.

use crate::{
    search, show,
    store::{MAX_NAME_BYTES, MAX_TAG_BYTES, MAX_TAGS, MOST_MEMORY_BYTES, Memories, Memory, Params, Scope},
};
use gg_module_sdk::{Access, Call, CallError, Cx, Module, Note, Reply, Section, Settings, Value, json};
use serde::Deserialize;

/// The most hits that one search gives.
const MAX_HITS: usize = 50;

/// How many it gives if nobody says: the best ones, with their texts.
const HITS: usize = 5;

/// The longest query, in bytes: what is longer was not meant as words to look for.
const MAX_QUERY_BYTES: usize = 1000;

/// The one rule about scopes that a schema and this module both have to know.
const PERSIST_IS_SHARED: &str = "Only memories of the scope \"shared\" can outlive their run: set \"scope\" to \"shared\", or leave out \
     \"persist\".";

type Moment<'a> = Cx<'a, Params>;
type Outcome = Result<Reply, CallError>;

impl Module for Memories {
    const KIND: &'static str = "memories";
    const TITLE: &'static str = "Memories";
    const STATE_FORMAT: &'static str = "gg.memories/1";
    type Params = Params;

    fn params() -> Value {
        let default = Params::default();
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "scope": {
                    "type": "string",
                    "enum": ["isolated", "shared", "inherited", "read-only"],
                    "default": "isolated",
                    "description": "Who holds the same memories. \"isolated\": each agent has its own. \
                                    \"shared\": all agents of this profile have the same, to the run's end. \
                                    \"inherited\": an agent has those of the agent that spawned it. \
                                    \"read-only\": the same, and it may only read them.",
                },
                "persist": {
                    "type": "boolean", "default": false,
                    "description": "With the scope \"shared\": the memories are kept for the workspace, and every \
                                    run there has them.",
                },
                "maxMemories": {
                    "type": "integer", "minimum": 1, "maximum": 10_000, "default": default.max_memories,
                    "description": "The most memories.",
                },
                "maxMemoryBytes": {
                    "type": "integer", "minimum": 64, "maximum": MOST_MEMORY_BYTES,
                    "default": default.max_memory_bytes,
                    "description": "The longest text of one memory, in bytes.",
                    // A memory that may be larger than all together is a mistake in the configuration.
                    "x-atMost": "maxBytes",
                },
                "maxBytes": {
                    "type": "integer", "minimum": 64, "maximum": 4_194_304, "default": default.max_bytes,
                    "description": "All memories together, in bytes, names and tags included.",
                },
            },
            "if": {"not": {"required": ["scope"], "properties": {"scope": {"const": "shared"}}}},
            "then": {"properties": {"persist": {"const": false, "description": PERSIST_IS_SHARED}}},
        })
    }

    fn calls() -> Vec<Call<Self>> {
        vec![
            Call::acting(
                "save_memory",
                "Saves a short text under a name, to be found again later: a fact, a decision, how something is \
                 done here. A name that exists already is replaced.",
                save_schema,
                Self::on_save,
            ),
            Call::read_only(
                "search_memories",
                "Finds memories by words in their names, tags and texts, the best first, and gives their texts. \
                 A memory's name as the query gives that one first.",
                search_schema,
                Self::on_search,
            ),
            Call::read_only(
                "list_memories",
                "Lists the memories by name, with the beginning of each.",
                list_schema,
                Self::on_list,
            ),
            Call::acting(
                "forget_memory",
                "Removes a memory for good: one that is wrong, or not needed any more.",
                forget_schema,
                Self::on_forget,
            ),
        ]
    }

    fn check(settings: &Settings<Params>) -> Result<(), String> {
        let Params { scope, persist, .. } = settings.params;
        if persist && scope != Scope::Shared {
            return Err(PERSIST_IS_SHARED.into());
        }
        Ok(())
    }

    fn prompt(&self, cx: &Moment<'_>) -> Vec<Section> {
        let may = match cx.access {
            Access::ReadWrite => {
                "You keep memories: short texts by name (save_memory, search_memories, list_memories, \
                 forget_memory). Look there before you work something out again, and save what will be needed \
                 later."
            }
            Access::ReadOnly => {
                "You can read memories that others keep: short texts by name (search_memories, list_memories). \
                 Look there before you work something out."
            }
        };
        let body = if self.is_empty() {
            format!("{may} There are none yet.")
        } else {
            format!("{may} There are: {}.", show::index(self))
        };
        vec![Section { title: "Memories".into(), body }]
    }

    fn opening(&self, cx: &Moment<'_>) -> Vec<Note> {
        if self.is_empty() {
            return Vec::new();
        }
        let body = show::list(self, None, None, show::OPENING_BYTES, cx.now_ms);
        vec![Note { title: "Memories".into(), body }]
    }
}

fn name_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_NAME_BYTES, "description": "The memory's name."})
}

fn tag_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": MAX_TAG_BYTES})
}

fn save_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "text"],
        "properties": {
            "name": name_schema(),
            "text": {"type": "string", "minLength": 1, "description": "What is to be remembered."},
            "tags": {
                "type": "array", "items": tag_schema(), "maxItems": MAX_TAGS,
                "description": "Words to find it by that are not in its text.",
            },
        },
    })
}

fn search_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["query"],
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": MAX_QUERY_BYTES},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_HITS, "default": HITS},
        },
    })
}

fn list_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "tag": tag_schema(),
            "after": {"type": "string", "description": "Lists those after this name."},
        },
    })
}

fn forget_schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name"],
        "properties": {"name": name_schema()},
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Save {
    name: String,
    text: String,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: String,
    #[serde(default = "hits")]
    limit: usize,
}

fn hits() -> usize {
    HITS
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    tag: Option<String>,
    after: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Forget {
    name: String,
}

impl Memories {
    fn on_save(&mut self, cx: &Moment<'_>, Save { name, text, tags }: Save) -> Outcome {
        let glance = show::glance(&text);
        let bytes = text.len();
        let tags = tags.iter().map(|tag| tag.to_lowercase()).collect();
        let memory = Memory { text, tags, by: cx.agent.into(), saved_ms: cx.now_ms };
        let before = self.save(&name, memory, &cx.settings.params)?;
        let (said, told) = match before {
            None => (format!("The memory \"{name}\" is saved: {bytes} bytes."), "saved"),
            Some(before) => {
                let was = show::glance(&before.text);
                let said = format!(
                    "The memory \"{name}\" is replaced: {bytes} bytes now. Before, {} had saved: {was}",
                    before.by
                );
                (said, "replaced")
            }
        };
        Ok(Reply::text(said).notify(format!("{} {told} the memory \"{name}\": {glance}", cx.agent)))
    }

    fn on_search(&self, cx: &Moment<'_>, Search { query, limit }: Search) -> Outcome {
        let found = search::search(self, &query);
        Ok(Reply::text(match (found.is_empty(), self.is_empty()) {
            (false, _) => show::hits(&found, limit.clamp(1, MAX_HITS), cx.now_ms),
            (true, false) => format!(
                "No memory has any of these words. Try others, or list_memories: there are {}.",
                self.len()
            ),
            (true, true) => "There are no memories yet.".into(),
        }))
    }

    fn on_list(&self, cx: &Moment<'_>, List { tag, after }: List) -> Outcome {
        if self.is_empty() {
            return Ok(Reply::text("There are no memories yet."));
        }
        let tag = tag.map(|tag| tag.to_lowercase());
        Ok(Reply::text(show::list(self, tag.as_deref(), after.as_deref(), show::LIST_BYTES, cx.now_ms)))
    }

    fn on_forget(&mut self, cx: &Moment<'_>, Forget { name }: Forget) -> Outcome {
        self.forget(&name)?;
        Ok(Reply::text(format!("The memory \"{name}\" is forgotten."))
            .notify(format!("{} removed the memory \"{name}\"", cx.agent)))
    }
}

#[cfg(test)]
mod tests;
