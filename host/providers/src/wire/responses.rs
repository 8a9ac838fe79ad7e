//! OpenAI's Responses. Nothing is stored at the server: each request carries the whole window, and the
//! reasoning of earlier replies goes back in the server's own cipher.

mod items;
mod reply;
mod request;
mod shapes;

use super::{Asked, Fields, Wire};
use crate::format::Format;
use serde::ser::SerializeMap;

/// The format.
pub(crate) struct Responses;

impl Wire for Responses {
    const FORMAT: Format = Format::OpenAiResponses;
    const WINDOW: &'static [&'static str] = &["input", "instructions"];
    type Assembly = reply::Assembly;

    fn write<M: SerializeMap>(asked: Asked<'_>, fields: &mut Fields<'_, M>) -> Result<(), M::Error> {
        request::write(asked, fields)
    }
}

/// The `type`s of items that go back as they came: what the model thought, and what it said of its own message.
const KEPT_ITEMS: [&str; 2] = ["reasoning", "message"];
