//! What one agent records at once: all of it or nothing.

use crate::{
    cache::Cache,
    error::StoreError,
    records::{AgentRecord, AgentStatus, InboxItem, ModuleRecord},
};
use gg_core::{
    AgentId, Call, CallId, CallResult, Effect, Event, Message, MessageId, ModuleId, ProfileId, Turn,
    turn::Declaration,
};
use serde::Serialize;
use std::{collections::HashMap, sync::Arc};

/// The most bytes of one step, all bodies and states together. A module's state is capped far below, and a
/// turn's results by [`gg_core::call::MAX_RESULT_BYTES`] each; SQLite itself ends at a gigabyte a value.
pub const MAX_STEP_BYTES: usize = 128 << 20;

/// The deepest nesting of a recorded value. The JSON reader refuses more than 127 levels, and a value that
/// cannot be read back must not be acknowledged.
pub const MAX_NESTING: usize = 120;

/// One step of one agent: what it adds to the record, in this order, atomically.
///
/// Build it with its methods and hand it to [`crate::RunStore::commit`].
#[derive(Clone, Debug, Default)]
pub struct Step {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Message(Arc<Message>),
    Event(Option<AgentId>, Event),
    Agent(AgentRecord),
    Module(ModuleRecord),
    Hold { agent: AgentId, module: ModuleId },
    LetGo { agent: AgentId, module: ModuleId },
    InboxPush(AgentId, InboxItem),
    InboxDrain { agent: AgentId, up_to: u64 },
    Intent { at: CallPlace, call: Call, effect: Effect },
    Result { at: CallPlace, result: CallResult },
    Declarations { agent: AgentId, turn: Turn, declarations: Vec<Declaration> },
}

/// Which call of which turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallPlace {
    pub(crate) agent: AgentId,
    pub(crate) turn: Turn,
    pub(crate) index: u32,
}

impl Step {
    /// A step that records nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it records nothing.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds what another step records, after what this one does.
    pub fn append(&mut self, mut other: Self) -> &mut Self {
        self.parts.append(&mut other.parts);
        self
    }

    /// Records a message. Recording the same one again changes nothing; another one under its id is refused.
    pub fn message(&mut self, message: Arc<Message>) -> &mut Self {
        self.add(Part::Message(message))
    }

    /// Records an event in `agent`'s stream, or among the run's own. The message of an [`Event::Message`] is
    /// recorded with it.
    pub fn event(&mut self, agent: Option<AgentId>, event: Event) -> &mut Self {
        self.add(Part::Event(agent, event))
    }

    /// Records how an agent stands, in place of what was recorded of it before.
    pub fn agent(&mut self, agent: AgentRecord) -> &mut Self {
        self.add(Part::Agent(agent))
    }

    /// Records a module's state, in place of what was recorded of it before. A new one needs a holder by the end
    /// of the step, unless it is a profile's.
    pub fn module(&mut self, module: ModuleRecord) -> &mut Self {
        self.add(Part::Module(module))
    }

    /// Records that an agent holds a module, which is recorded. It may not hold it, or another of the same kind,
    /// already; a module may have any number of holders.
    pub fn hold(&mut self, agent: AgentId, module: ModuleId) -> &mut Self {
        self.add(Part::Hold { agent, module })
    }

    /// Records that an agent no longer holds a module, which it does. One that nobody holds at the end of the step
    /// is deleted, unless it is a profile's; so a hold can move from one agent to another within a step, in
    /// whichever order the two are named.
    pub fn let_go(&mut self, agent: AgentId, module: ModuleId) -> &mut Self {
        self.add(Part::LetGo { agent, module })
    }

    /// Puts an item in an agent's inbox. Its number is new.
    pub fn inbox_push(&mut self, agent: AgentId, item: InboxItem) -> &mut Self {
        self.add(Part::InboxPush(agent, item))
    }

    /// Takes everything out of an agent's inbox up to and including the item with the number `up_to`.
    pub fn inbox_drain(&mut self, agent: AgentId, up_to: u64) -> &mut Self {
        self.add(Part::InboxDrain { agent, up_to })
    }

    /// Records that the call at `index` (from 0) of a turn is about to run. That place must be free.
    pub fn call_intent(
        &mut self,
        agent: AgentId,
        turn: Turn,
        index: u32,
        call: Call,
        effect: Effect,
    ) -> &mut Self {
        self.add(Part::Intent { at: CallPlace { agent, turn, index }, call, effect })
    }

    /// Records the result of the call at `index` (from 0) of a turn: the first, and of the call whose intent
    /// was recorded there, if one was.
    pub fn call_result(&mut self, agent: AgentId, turn: Turn, index: u32, result: CallResult) -> &mut Self {
        self.add(Part::Result { at: CallPlace { agent, turn, index }, result })
    }

    /// Records all of a turn's declarations, in place of what was recorded of them before.
    pub fn declarations(&mut self, agent: AgentId, turn: Turn, declarations: Vec<Declaration>) -> &mut Self {
        self.add(Part::Declarations { agent, turn, declarations })
    }

    fn add(&mut self, part: Part) -> &mut Self {
        self.parts.push(part);
        self
    }

    /// The step as rows. This is done by whoever commits it, so that the one thread that writes only writes.
    /// Messages that `recorded` holds are in the database already and are not written out again.
    pub(crate) fn prepare(self, recorded: &Cache) -> Result<Prepared, StoreError> {
        let mut prepared = Prepared::default();
        for part in self.parts {
            prepared.add(part, recorded)?;
        }
        Ok(prepared)
    }
}

/// A step as rows.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) rows: Vec<Row>,
    pub(crate) bytes: usize,
    /// Those that have a row.
    messages: HashMap<MessageId, Arc<Message>>,
}

/// One change of the database. Bodies are JSON.
#[derive(Debug)]
pub(crate) enum Row {
    Message { message: Arc<Message>, body: String },
    Event { agent: Option<AgentId>, event: Event, message: Option<MessageId>, body: String },
    Agent(AgentRow),
    Module { module: ModuleRecord, digest: Option<String> },
    Hold { agent: AgentId, module: ModuleId },
    LetGo { agent: AgentId, module: ModuleId },
    InboxPush { agent: AgentId, item: InboxItem },
    InboxDrain { agent: AgentId, up_to: u64 },
    Intent { at: CallPlace, call: CallId, effect: String, body: String },
    Result { at: CallPlace, call: CallId, body: String },
    Declarations { agent: AgentId, turn: Turn, body: String },
}

#[derive(Debug)]
pub(crate) struct AgentRow {
    pub(crate) id: AgentId,
    pub(crate) lineage: AgentId,
    pub(crate) profile: ProfileId,
    pub(crate) parent: Option<AgentId>,
    pub(crate) depth: u32,
    pub(crate) ending: Option<String>,
    pub(crate) successor: Option<AgentId>,
    pub(crate) progress: String,
}

impl Prepared {
    fn add(&mut self, part: Part, recorded: &Cache) -> Result<(), StoreError> {
        let row = match part {
            Part::Message(message) => return self.add_message(message, recorded),
            Part::Event(agent, event) => return self.add_event(agent, event, recorded),
            Part::Agent(agent) => {
                let (ending, successor) = match &agent.status {
                    AgentStatus::Live => (None, None),
                    AgentStatus::Ended(ending) => (Some(self.json("an agent's ending", ending)?), None),
                    AgentStatus::Became(successor) => (None, Some(successor.clone())),
                };
                let progress = self.json("an agent's progress", &agent.progress)?;
                let AgentRecord { id, lineage, profile, parent, depth, .. } = agent;
                Row::Agent(AgentRow { id, lineage, profile, parent, depth, ending, successor, progress })
            }
            Part::Module(module) => {
                self.count(module.state.as_deref().map_or(0, <[u8]>::len))?;
                Row::Module { digest: module.digest(), module }
            }
            Part::Hold { agent, module } => Row::Hold { agent, module },
            Part::LetGo { agent, module } => Row::LetGo { agent, module },
            Part::InboxPush(agent, item) => {
                self.count(item.text.len())?;
                Row::InboxPush { agent, item }
            }
            Part::InboxDrain { agent, up_to } => Row::InboxDrain { agent, up_to },
            Part::Intent { at, call, effect } => Row::Intent {
                at,
                effect: self.json("an effect", &effect)?,
                body: self.json("a call's arguments", &call)?,
                call: call.id,
            },
            Part::Result { at, result } => {
                Row::Result { at, body: self.json("a call's result", &result)?, call: result.call }
            }
            Part::Declarations { agent, turn, declarations } => {
                Row::Declarations { agent, turn, body: self.json("a declaration", &declarations)? }
            }
        };
        self.rows.push(row);
        Ok(())
    }

    fn add_message(&mut self, message: Arc<Message>, recorded: &Cache) -> Result<(), StoreError> {
        let is_it = |other: &Arc<Message>| Arc::ptr_eq(other, &message);
        let in_this_step = self.messages.get(&message.id).is_some_and(is_it);
        if !in_this_step && !recorded.get(message.id).as_ref().is_some_and(is_it) {
            let body = self.json("a message", &*message)?;
            self.messages.insert(message.id, message.clone());
            self.rows.push(Row::Message { message, body });
        }
        Ok(())
    }

    fn add_event(
        &mut self,
        agent: Option<AgentId>,
        event: Event,
        recorded: &Cache,
    ) -> Result<(), StoreError> {
        let (message, body) = if let Event::Message { turn, message } = &event {
            self.add_message(Arc::clone(message), recorded)?;
            (Some(message.id), self.json("an event", turn)?)
        } else {
            (None, self.json("an event", &event)?)
        };
        self.rows.push(Row::Event { agent, event, message, body });
        Ok(())
    }

    fn json(&mut self, what: &str, value: &impl Serialize) -> Result<String, StoreError> {
        let body = serde_json::to_string(value)
            .map_err(|error| StoreError::Conflict(format!("{what} cannot be written as JSON: {error}")))?;
        if nesting(&body) > MAX_NESTING {
            return Err(StoreError::TooDeep { what: what.to_owned(), max: MAX_NESTING });
        }
        self.count(body.len())?;
        Ok(body)
    }

    fn count(&mut self, bytes: usize) -> Result<(), StoreError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_STEP_BYTES {
            return Err(StoreError::TooLarge { bytes: self.bytes, max: MAX_STEP_BYTES });
        }
        Ok(())
    }
}

/// How deep objects and arrays are nested in a JSON text.
fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Moves past the closing quote of a string whose opening quote was just read.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_nesting_outside_strings_only() {
        assert_eq!(nesting("1"), 0);
        assert_eq!(nesting(r#"{"a":[1,{"b":2}],"c":[[]]}"#), 3);
        assert_eq!(nesting(r#"["[[[\"[[",{}]"#), 2);
        assert_eq!(nesting(r#"["\\",[]]"#), 2);
    }
}
