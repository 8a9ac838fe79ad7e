//! What lies below a wire client: one HTTP exchange at a time. The client cannot tell whether it talks to a
//! server or to a recording.

mod http;
mod recording;
mod replay;

pub(crate) use http::HttpTransport;
pub(crate) use recording::{Line, Recorder, RecordingTransport, VERSION as RECORDING_VERSION};
pub(crate) use replay::ReplayTransport;
pub use replay::{Recording, RecordingError};

use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use std::{collections::BTreeMap, sync::Arc};
use thiserror::Error;

/// A request as the wire client makes it. Where it goes, and the key, belong to the transport: nothing above
/// it, and no recording, ever holds them.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    /// The path below the server's base URL, such as `chat/completions`.
    pub(crate) path: &'static str,
    /// The JSON body.
    pub(crate) body: Bytes,
}

/// A response whose body is still coming in.
pub(crate) struct Incoming {
    /// The HTTP status.
    pub(crate) status: u16,
    /// Those headers of [`KEPT_HEADERS`] that were sent, by lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    /// The body, in the pieces that the network delivered.
    pub(crate) body: BoxStream<'static, Result<Bytes, TransportError>>,
}

/// The headers that change what a client does. No other is kept, so that no recording holds cookies or ids.
pub(crate) const KEPT_HEADERS: [&str; 7] =
    ["content-type", "date", "location", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry"];

/// Why an exchange came to nothing.
#[derive(Clone, Debug, Error)]
pub(crate) enum TransportError {
    /// No connection, or it broke.
    #[error("{0}")]
    Network(Arc<str>),
    /// The recording could not be written.
    #[error("{0}")]
    Recording(Arc<str>),
    /// The recording does not know the request.
    #[error("{0}")]
    Unknown(Arc<str>),
}

/// Something that carries a request to a server, or plays one.
pub(crate) trait Transport: Send + Sync {
    /// Sends the request; answers when the response's head is there. Dropping the future, or the body,
    /// breaks the exchange off.
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<Incoming, TransportError>>;
}
