//! Anthropic's Messages. A window goes as turns of the user and the assistant that take each other's place;
//! what the model thought stays where it stood in its reply.

mod reply;
mod request;
mod shapes;
mod turns;

use super::{Asked, Fields, Wire};
use crate::format::Format;
use serde::ser::SerializeMap;

/// The format.
pub(crate) struct Messages;

impl Wire for Messages {
    const FORMAT: Format = Format::AnthropicMessages;
    const WINDOW: &'static [&'static str] = &["messages", "system"];
    type Assembly = reply::Assembly;

    fn write<M: SerializeMap>(asked: Asked<'_>, fields: &mut Fields<'_, M>) -> Result<(), M::Error> {
        request::write(asked, fields)
    }
}

/// The `type`s of blocks that hold what the model thought, in words or in the server's cipher.
const THOUGHTS: [&str; 2] = ["thinking", "redacted_thinking"];
