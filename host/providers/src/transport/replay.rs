//! Playing a recording: the same pieces, the same failures, without a server.

use super::{
    Incoming, Outgoing, Transport, TransportError,
    recording::{End, Line, ResponseLine, VERSION, digest},
};
use crate::format::Format;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use gg_core::text;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use thiserror::Error;

/// The largest recording that is played, in bytes: it is held in memory.
const MAX_RECORDING_BYTES: u64 = 1 << 30;

/// How much of two requests is shown around their first difference, in bytes.
const SHOWN_DIFFERENCE: usize = 120;

/// A recording, read and checked.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    providers: BTreeMap<String, Recorded>,
}

/// Why a recording cannot be made or played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the recording `{}` cannot be used: {why}", path.display())]
pub struct RecordingError {
    /// The recording.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// The exchanges of one provider.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The wire format.
    pub(crate) format: Format,
    /// Whether the replies were streamed.
    pub(crate) stream: bool,
    exchanges: Vec<(String, String, Played)>,
}

#[derive(Clone, Debug)]
struct Played {
    status: Option<u16>,
    headers: BTreeMap<String, String>,
    chunks: Vec<Bytes>,
    end: End,
}

impl Recording {
    /// Reads a recording from its file, which is not looked at again.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let refused = |why: String| RecordingError { path: path.to_owned(), why };
        let metadata = fs::metadata(path).map_err(|error| refused(error.to_string()))?;
        // Whoever opens a pipe waits for its other end, which may never come.
        if !metadata.is_file() {
            return Err(refused("it is no regular file".into()));
        }
        let size = metadata.len();
        if size > MAX_RECORDING_BYTES {
            return Err(refused(format!("it has {size} bytes, and gg plays at most {MAX_RECORDING_BYTES}")));
        }
        let text = fs::read_to_string(path).map_err(|error| refused(error.to_string()))?;
        let providers = parse(&text).map_err(refused)?;
        Ok(Self { path: path.to_owned(), providers })
    }

    /// The exchanges of the provider `name`, or those of the only provider there is.
    pub(crate) fn of(mut self, name: &str) -> Result<Recorded, RecordingError> {
        let names = self.providers.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if let Some(recorded) = self.providers.remove(name) {
            return Ok(recorded);
        }
        match self.providers.pop_first() {
            Some((_, recorded)) if self.providers.is_empty() => Ok(recorded),
            _ => Err(RecordingError {
                path: self.path,
                why: format!("it holds several providers' exchanges ({names}) and none of `{name}`"),
            }),
        }
    }
}

/// The providers of a recording; at least one.
fn parse(text: &str) -> Result<BTreeMap<String, Recorded>, String> {
    let mut providers: BTreeMap<String, Recorded> = BTreeMap::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let refused = |why: String| format!("line {}: {why}", at + 1);
        match serde_json::from_str(line).map_err(|error| refused(error.to_string()))? {
            Line::Provider { version, .. } if version != VERSION => {
                return Err(refused(format!("format version {version}, and this gg plays {VERSION}")));
            }
            Line::Provider { provider, api: format, stream, .. } => {
                providers.insert(provider, Recorded { format, stream, exchanges: Vec::new() });
            }
            Line::Exchange { provider, request, response } => {
                let played = Played::of(response).map_err(refused)?;
                let recorded = providers
                    .get_mut(&provider)
                    .ok_or_else(|| refused(format!("provider `{provider}` was not announced")))?;
                recorded.exchanges.push((request.sha256, request.body, played));
            }
        }
    }
    if providers.is_empty() {
        return Err("it holds no provider's exchanges".into());
    }
    Ok(providers)
}

impl Played {
    fn of(response: ResponseLine) -> Result<Self, String> {
        let chunks = response.chunks.iter().map(|chunk| chunk.bytes().map_err(|error| error.to_string()));
        Ok(Self {
            status: response.status,
            headers: response.headers,
            chunks: chunks.collect::<Result<_, _>>()?,
            end: response.end,
        })
    }
}

/// A server that only knows what was recorded. Requests are found by their bodies, so agents that ran side by
/// side may ask in another order than they did; the same body asked twice gets its answers in order.
pub(crate) struct ReplayTransport {
    left: Mutex<HashMap<String, VecDeque<Played>>>,
    bodies: Vec<(String, String)>,
}

impl ReplayTransport {
    /// Plays these exchanges, each once.
    pub(crate) fn new(recorded: Recorded) -> Self {
        let mut left: HashMap<String, VecDeque<Played>> = HashMap::new();
        let mut bodies = Vec::new();
        for (sha256, body, played) in recorded.exchanges {
            left.entry(sha256.clone()).or_default().push_back(played);
            bodies.push((sha256, body));
        }
        Self { left: Mutex::new(left), bodies }
    }

    fn take(&self, body: &[u8]) -> Result<Played, TransportError> {
        let sha256 = digest(body);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(played) = left.get_mut(&sha256).and_then(VecDeque::pop_front) {
            return Ok(played);
        }
        let known = left.contains_key(&sha256);
        drop(left);
        let message = if known {
            "it was sent more often than it was recorded".to_owned()
        } else {
            self.nearest(&String::from_utf8_lossy(body))
        };
        Err(TransportError::Unknown(message.into()))
    }

    /// Where the request first differs from the recorded one that it shares the longest beginning with.
    fn nearest(&self, body: &str) -> String {
        let shared = |recorded: &str| {
            body.bytes().zip(recorded.bytes()).take_while(|(ours, theirs)| ours == theirs).count()
        };
        let nearest = self.bodies.iter().map(|(_, recorded)| (shared(recorded), recorded));
        match nearest.max_by_key(|(shared, _)| *shared) {
            None => "nothing was recorded".into(),
            Some((at, recorded)) => {
                format!(
                    "from byte {at} on, `{}` was recorded and `{}` was sent",
                    shown(recorded, at),
                    shown(body, at)
                )
            }
        }
    }
}

/// A little of `text` from the byte `at` on, and a little before.
fn shown(text: &str, at: usize) -> &str {
    let before = text::cut(text, at.saturating_sub(SHOWN_DIFFERENCE / 4)).len();
    text::cut(&text[before..], SHOWN_DIFFERENCE)
}

impl Transport for ReplayTransport {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<Incoming, TransportError>> {
        let played = self.take(&request.body);
        async move {
            let played = played?;
            let broken: Option<Arc<str>> = match played.end {
                End::Complete => None,
                End::Left => Some("gg read no further when this was recorded".into()),
                End::Failed(why) => Some(why.into()),
            };
            let Some(status) = played.status else {
                return Err(TransportError::Network(broken.unwrap_or_else(|| "no response".into())));
            };
            let chunks = stream::iter(played.chunks.into_iter().map(Ok));
            let end = stream::iter(broken.map(|why| Err(TransportError::Network(why))));
            Ok(Incoming { status, headers: played.headers, body: chunks.chain(end).boxed() })
        }
        .boxed()
    }
}
