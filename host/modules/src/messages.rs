//! What a history is lent while one of its exports runs.

use crate::bindings::{messages, types};
use gg_core::{id::MessageId, text, window::Entry};
use gg_sandbox::Tenant;
use std::sync::Arc;

/// The most of one message's text that a module is given at once, in bytes. It fits a module's memory many
/// times over, whatever it asks for.
pub const TEXT_BYTES: usize = 1024 * 1024;

/// The longest note that a module may put into a window, in bytes: a stub, not a document.
pub const NOTE_BYTES: usize = 64 * 1024;

/// The messages of a run, as a history may use them. The calls come from whatever thread its module runs on,
/// and that thread waits for the answers.
pub trait Messages: Send + Sync {
    /// The text of a message, cut to `max_bytes`.
    ///
    /// # Errors
    /// Why there is none; the module reads it.
    fn text(&self, id: MessageId, max_bytes: usize) -> Result<String, String>;

    /// Makes a message with the role `user` out of `text`. It counts only once the change of the module that
    /// asked for it has been accepted.
    ///
    /// # Errors
    /// Why it cannot; the module reads it.
    fn note(&self, text: String) -> Result<Entry, String>;
}

/// What a module's store holds: the messages, for a history.
pub(crate) struct Lending(pub(crate) Option<Arc<dyn Messages>>);

/// Tells the bindings where a store keeps what they need.
pub(crate) struct HasLending;

impl wasmtime::component::HasData for HasLending {
    type Data<'a> = &'a mut Tenant<Lending>;
}

impl messages::Host for Tenant<Lending> {
    fn text(&mut self, id: u64, max_bytes: u32) -> wasmtime::Result<Result<String, String>> {
        self.count_host_call()?;
        let Some(messages) = &self.data.0 else {
            return Ok(Err("there are no messages here".into()));
        };
        let room = usize::try_from(max_bytes).unwrap_or(TEXT_BYTES).min(TEXT_BYTES);
        // The bound is the host's to keep, whatever is behind the trait.
        Ok(messages.text(MessageId(id), room).map(|found| text::cut(&found, room).to_owned()))
    }

    fn note(&mut self, text: String) -> wasmtime::Result<Result<types::Entry, String>> {
        self.count_host_call()?;
        if text.len() > NOTE_BYTES {
            return Ok(Err(format!("a note has at most {NOTE_BYTES} bytes")));
        }
        let Some(messages) = &self.data.0 else {
            return Ok(Err("there are no messages here".into()));
        };
        Ok(messages.note(text).map(|entry| (&entry).into()))
    }
}
