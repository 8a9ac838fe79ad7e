//! The memories, and the rules of changing them.

use gg_module_sdk::{CallError, cut};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The longest name of a memory, in bytes: names are told in prompts and lists.
pub(crate) const MAX_NAME_BYTES: usize = 120;

/// The most tags of one memory.
pub(crate) const MAX_TAGS: usize = 8;

/// The longest tag, in bytes: a word or two.
pub(crate) const MAX_TAG_BYTES: usize = 40;

/// The longest memory that a configuration may allow, in bytes. A search's first hit is told in full beside
/// others, so the longest has to fit into one answer.
pub(crate) const MOST_MEMORY_BYTES: usize = 16 * 1024;

/// Who holds the same memories. The host reads it; the memories themselves only keep it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each agent has its own.
    #[default]
    Isolated,
    /// All agents of one profile have the same.
    Shared,
    /// An agent has those of the agent that spawned it.
    Inherited,
    /// The same, to read only.
    ReadOnly,
}

/// What a configuration may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Params {
    /// Who holds the same memories.
    pub scope: Scope,
    /// Whether they outlive the run. The host reads this too.
    pub persist: bool,
    /// The most memories.
    pub max_memories: usize,
    /// The longest text of one, in bytes.
    pub max_memory_bytes: usize,
    /// All of them together, in bytes, names and tags included.
    pub max_bytes: usize,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            persist: false,
            max_memories: 200,
            max_memory_bytes: 4 * 1024,
            max_bytes: 256 * 1024,
        }
    }
}

/// One memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Memory {
    /// What is remembered.
    pub text: String,
    /// Words that it can be found by beside its own, in lower case.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    /// The agent that saved it last.
    pub by: String,
    /// When that was, in milliseconds since 1970.
    pub saved_ms: u64,
}

/// The memories by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Memories {
    memories: BTreeMap<String, Memory>,
}

impl Memories {
    /// All memories, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Memory)> {
        self.memories.iter().map(|(name, memory)| (name.as_str(), memory))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.memories.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.memories.is_empty()
    }

    /// All names, texts and tags together, in bytes.
    pub fn bytes(&self) -> usize {
        self.all().map(|(name, memory)| size(name, memory)).sum()
    }

    /// The memory of this name.
    pub fn get(&self, name: &str) -> Option<&Memory> {
        self.memories.get(name)
    }

    /// Saves a memory, and gives the one that had its name before.
    ///
    /// # Errors
    /// If the name or a tag is none, or a cap would be passed.
    pub fn save(&mut self, name: &str, memory: Memory, params: &Params) -> Result<Option<Memory>, CallError> {
        if memory.text.trim().is_empty() {
            return Err(CallError::refused(
                "A memory needs a text. To remove one, use forget_memory with its name.",
            ));
        }
        for tag in &memory.tags {
            check_line("tag", tag, MAX_TAG_BYTES)?;
        }
        if memory.tags.len() > MAX_TAGS {
            return Err(CallError::refused(format!(
                "These are {} tags, and at most {MAX_TAGS} are allowed.",
                memory.tags.len()
            )));
        }
        self.check_room(name, &memory, params)?;
        Ok(self.memories.insert(name.to_owned(), memory))
    }

    /// Takes a memory out, and gives it.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn forget(&mut self, name: &str) -> Result<Memory, CallError> {
        self.memories.remove(name).ok_or_else(|| self.unknown(name))
    }

    /// Whether there is room for it. What is over a lowered cap may stay or shrink.
    fn check_room(&self, name: &str, memory: &Memory, params: &Params) -> Result<(), CallError> {
        let before = self.memories.get(name);
        if before.is_none() {
            check_line("memory's name", name, MAX_NAME_BYTES)?;
            if self.len() >= params.max_memories {
                return Err(CallError::refused(format!(
                    "There are {} memories, and at most {} are allowed. Forget one first (forget_memory), or save \
                     under a name that exists, which replaces it.",
                    self.len(),
                    params.max_memories
                )));
            }
        }
        let len = memory.text.len();
        if len > params.max_memory_bytes && len > before.map_or(0, |before| before.text.len()) {
            return Err(CallError::refused(format!(
                "The text is {len} bytes long, and at most {} are allowed. Say it in fewer words, or split it \
                 into several memories.",
                params.max_memory_bytes
            )));
        }
        let now = self.bytes();
        let then = now - before.map_or(0, |before| size(name, before)) + size(name, memory);
        if then > params.max_bytes && then > now {
            return Err(CallError::refused(format!(
                "The memories would take {then} bytes, and at most {} are allowed; they take {now} now. Shorten \
                 or forget some first.",
                params.max_bytes
            )));
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> CallError {
        /// Enough to find a mistyped name, and little enough to read.
        const NAMED: usize = 30;
        let name = cut(name, MAX_NAME_BYTES);
        if self.is_empty() {
            return CallError::refused(format!("There is no memory \"{name}\". There are none at all."));
        }
        let names: Vec<&str> = self.memories.keys().take(NAMED).map(String::as_str).collect();
        let more = if self.len() > NAMED { " and more (list_memories)" } else { "" };
        CallError::refused(format!("There is no memory \"{name}\". There are: {}{more}.", names.join(", ")))
    }
}

fn size(name: &str, memory: &Memory) -> usize {
    name.len() + memory.text.len() + memory.tags.iter().map(String::len).sum::<usize>()
}

/// A name or tag is one trimmed line, since it stands in lists.
fn check_line(what: &str, line: &str, most: usize) -> Result<(), CallError> {
    if line.trim().is_empty() || line.trim() != line || line.chars().any(char::is_control) {
        return Err(CallError::refused(format!(
            "A {what} is one line of text without spaces at its ends, such as \"how to deploy\".",
        )));
    }
    if line.len() > most {
        return Err(CallError::refused(format!(
            "The {what} is {} bytes long, and at most {most} are allowed.",
            line.len()
        )));
    }
    Ok(())
}
