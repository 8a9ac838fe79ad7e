//! Running a module in an ordinary unit test, without wasm.

use crate::{
    CallError, Changes, Context, Entry, Error, History, Live, Messages, Module, Note, Reply, Role, Section,
    Segment, Summary, Value,
};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

/// What a host lends, in memory.
#[derive(Debug, Default)]
pub struct Texts {
    texts: RefCell<BTreeMap<u64, String>>,
    /// The turn that notes are made in.
    pub turn: Cell<u32>,
    /// If set, no note can be made.
    pub broken: Cell<bool>,
}

/// Where the ids of notes start, far from those a test would pick.
const FIRST_NOTE: u64 = 1_000_000;

impl Texts {
    /// Sets the text of a message.
    pub fn put(&self, id: u64, text: impl Into<String>) {
        self.texts.borrow_mut().insert(id, text.into());
    }

    /// The text of a message, or nothing.
    pub fn get(&self, id: u64) -> String {
        self.texts.borrow().get(&id).cloned().unwrap_or_default()
    }
}

impl Messages for Texts {
    fn text(&self, id: u64, max_bytes: u32) -> Result<String, String> {
        let texts = self.texts.borrow();
        let text = texts.get(&id).ok_or_else(|| format!("message {id} was not lent"))?;
        Ok(crate::cut(text, max_bytes as usize).to_owned())
    }

    fn note(&self, text: &str) -> Result<Entry, String> {
        if self.broken.get() {
            return Err("no notes now".into());
        }
        let mut texts = self.texts.borrow_mut();
        let id = FIRST_NOTE + texts.range(FIRST_NOTE..).count() as u64;
        texts.insert(id, text.to_owned());
        let tokens = u32::try_from(text.len() / 3).unwrap_or(u32::MAX);
        Ok(Entry { id, turn: self.turn.get(), tokens, calls: 0, pinned: false, role: Role::User })
    }
}

/// A module with a context to call it in.
///
/// Each change is followed by a check that the state survives being written and read, as it must.
pub struct Holder<M: Module> {
    /// The module.
    pub live: Live<M>,
    /// The moment. A test sets what it needs.
    pub context: Context,
    /// What is lent.
    pub messages: Texts,
}

impl<M: Module> Holder<M> {
    /// A fresh module under these settings.
    ///
    /// # Errors
    /// If the module refuses them.
    pub fn open(settings: Value) -> Result<Self, Error> {
        Ok(Self::holding(Live::open(&settings.to_string())?))
    }

    /// A module restored from bytes.
    ///
    /// # Errors
    /// If they are not a state of its format.
    pub fn restore(bytes: &[u8]) -> Result<Self, Error> {
        Ok(Self::holding(Live::restore(bytes)?))
    }

    fn holding(live: Live<M>) -> Self {
        let context = Context {
            agent: "a1".into(),
            turn: 1,
            now_ms: 1_000,
            access: "read-write".into(),
            phase: "now".into(),
            salt: 1,
        };
        Self { live, context, messages: Texts::default() }
    }

    /// The state's bytes.
    ///
    /// # Panics
    /// If they cannot be written.
    #[allow(clippy::panic, reason = "only tests use this")]
    pub fn bytes(&self) -> Vec<u8> {
        match self.live.save() {
            Ok(bytes) => bytes,
            Err(error) => panic!("the state cannot be written: {error}"),
        }
    }

    /// Runs a call.
    ///
    /// # Errors
    /// What the call answers.
    ///
    /// # Panics
    /// If an error changed the state, or the state does not survive being written and read.
    pub fn call(&mut self, name: &str, arguments: Value) -> Result<Reply, CallError> {
        let before = self.bytes();
        let reply = self.live.call(&self.context, &self.messages, name, &arguments.to_string());
        if reply.is_err() {
            assert!(before == self.bytes(), "`{name}` answered an error and changed the state");
        }
        self.check_round_trip();
        reply
    }

    /// Declares a deferred call.
    ///
    /// # Errors
    /// What the call answers.
    pub fn declare(&mut self, name: &str, arguments: Value) -> Result<Reply, CallError> {
        self.in_phase("declare", name, arguments)
    }

    /// Applies a deferred call.
    ///
    /// # Errors
    /// What the call answers.
    pub fn apply(&mut self, name: &str, arguments: Value) -> Result<Reply, CallError> {
        self.in_phase("apply", name, arguments)
    }

    fn in_phase(&mut self, phase: &str, name: &str, arguments: Value) -> Result<Reply, CallError> {
        self.context.phase = phase.into();
        let reply = self.call(name, arguments);
        self.context.phase = "now".into();
        reply
    }

    /// Its part of the system prompt.
    pub fn prompt(&self) -> Vec<Section> {
        self.live.prompt(&self.context, &self.messages)
    }

    /// What a new holder should know.
    pub fn opening(&self) -> Vec<Note> {
        self.live.opening(&self.context, &self.messages)
    }

    /// Checks that the state survives being written and read.
    ///
    /// # Panics
    /// If it does not.
    #[allow(clippy::panic, reason = "only tests use this")]
    pub fn check_round_trip(&self) {
        let bytes = self.bytes();
        match Live::<M>::restore(&bytes).and_then(|copy| copy.save()) {
            Ok(again) => assert!(again == bytes, "reading and writing the state again changed its bytes"),
            Err(error) => panic!("the state cannot be read back: {error}"),
        }
    }
}

impl<H: History> Holder<H> {
    /// Adds to the end.
    ///
    /// # Errors
    /// What the history answers.
    pub fn append(&mut self, entries: &[Entry]) -> Result<(), Error> {
        let answer = self.live.append(&self.context, &self.messages, entries.to_vec());
        self.check_round_trip();
        answer
    }

    /// What changed since a revision.
    pub fn changes(&self, since: u64) -> Changes {
        self.live.entries(&self.context, &self.messages, since)
    }

    /// What to summarise.
    pub fn fold(&self, budget: u64, keep_turns: u32) -> Vec<Segment> {
        self.live.fold(&self.context, &self.messages, budget, keep_turns)
    }

    /// Replaces segments by summaries.
    ///
    /// # Errors
    /// What the history answers.
    pub fn folded(&mut self, summaries: &[Summary]) -> Result<(), Error> {
        let answer = self.live.folded(&self.context, &self.messages, summaries.to_vec());
        self.check_round_trip();
        answer
    }
}

/// What a host would refuse about a module's descriptor, in words. A module's tests check that it is empty.
pub fn descriptor_faults<M: Module>() -> Vec<String> {
    let descriptor = Live::<M>::describe();
    let mut faults = Vec::new();
    let is_object =
        |json: &str| serde_json::from_str::<Value>(json).is_ok_and(|schema| schema["type"] == "object");
    if !is_object(&descriptor.params) {
        faults.push("the schema of the params is not one of an object".into());
    }
    let mut names = std::collections::BTreeSet::new();
    for call in &descriptor.calls {
        if !names.insert(&call.name) {
            faults.push(format!("two calls are named `{}`", call.name));
        }
        let fits = call.name.len() <= 64
            && call
                .name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        if call.name.is_empty() || !fits {
            faults.push(format!("`{}` is not a call's name", call.name));
        }
        if call.description.is_empty() {
            faults.push(format!("`{}` has no description", call.name));
        }
        if let Some(feature) = &call.feature
            && !descriptor.features.iter().any(|known| known.name == *feature)
        {
            faults.push(format!("`{}` names the feature `{feature}`, which there is not", call.name));
        }
        if !is_object(&call.parameters) {
            faults.push(format!("the schema of `{}` is not one of an object", call.name));
        }
    }
    faults
}
