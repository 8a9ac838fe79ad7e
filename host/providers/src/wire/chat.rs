//! Chat Completions, as OpenAI and most other servers speak it.

mod fragments;
mod reply;
mod request;
mod shapes;

use super::{Asked, Fields, Wire};
use crate::format::Format;
use serde::ser::SerializeMap;

/// The format.
pub(crate) struct Chat;

impl Wire for Chat {
    const FORMAT: Format = Format::OpenAiChat;
    const WINDOW: &'static [&'static str] = &["messages"];
    type Assembly = reply::Assembly;

    fn write<M: SerializeMap>(asked: Asked<'_>, fields: &mut Fields<'_, M>) -> Result<(), M::Error> {
        request::write(asked, fields)
    }
}
