//! The providers of a run, made once at launch.

use crate::{
    client::{Client, Settings},
    format::Format,
    model::Model,
    pace::{Pace, Waits},
    script::{Script, ScriptError, ScriptedModel},
    secret::Secret,
    transport::{
        HttpTransport, Line, RECORDING_VERSION, Recorder, Recording, RecordingError, RecordingTransport,
        ReplayTransport, Transport,
    },
    wire::{Chat, Delivery, Messages, Responses},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use thiserror::Error;

/// One entry of the configuration's `providers`.
#[derive(Clone, Debug)]
pub struct ProviderSpec {
    /// Its name there.
    pub name: String,
    /// What it is.
    pub api: Api,
    /// The longest silence in a streamed reply.
    pub idle_timeout: Duration,
    /// The longest that one request may take, its retries and waits included.
    pub total_timeout: Duration,
    /// How often a failed request is sent again. Being asked to wait (HTTP 429, 503, 529) does not count: the
    /// total timeout bounds that. 0 means that no request is ever sent twice.
    pub max_retries: u32,
}

/// What a provider is.
#[derive(Clone, Debug)]
pub enum Api {
    /// A server.
    Server(Server),
    /// Replies from a file.
    Scripted {
        /// The file.
        path: PathBuf,
    },
    /// The exchanges of an earlier run, played back through the same client.
    Replay {
        /// The recording.
        path: PathBuf,
    },
}

/// A model server, and how to speak to it.
#[derive(Clone, Debug)]
pub struct Server {
    /// In what format.
    pub format: Format,
    /// Where its API begins, such as `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// Its key, if it wants one.
    pub api_key: Option<Secret>,
    /// Further headers; one of the format's own names replaces it.
    pub headers: BTreeMap<String, String>,
    /// Whether replies are asked for in pieces.
    pub stream: bool,
}

/// Why a provider cannot be made.
#[derive(Debug, Error)]
#[error("provider `{provider}`: {problem}")]
pub struct BuildError {
    /// The provider's name.
    pub provider: String,
    /// What is wrong.
    #[source]
    pub problem: BuildProblem,
}

/// What is wrong with a provider.
#[derive(Debug, Error)]
pub enum BuildProblem {
    /// Its `baseUrl` cannot be used.
    #[error("the base URL `{url}` cannot be used: {why}")]
    BaseUrl {
        /// The URL.
        url: String,
        /// Why.
        why: String,
    },
    /// Its key holds characters that no HTTP header may hold.
    #[error("the key holds a line break or another character that HTTP does not allow; check its variable")]
    Key,
    /// A header's name or value is not allowed in HTTP.
    #[error("the header `{0}` has a name or a value that HTTP does not allow")]
    Header(String),
    /// Encrypted connections cannot be set up on this machine.
    #[error("encrypted connections cannot be set up: {0}; install the system's CA certificates")]
    Tls(String),
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Client(String),
    /// A script cannot be read, or is wrong.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A recording cannot be made or played.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// All providers of a run.
#[derive(Default)]
pub struct Providers {
    models: BTreeMap<String, Arc<dyn Model>>,
    scripted: BTreeMap<String, Arc<ScriptedModel>>,
}

impl Providers {
    /// Makes them. Files are read here and never again; nothing is sent anywhere yet. With `record`, every
    /// exchange with a server is recorded into that file, which must not exist yet.
    pub fn build(specs: &[ProviderSpec], record: Option<&Path>) -> Result<Self, BuildError> {
        Self::build_at_pace(specs, record, &Pace::default())
    }

    /// The same, with failed requests spaced by `pace`.
    pub fn build_at_pace(
        specs: &[ProviderSpec],
        record: Option<&Path>,
        pace: &Pace,
    ) -> Result<Self, BuildError> {
        let recorder = match record {
            Some(path) => Some(recorder(path, specs)?),
            None => None,
        };
        let mut providers = Self::default();
        for spec in specs {
            let failed = |problem| BuildError { provider: spec.name.clone(), problem };
            providers.add(spec, recorder.as_ref(), pace).map_err(failed)?;
        }
        Ok(providers)
    }

    /// The model client of the provider with this name. It serves any number of agents at once.
    pub fn model(&self, provider: &str) -> Option<Arc<dyn Model>> {
        self.models.get(provider).cloned()
    }

    /// The replies of all scripts that nobody has asked for, for a person to read: after a test, none should
    /// be left.
    pub fn replies_left(&self) -> Vec<String> {
        let left = self.scripted.iter().flat_map(|(name, model)| {
            model.left().into_iter().map(move |reply| format!("provider `{name}`: {reply}"))
        });
        left.collect()
    }

    fn add(
        &mut self,
        spec: &ProviderSpec,
        recorder: Option<&Arc<Recorder>>,
        pace: &Pace,
    ) -> Result<(), BuildProblem> {
        let name = &spec.name;
        let model: Arc<dyn Model> = match &spec.api {
            Api::Scripted { path } => {
                let model = Arc::new(ScriptedModel::new(name, Script::open(path)?));
                self.scripted.insert(name.clone(), Arc::clone(&model));
                model
            }
            Api::Replay { path } => {
                let recorded = Recording::open(path)?.of(name)?;
                let settings = settings(spec, recorded.stream, None);
                let waits = Waits::new(Pace::immediate());
                client(recorded.format, settings, Box::new(ReplayTransport::new(recorded)), waits)
            }
            Api::Server(server) => {
                let http = HttpTransport::new(server)?;
                let transport: Box<dyn Transport> = match recorder {
                    None => Box::new(http),
                    Some(recorder) => Box::new(RecordingTransport::new(http, name, Arc::clone(recorder))),
                };
                let settings = settings(spec, server.stream, server.api_key.clone());
                client(server.format, settings, transport, Waits::new(pace.clone()))
            }
        };
        self.models.insert(name.clone(), model);
        Ok(())
    }
}

/// The client that speaks this format.
fn client(format: Format, settings: Settings, transport: Box<dyn Transport>, waits: Waits) -> Arc<dyn Model> {
    match format {
        Format::OpenAiChat => Arc::new(Client::<Chat>::new(settings, transport, waits)),
        Format::OpenAiResponses => Arc::new(Client::<Responses>::new(settings, transport, waits)),
        Format::AnthropicMessages => Arc::new(Client::<Messages>::new(settings, transport, waits)),
    }
}

fn settings(spec: &ProviderSpec, stream: bool, key: Option<Secret>) -> Settings {
    Settings {
        provider: spec.name.clone(),
        delivery: if stream { Delivery::Streamed } else { Delivery::Whole },
        idle_timeout: spec.idle_timeout,
        total_timeout: spec.total_timeout,
        max_retries: spec.max_retries,
        key,
    }
}

/// Begins the recording, with the providers that will take part in it.
fn recorder(path: &Path, specs: &[ProviderSpec]) -> Result<Arc<Recorder>, BuildError> {
    let servers = specs.iter().filter_map(|spec| match &spec.api {
        Api::Server(server) => Some((&spec.name, server)),
        Api::Scripted { .. } | Api::Replay { .. } => None,
    });
    let servers: Vec<_> = servers.collect();
    let failed = |provider: &str, why: String| BuildError {
        provider: provider.to_owned(),
        problem: RecordingError { path: path.to_owned(), why }.into(),
    };
    let Some((first, ..)) = servers.first() else {
        let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
        return Err(failed(&names.join(", "), "none of the providers is a server".into()));
    };
    let secrets = servers.iter().filter_map(|(_, server)| server.api_key.clone()).collect();
    let recorder = Recorder::create(path, secrets).map_err(|error| failed(first, error.to_string()))?;
    for (name, server) in servers {
        let line = Line::Provider {
            version: RECORDING_VERSION,
            provider: name.clone(),
            api: server.format,
            stream: server.stream,
        };
        recorder.write(&line).map_err(|error| failed(name, error.to_string()))?;
    }
    Ok(Arc::new(recorder))
}
