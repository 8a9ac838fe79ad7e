//! The real network.

use super::{Incoming, KEPT_HEADERS, Outgoing, Transport, TransportError};
use crate::{
    format::Format,
    providers::{BuildProblem, Server},
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture};
use reqwest::{
    Client, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use rustls::{ClientConfig, RootCertStore, crypto::CryptoProvider};
use std::{error::Error, sync::Arc, time::Duration};

/// A server that does not even accept a connection in this time counts as out of reach.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Idle connections kept per server. More agents than this may talk at once; their connections are closed
/// afterwards.
const IDLE_CONNECTIONS: usize = 64;

/// One server, reached by HTTP/1.1 or HTTP/2.
pub(crate) struct HttpTransport {
    client: Client,
    base: Url,
}

impl HttpTransport {
    /// A client for this server.
    pub(crate) fn new(server: &Server) -> Result<Self, BuildProblem> {
        let base = parse_base(&server.base_url)?;
        let mut builder = Client::builder()
            .user_agent(concat!("gg/", env!("CARGO_PKG_VERSION")))
            .default_headers(header_map(server)?)
            .tls_backend_preconfigured(tls(&base)?)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            // A redirected POST loses its body, and the key must not travel to wherever a server points.
            .redirect(Policy::none());
        if is_loopback(&base) {
            // A proxy of the environment cannot reach this machine's own servers.
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| BuildProblem::Client(chain(&error)))?;
        Ok(Self { client, base })
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    }
}

impl Transport for HttpTransport {
    fn send(&self, request: Outgoing) -> BoxFuture<'_, Result<Incoming, TransportError>> {
        let sent = self.client.post(self.url(request.path)).body(request.body).send();
        async move {
            let response = sent.await.map_err(network)?;
            let headers = KEPT_HEADERS.iter().filter_map(|name| {
                let value = response.headers().get(*name)?.to_str().ok()?;
                Some(((*name).to_owned(), value.to_owned()))
            });
            Ok(Incoming {
                status: response.status().as_u16(),
                headers: headers.collect(),
                body: response.bytes_stream().map(|chunk| chunk.map_err(network)).boxed(),
            })
        }
        .boxed()
    }
}

fn parse_base(base_url: &str) -> Result<Url, BuildProblem> {
    let refused = |why: &str| BuildProblem::BaseUrl { url: base_url.to_owned(), why: why.to_owned() };
    let url = Url::parse(base_url).map_err(|error| refused(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused("it has to begin with http:// or https://"));
    }
    let path = url.path().trim_end_matches('/');
    if let Some(added) =
        Format::ALL.map(Format::path).iter().find(|added| path.ends_with(&format!("/{added}")))
    {
        return Err(refused(&format!("it has to end before /{added}, which gg adds")));
    }
    Ok(url)
}

fn header_map(server: &Server) -> Result<HeaderMap, BuildProblem> {
    let mut map = HeaderMap::new();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some((name, value)) = server.format.version_header() {
        map.insert(name, HeaderValue::from_static(value));
    }
    if let Some(key) = server.api_key.as_ref().filter(|key| !key.expose().is_empty()) {
        let (name, value) = server.format.key_header(key.expose());
        let mut value = HeaderValue::from_str(&value).map_err(|_| BuildProblem::Key)?;
        value.set_sensitive(true);
        map.insert(name, value);
    }
    for (name, value) in &server.headers {
        let refused = || BuildProblem::Header(name.clone());
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refused())?;
        value.set_sensitive(true);
        map.insert(header, value);
    }
    Ok(map)
}

/// The TLS set-up of one client. The cryptography is named here and nothing is installed for the whole
/// process. For plain HTTP no certificates are read, so that a machine without any can still talk to itself.
fn tls(base: &Url) -> Result<ClientConfig, BuildProblem> {
    let refused = |error: rustls::Error| BuildProblem::Tls(error.to_string());
    let crypto: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&crypto))
        .with_safe_default_protocol_versions()
        .map_err(refused)?;
    let mut config = if base.scheme() == "https" {
        let verifier = rustls_platform_verifier::Verifier::new(crypto).map_err(refused)?;
        config.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
    } else {
        config.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn network(error: reqwest::Error) -> TransportError {
    // Without the URL: it may carry a key in its query.
    TransportError::Network(chain(&error.without_url()).into())
}

/// An error with its causes, since reqwest's own text only says at which stage it failed.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn http(base: &str) -> Result<HttpTransport, BuildProblem> {
        HttpTransport::new(&Server {
            format: Format::OpenAiChat,
            base_url: base.to_owned(),
            api_key: None,
            headers: BTreeMap::new(),
            stream: true,
        })
    }

    fn url_of(base: &str) -> String {
        http(base).expect("a client").url("chat/completions").to_string()
    }

    #[test]
    fn the_path_is_added_below_the_base() {
        assert_eq!(url_of("http://127.0.0.1:1/v1"), "http://127.0.0.1:1/v1/chat/completions");
        assert_eq!(url_of("http://127.0.0.1:1/v1/"), "http://127.0.0.1:1/v1/chat/completions");
        assert_eq!(url_of("http://localhost:1"), "http://localhost:1/chat/completions");
        assert_eq!(url_of("http://[::1]:1/v1?v=2"), "http://[::1]:1/v1/chat/completions?v=2");
    }

    #[test]
    fn a_wrong_base_is_refused_with_the_reason() {
        for (base, why) in [
            ("ftp://x/v1", "http://"),
            ("127.0.0.1:80", "relative"),
            ("http://x/v1/chat/completions", "before /chat/completions, which gg adds"),
            ("http://x/v1/responses/", "before /responses, which gg adds"),
            ("http://x/v1/messages", "before /messages, which gg adds"),
        ] {
            let refused = http(base).err().map(|error| error.to_string());
            assert!(refused.as_deref().is_some_and(|text| text.contains(why)), "{refused:?}");
        }
    }

    #[test]
    fn loopback_is_recognised() {
        for (url, expected) in [
            ("http://localhost/", true),
            ("http://127.9.9.9/", true),
            ("http://[::1]/", true),
            ("http://10.0.0.1/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).expect("a URL")), expected, "{url}");
        }
    }
}
