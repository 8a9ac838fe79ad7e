//! A server that plays raw bytes, a client for it, and replies as text.

use gg_core::{Message, MessageId, Origin, Part, Purpose, Turn};
use gg_providers::{
    Api, Delta, Deltas, Format, ModelError, Pace, ProviderSpec, Providers, Reply, Request, Secret,
    Server as Peer,
};
use std::{
    collections::BTreeMap,
    fmt::Write,
    fs, io,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The key that every client here sends.
pub(crate) const KEY: &str = "sk-test-0123456789";

/// The folder of the fixtures.
pub(crate) fn fixtures() -> PathBuf {
    gg_tests::package().join("wire")
}

/// The folder of a format's fixtures. What servers of any format send is in the folder `any`.
pub(crate) fn folder(format: Format) -> &'static str {
    match format {
        Format::OpenAiChat => "openai-chat",
        Format::OpenAiResponses => "openai-responses",
        Format::AnthropicMessages => "anthropic-messages",
    }
}

/// A response, byte for byte.
pub(crate) fn fixture_of(folder: &str, name: &str) -> Vec<u8> {
    let path = fixtures().join(folder).join(format!("{name}.http"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A response of a server that speaks Chat Completions.
pub(crate) fn fixture(name: &str) -> Vec<u8> {
    fixture_of(folder(Format::OpenAiChat), name)
}

/// One request as it came in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Answers one connection after the other with the given bytes, then closes it.
pub(crate) struct Server {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    pub(crate) async fn play(responses: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&received);
        tokio::spawn(async move {
            for response in responses {
                let (mut socket, _) = listener.accept().await.expect("a connection");
                let request = read_request(&mut socket).await.expect("a whole request");
                log.lock().expect("the log").push(request);
                // A client may hang up on a reply that it does not like; that is no failure of the server.
                let _ = socket.write_all(&response).await;
                let _ = socket.shutdown().await;
            }
        });
        Self { url, received }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("the log").clone()
    }
}

/// Answers every request of every connection with the same bytes, and counts the connections.
pub(crate) async fn keeping_connections(response: Vec<u8>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::Relaxed);
            let response = response.clone();
            tokio::spawn(async move {
                while read_request(&mut socket).await.is_ok() {
                    socket.write_all(&response).await.expect("a client that listens");
                }
            });
        }
    });
    (url, count)
}

async fn read_request(socket: &mut TcpStream) -> io::Result<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if socket.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|text| text.parse().ok()).expect("a content-length");
    while bytes.len() < head_end + length {
        if socket.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(Received { head, body: String::from_utf8_lossy(&bytes[head_end..]).into_owned() })
}

/// How replies are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Streamed,
    Whole,
}

/// The provider `p` at this address, which speaks Chat Completions and retries so often, without waiting.
pub(crate) fn spec(url: &str, ask: Ask, max_retries: u32) -> ProviderSpec {
    spec_of(Format::OpenAiChat, url, ask, max_retries)
}

/// The same in this format.
pub(crate) fn spec_of(format: Format, url: &str, ask: Ask, max_retries: u32) -> ProviderSpec {
    ProviderSpec {
        name: "p".into(),
        api: Api::Server(Peer {
            format,
            base_url: url.into(),
            api_key: Some(Secret::new(KEY)),
            headers: BTreeMap::from([("x-team".to_owned(), "gg".to_owned())]),
            stream: ask == Ask::Streamed,
        }),
        idle_timeout: Duration::from_secs(60),
        total_timeout: Duration::from_secs(60),
        max_retries,
    }
}

pub(crate) fn request() -> Request {
    Request {
        agent: "a1".into(),
        profile: "lead".into(),
        turn: Turn(1),
        purpose: Purpose::Turn,
        system: String::new(),
        messages: vec![Arc::new(Message::user(MessageId(1), Origin::Prompt, "go"))],
        calls: [].into(),
        max_output: 100,
        parameters: serde_json::Map::new(),
        model: "m".into(),
    }
}

/// Everything that was shown of a reply while it came in.
#[derive(Default)]
pub(crate) struct Shown(Mutex<String>);

impl Shown {
    pub(crate) fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().expect("what was shown"))
    }
}

impl Deltas for Shown {
    fn delta(&self, delta: Delta<'_>) {
        let mut shown = self.0.lock().expect("what was shown");
        match delta {
            Delta::Text(text) => shown.push_str(text),
            Delta::Reasoning(text) => write!(shown, "<{text}>").expect("memory"),
            Delta::Retrying { .. } => shown.push_str("[again]"),
        }
    }
}

/// Sends one request to a server that answers with these bytes, and never again.
pub(crate) async fn ask_once(
    format: Format,
    response: Vec<u8>,
    ask: Ask,
) -> (Result<Reply, ModelError>, String) {
    let server = Server::play(vec![response]).await;
    let providers =
        Providers::build_at_pace(&[spec_of(format, &server.url, ask, 0)], None, &Pace::immediate())
            .expect("a provider");
    let shown = Shown::default();
    let reply = providers.model("p").expect("a model").complete(&request(), &shown).await;
    (reply, shown.take())
}

/// A reply, or its failure, as a few lines.
pub(crate) fn lines(outcome: &Result<Reply, ModelError>) -> String {
    let reply = match outcome {
        Ok(reply) => reply,
        Err(error) => return format!("error: {error}"),
    };
    let mut lines = Vec::new();
    for part in &reply.parts {
        lines.push(match part {
            Part::Text { text } => format!("text: {text}"),
            Part::Reasoning { provider, data } => format!("reasoning of {provider}: {data}"),
            Part::Call(call) => format!("call {}: {} {}", call.id, call.name, call.arguments.to_wire()),
            Part::Result(result) => format!("result: {}", result.content),
        });
    }
    lines.push(format!("stop: {:?}", reply.stop));
    if let Some(usage) = reply.usage {
        let gg_core::Usage { input, cached, output, reasoning } = usage;
        lines.push(format!("usage: {input} ({cached} cached) and {output} ({reasoning} reasoning)"));
    }
    lines.join("\n")
}
