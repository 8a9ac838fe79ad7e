//! The wire formats: how a request is written, and how a reply is read. All else about asking a server, from
//! the pace of retries to what an error means, is the same for every format and belongs to the client.

mod chat;
mod lenient;
mod messages;
mod reply;
mod request;
mod responses;

pub(crate) use chat::Chat;
pub(crate) use messages::Messages;
pub(crate) use reply::Place;
pub(crate) use request::{Asked, Delivery, Fields, Thoughts, body};
pub(crate) use responses::Responses;

use crate::{
    error::ModelError,
    format::Format,
    model::{Deltas, Reply},
};
use serde::{de::DeserializeOwned, ser::SerializeMap};

/// One wire format.
pub(crate) trait Wire: Send + Sync + 'static {
    /// Its name.
    const FORMAT: Format;
    /// The fields of a body that hold what the model is told: no parameter may replace them.
    const WINDOW: &'static [&'static str];
    /// How a reply is put together.
    type Assembly: Assembly;

    /// Writes a body's fields in the order in which they are sent, always the same for the same request.
    fn write<M: SerializeMap>(asked: Asked<'_>, fields: &mut Fields<'_, M>) -> Result<(), M::Error>;
}

/// A reply as far as it has come in. Nothing leaves here before the whole has.
pub(crate) trait Assembly: Default + Send {
    /// What a reply in one document is read as.
    type Document: DeserializeOwned;
    /// What an event of a streamed reply is read as.
    type Event: DeserializeOwned;

    /// Takes a whole reply and shows it. `raw` is the text that it was read from.
    fn document(
        &mut self,
        document: Self::Document,
        raw: &[u8],
        deltas: &dyn Deltas,
    ) -> Result<(), ModelError>;

    /// Takes an event and shows what is new. `name` is its own beside the data, `raw` the text of the data.
    fn event(
        &mut self,
        name: Option<&str>,
        event: Self::Event,
        raw: &str,
        deltas: &dyn Deltas,
    ) -> Result<Progress, ModelError>;

    /// The whole reply; or that it is not whole.
    fn finish(self, transmission: Transmission, place: Place<'_>) -> Result<Reply, ModelError>;
}

/// Whether more events are to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The reply goes on.
    More,
    /// That was the last event of the reply.
    Done,
}

/// How a reply's transmission ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transmission {
    /// With the protocol's own mark, or as a whole document.
    Marked,
    /// The connection ended in good order, without a mark.
    Ended,
}

#[cfg(test)]
mod tests;
