//! Recording: every exchange becomes one line of JSON, with the body's pieces as the network delivered them.

use super::{Incoming, Outgoing, Transport, TransportError};
use crate::{format::Format, secret::Secret};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use futures_util::{FutureExt, Stream, future::BoxFuture, stream::BoxStream};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
};

/// The version of the lines below; another one is refused when it is played.
pub(crate) const VERSION: u32 = 2;

/// One line of a recording.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Line {
    /// A provider that took part, before its first exchange.
    Provider {
        /// The version of the format.
        version: u32,
        /// Its name in the configuration.
        provider: String,
        /// In what format it was spoken to.
        api: Format,
        /// Whether its replies were streamed, which a replay has to ask for in the same way.
        stream: bool,
    },
    /// One request and what came of it.
    Exchange {
        /// The provider's name.
        provider: String,
        /// What was sent.
        request: SentLine,
        /// What came back.
        response: ResponseLine,
    },
}

/// The request of a recorded exchange: no address, no header, no key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SentLine {
    /// Always `POST`.
    pub(crate) method: String,
    /// The path below the base URL.
    pub(crate) path: String,
    /// The digest of the body as it was sent, in hex: this finds the exchange again.
    pub(crate) sha256: String,
    /// The body.
    pub(crate) body: String,
}

/// The response of a recorded exchange.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ResponseLine {
    /// The status; absent if no response came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// The headers that were kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    /// The body, piece by piece.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) chunks: Vec<Chunk>,
    /// How it ended.
    pub(crate) end: End,
}

/// A piece of a body: as text, or in base64 where it is not valid UTF-8 by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Chunk {
    /// Plain text.
    Text(String),
    /// Anything else.
    Bytes {
        /// The bytes, in base64.
        base64: String,
    },
}

impl Chunk {
    fn of(bytes: &Bytes) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes { base64: BASE64_STANDARD.encode(bytes) },
        }
    }

    /// The bytes it stands for.
    pub(crate) fn bytes(&self) -> Result<Bytes, base64::DecodeError> {
        match self {
            Self::Text(text) => Ok(Bytes::copy_from_slice(text.as_bytes())),
            Self::Bytes { base64 } => BASE64_STANDARD.decode(base64).map(Bytes::from),
        }
    }
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum End {
    /// The server ended it.
    Complete,
    /// gg stopped reading: it had all it needed, waited too long, or was told to stop.
    Left,
    /// The network failed.
    Failed(String),
}

/// The digest that identifies a request's body.
pub(crate) fn digest(body: &[u8]) -> String {
    gg_core::digest::sha256_hex(body)
}

/// The file that all providers of a run record into.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The file; after the first failure, what went wrong, so that no later exchange goes unrecorded unseen.
    file: Mutex<Result<File, TransportError>>,
    secrets: Vec<Secret>,
}

impl Recorder {
    /// Makes the file, which must not exist: a recording is never appended to by accident. `secrets` are
    /// blotted out of everything that is written.
    pub(crate) fn create(path: &Path, secrets: Vec<Secret>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        // Prompts and replies are their owner's business.
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self { file: Mutex::new(Ok(options.open(path)?)), secrets })
    }

    /// Writes one line in one piece. After a failure the recording stays failed.
    pub(crate) fn write(&self, line: &Line) -> Result<(), TransportError> {
        let mut state = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = state.as_mut().map_err(|failed| failed.clone())?;
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|mut bytes| {
            bytes.push(b'\n');
            file.write_all(&bytes)
        });
        written.map_err(|error| {
            let failed = TransportError::Recording(error.to_string().into());
            *state = Err(failed.clone());
            failed
        })
    }

    fn check(&self) -> Result<(), TransportError> {
        let state = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        state.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn redact(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| secret.redact(&text).into_owned())
    }

    /// The chunks as they may be kept. A key can stand across the border of two, so they are joined where
    /// there is one: a reply that repeats the key is the one thing not played back byte for byte.
    fn chunks(&self, chunks: &[Bytes]) -> Vec<Chunk> {
        let whole = chunks.concat();
        let text = String::from_utf8_lossy(&whole);
        let redacted = self.redact(&text);
        if redacted != text {
            return vec![Chunk::Text(redacted)];
        }
        chunks.iter().map(Chunk::of).collect()
    }
}

/// Another transport, recorded.
pub(crate) struct RecordingTransport<T> {
    inner: T,
    provider: Arc<str>,
    recorder: Arc<Recorder>,
}

impl<T> RecordingTransport<T> {
    /// Records what `inner` carries, under the provider's name.
    pub(crate) fn new(inner: T, provider: &str, recorder: Arc<Recorder>) -> Self {
        Self { inner, provider: provider.into(), recorder }
    }
}

impl<T: Transport> Transport for RecordingTransport<T> {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<Incoming, TransportError>> {
        let mut exchange = Exchange {
            recorder: Arc::clone(&self.recorder),
            provider: Arc::clone(&self.provider),
            request: request.clone(),
            status: None,
            headers: BTreeMap::new(),
            chunks: Vec::new(),
            written: false,
        };
        let sent = self.inner.send(request);
        async move {
            self.recorder.check()?;
            match sent.await {
                Ok(incoming) => {
                    exchange.status = Some(incoming.status);
                    exchange.headers = incoming.headers.clone();
                    let body = Box::pin(RecordedBody { inner: incoming.body, exchange });
                    Ok(Incoming { body, ..incoming })
                }
                Err(error) => {
                    exchange.write(End::Failed(error.to_string()))?;
                    Err(error)
                }
            }
        }
        .boxed()
    }
}

/// What is known so far of one exchange. Dropped before its end, it is recorded as left.
struct Exchange {
    recorder: Arc<Recorder>,
    provider: Arc<str>,
    request: Outgoing,
    status: Option<u16>,
    headers: BTreeMap<String, String>,
    chunks: Vec<Bytes>,
    written: bool,
}

impl Exchange {
    fn write(&mut self, end: End) -> Result<(), TransportError> {
        if std::mem::replace(&mut self.written, true) {
            return Ok(());
        }
        let line = Line::Exchange {
            provider: self.provider.to_string(),
            request: SentLine {
                method: "POST".into(),
                path: self.request.path.to_owned(),
                sha256: digest(&self.request.body),
                body: self.recorder.redact(&String::from_utf8_lossy(&self.request.body)),
            },
            response: ResponseLine {
                status: self.status,
                headers: self.headers.clone(),
                chunks: self.recorder.chunks(&self.chunks),
                end,
            },
        };
        self.recorder.write(&line)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure here; the next exchange is.
        let _ = self.write(End::Left);
    }
}

struct RecordedBody {
    inner: BoxStream<'static, Result<Bytes, TransportError>>,
    exchange: Exchange,
}

impl Stream for RecordedBody {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.inner.as_mut().poll_next(context));
        let written = match &next {
            Some(Ok(chunk)) => {
                self.exchange.chunks.push(chunk.clone());
                Ok(())
            }
            Some(Err(error)) => self.exchange.write(End::Failed(error.to_string())),
            None => self.exchange.write(End::Complete),
        };
        match written {
            Ok(()) => Poll::Ready(next),
            Err(error) => Poll::Ready(Some(Err(error))),
        }
    }
}
