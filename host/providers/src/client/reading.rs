//! Reads a response's body: as server-sent events or as one document, whichever it turns out to be. Every
//! wait and every size has its limit here.

use crate::{
    error::ModelError,
    failure::{Failure, html},
    model::Deltas,
    transport::TransportError,
    wire::{Assembly, Progress, Transmission},
};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream, stream::BoxStream};
use gg_core::text;
use sse_stream::{Sse, SseByteStream};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use thiserror::Error;

/// The most bytes of one reply on the wire. A streamed token costs some 200 bytes of frame: this is room for
/// 300,000 tokens.
const MAX_WIRE_BYTES: usize = 64 * 1024 * 1024;

/// The longest line of a stream: one call may arrive whole, with a file as its argument, and JSON's escapes
/// can double it.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// How much of an error's body is read; the rest says nothing new.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How much of a piece that is not JSON is shown, in characters.
const SHOWN_PIECE: usize = 120;

/// How long the end of a body is waited for after its reply is whole. Most servers send it along.
const LINGER: Duration = Duration::from_millis(50);

/// Why a body could not be read on.
#[derive(Debug, Error)]
pub(crate) enum BodyError {
    #[error(transparent)]
    Transport(#[from] TransportError),
    #[error("nothing came for {0:?}")]
    Idle(Duration),
    #[error("{0}: more than {1}")]
    TooLarge(&'static str, usize),
}

impl From<&BodyError> for ModelError {
    fn from(error: &BodyError) -> Self {
        match error {
            BodyError::Transport(TransportError::Network(message)) => {
                Self::Cut { message: message.to_string() }
            }
            BodyError::Transport(other) => other.clone().into(),
            BodyError::Idle(after) => Self::IdleTimeout { after: *after },
            BodyError::TooLarge(what, limit) => Self::TooLarge { what, limit: *limit },
        }
    }
}

/// A body that minds its limits.
pub(crate) type Body = BoxStream<'static, Result<Bytes, BodyError>>;

/// Limits a body's bytes in all, and the time between two pieces where there is a limit on it.
pub(crate) fn limited(
    body: BoxStream<'static, Result<Bytes, TransportError>>,
    idle: Option<Duration>,
) -> Body {
    let next = move |state: Option<(BoxStream<'static, Result<Bytes, TransportError>>, usize)>| async move {
        let (mut body, read) = state?;
        let chunk = match idle {
            None => body.next().await,
            Some(idle) => match tokio::time::timeout(idle, body.next()).await {
                Ok(chunk) => chunk,
                Err(_) => return Some((Err(BodyError::Idle(idle)), None)),
            },
        };
        match chunk? {
            Ok(chunk) if chunk.len() > MAX_WIRE_BYTES - read => {
                Some((Err(BodyError::TooLarge("bytes on the wire", MAX_WIRE_BYTES)), None))
            }
            Ok(chunk) => {
                let read = read + chunk.len();
                Some((Ok(chunk), Some((body, read))))
            }
            Err(error) => Some((Err(error.into()), None)),
        }
    };
    stream::unfold(Some((body, 0)), next).boxed()
}

/// Reads the error that a status announces.
pub(crate) async fn read_failure(status: u16, mut body: Body) -> Failure {
    let mut bytes = BytesMut::new();
    // A body that breaks off here is no second failure: what has come in of it is what there is to say.
    while let Some(Ok(chunk)) = body.next().await {
        let room = MAX_ERROR_BYTES - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if bytes.len() == MAX_ERROR_BYTES {
            break;
        }
    }
    Failure::of_body(status, &bytes)
}

/// Reads a reply. What it is shows in its first byte: servers ignore `stream`, and mistake content types.
pub(crate) async fn read_reply<A: Assembly>(
    mut body: Body,
    assembly: &mut A,
    deltas: &dyn Deltas,
) -> Result<Transmission, ModelError> {
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| ModelError::from(&error))?;
        let Some(first) = chunk.iter().copied().find(|byte| !byte.is_ascii_whitespace()) else {
            continue;
        };
        if let Some(error) = html(&chunk) {
            return Err(error);
        }
        let body = stream::iter([Ok(chunk)]).chain(body).boxed();
        return match first {
            b'{' | b'[' => read_document(body, assembly, deltas).await,
            _ => read_events(body, assembly, deltas).await,
        };
    }
    Err(ModelError::Cut { message: "it was empty".into() })
}

async fn read_document<A: Assembly>(
    mut body: Body,
    assembly: &mut A,
    deltas: &dyn Deltas,
) -> Result<Transmission, ModelError> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.next().await {
        bytes.extend_from_slice(&chunk.map_err(|error| ModelError::from(&error))?);
    }
    match serde_json::from_slice(&bytes) {
        Ok(document) => assembly.document(document, &bytes, deltas)?,
        Err(error) if error.is_eof() => return Err(ModelError::Cut { message: error.to_string() }),
        Err(error) => return Err(not_json(&error, &String::from_utf8_lossy(&bytes))),
    }
    Ok(Transmission::Marked)
}

async fn read_events<A: Assembly>(
    body: Body,
    assembly: &mut A,
    deltas: &dyn Deltas,
) -> Result<Transmission, ModelError> {
    let ended = Arc::new(AtomicBool::new(false));
    let mut events = SseByteStream::new(lines(body, Arc::clone(&ended)));
    while let Some(event) = events.next().await {
        let broken_off = || ended.load(Ordering::Relaxed);
        let Sse { event: name, data: Some(data), .. } =
            event.map_err(|error| event_error(&error, broken_off()))?
        else {
            continue;
        };
        let (name, data) = (name.as_deref(), data.trim());
        if data.is_empty() || name == Some("ping") {
            continue;
        }
        if name == Some("error") {
            return Err(Failure::of_event(data).into_error(None));
        }
        let is_last = data == "[DONE]"
            || match serde_json::from_str(data) {
                Ok(event) => assembly.event(name, event, data, deltas)? == Progress::Done,
                Err(_) if broken_off() => return Err(cut_in_line()),
                Err(error) => return Err(not_json(&error, data)),
            };
        if is_last {
            // A connection can be used again only if its last reply was read to the end.
            let rest = async { while let Some(Ok(_)) = events.next().await {} };
            let _ = tokio::time::timeout(LINGER, rest).await;
            return Ok(Transmission::Marked);
        }
    }
    Ok(Transmission::Ended)
}

/// The body with its lines limited, and with an end to its last event: some servers leave out the empty line
/// behind it. `ended` tells what was cut in mid-line from what a server wrote wrongly.
fn lines(body: Body, ended: Arc<AtomicBool>) -> Body {
    let mut line = 0;
    let limited = body.map(move |chunk| {
        let chunk = chunk?;
        for (at, piece) in chunk.split(|byte| matches!(byte, b'\n' | b'\r')).enumerate() {
            line = if at == 0 { line + piece.len() } else { piece.len() };
            if line > MAX_LINE_BYTES {
                return Err(BodyError::TooLarge("bytes in one line", MAX_LINE_BYTES));
            }
        }
        Ok(chunk)
    });
    let end = stream::once(async move {
        ended.store(true, Ordering::Relaxed);
        Ok(Bytes::from_static(b"\n\n"))
    });
    limited.chain(end).boxed()
}

fn event_error(error: &sse_stream::Error, broken_off: bool) -> ModelError {
    match error {
        sse_stream::Error::Body(source) => match source.downcast_ref::<BodyError>() {
            Some(error) => error.into(),
            None => ModelError::Cut { message: source.to_string() },
        },
        _ if broken_off => cut_in_line(),
        other => ModelError::Malformed { message: other.to_string() },
    }
}

fn cut_in_line() -> ModelError {
    ModelError::Cut { message: "it ended in the middle of a line".into() }
}

fn not_json(error: &serde_json::Error, text: &str) -> ModelError {
    ModelError::Malformed { message: format!("{error}, in `{}`", text::glance(text, SHOWN_PIECE)) }
}
