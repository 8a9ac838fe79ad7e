//! What the launch check has to know about the world, gathered by the one place that may look.

use crate::{capability::host_kinds, hooks::find_program};
use gg_config::{Catalogue, ComponentFault, Configuration, Feature, Kind, Source};
use gg_modules::{Component, LoadError, Registry};
use gg_providers::{Api, Format, ProviderSpec, Recording, Script, Secret, Server};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

/// The components that a run may use: the built-in ones, and those that the configuration names.
#[derive(Clone)]
pub struct ComponentTable {
    registry: Arc<Registry>,
    named: BTreeMap<String, Arc<Component>>,
}

impl ComponentTable {
    /// The component for the capability `id`: the one called `name` if a name is given, else the built-in one
    /// of that kind, else the one that the configuration names like the capability.
    pub fn find(&self, id: &str, name: Option<&str>) -> Option<Arc<Component>> {
        match name {
            Some(name) => self.named.get(name).cloned(),
            None => self.registry.builtin(id).or_else(|| self.named.get(id).cloned()),
        }
    }
}

/// What [`gather`] found.
pub struct Gathered {
    /// For the launch check.
    pub catalogue: Catalogue,
    /// For the run.
    pub components: ComponentTable,
}

/// Looks up everything that `source` refers to: components (loaded, and compared with the contract),
/// environment keys, files. Nothing is fatal here: what is wrong becomes a refusal of the check. `base` is the
/// folder that paths are relative to.
pub fn gather(source: &Source, base: &Path, registry: &Arc<Registry>) -> Gathered {
    let needs = source.needs();
    let mut catalogue = Catalogue::default();
    for kind in host_kinds().into_iter().chain(registry.builtins().map(|component| kind_of(&component))) {
        catalogue.kinds.insert(kind.kind.clone(), kind);
    }
    let mut named = BTreeMap::new();
    for (name, wanted) in needs.components {
        let loaded = registry.load(&name, &base.join(&wanted.path), wanted.sha256.as_deref());
        let answer = match loaded {
            Ok(component) => {
                let kind = kind_of(&component);
                named.insert(name.clone(), component);
                Ok(kind)
            }
            Err(error) => Err(fault_of(error)),
        };
        catalogue.components.insert(name, answer);
    }
    for name in needs.env {
        if std::env::var(&name).is_ok_and(|value| !value.is_empty()) {
            catalogue.env.insert(name);
        }
    }
    for path in needs.scripts {
        let read = Script::open(&base.join(&path)).map(drop);
        catalogue.files.insert(path, read.map_err(|error| error.to_string()));
    }
    for path in needs.recordings {
        let read = Recording::open(&base.join(&path)).map(drop);
        catalogue.files.insert(path, read.map_err(|error| error.to_string()));
    }
    for program in needs.programs {
        let found = find_program(base, &program).map(drop);
        catalogue.programs.insert(program, found);
    }
    Gathered { catalogue, components: ComponentTable { registry: registry.clone(), named } }
}

fn kind_of(component: &Component) -> Kind {
    let descriptor = component.descriptor();
    Kind {
        kind: descriptor.kind.clone(),
        title: descriptor.title.clone(),
        params: descriptor.params.clone(),
        features: descriptor
            .features
            .iter()
            .map(|feature| Feature {
                name: feature.name.clone(),
                description: feature.description.clone(),
                enabled: feature.enabled,
            })
            .collect(),
        calls: descriptor.calls.clone(),
        state_format: Some(descriptor.state_format.clone()),
    }
}

fn fault_of(error: LoadError) -> ComponentFault {
    match error {
        LoadError::Unreadable { .. } => ComponentFault::Unreadable(error.to_string()),
        LoadError::Digest { found, .. } => ComponentFault::Digest(found),
        _ => ComponentFault::Misfit(error.to_string()),
    }
}

/// The configuration's providers, as their clients want them. Keys are read from the environment here.
pub(crate) fn provider_specs(configuration: &Configuration, base: &Path) -> Vec<ProviderSpec> {
    configuration
        .providers
        .iter()
        .map(|(name, provider)| ProviderSpec {
            name: name.clone(),
            api: api(&provider.api, base),
            idle_timeout: Duration::from_millis(provider.idle_timeout_ms),
            total_timeout: Duration::from_millis(provider.total_timeout_ms),
            max_retries: provider.max_retries,
        })
        .collect()
}

fn api(api: &gg_config::Api, base: &Path) -> Api {
    match api {
        gg_config::Api::OpenAiChat(server) => Api::Server(server_of(Format::OpenAiChat, server)),
        gg_config::Api::OpenAiResponses(server) => Api::Server(server_of(Format::OpenAiResponses, server)),
        gg_config::Api::AnthropicMessages(server) => {
            Api::Server(server_of(Format::AnthropicMessages, server))
        }
        gg_config::Api::Scripted { script } => Api::Scripted { path: base.join(script) },
        gg_config::Api::Replay { recording } => Api::Replay { path: base.join(recording) },
    }
}

fn server_of(format: Format, server: &gg_config::Server) -> Server {
    let gg_config::Server { base_url, api_key_env, headers, stream } = server;
    Server {
        format,
        base_url: base_url.clone(),
        api_key: api_key_env.as_ref().and_then(|name| std::env::var(name).ok()).map(Secret::new),
        headers: headers.clone(),
        stream: *stream,
    }
}
