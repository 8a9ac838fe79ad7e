//! Makes the typed configuration of a document that passed the check.

use crate::{
    Capability, Catalogue, CompactionParams, Configuration, FsmParams, Kind, ShellParams, Source,
    WorkspaceParams,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reads the document and fills in what it leaves to gg.
pub(super) fn configuration(
    source: &Source,
    catalogue: &Catalogue,
) -> Result<Configuration, serde_json::Error> {
    let mut configuration: Configuration = serde_json::from_value(source.value().clone())?;
    for provider in configuration.providers.values_mut() {
        provider.idle_timeout_ms = provider.idle_timeout_ms.min(provider.total_timeout_ms);
    }
    for profile in &mut configuration.agents {
        if profile.name.is_empty() {
            profile.name = profile.id.as_str().to_owned();
        }
        profile.capabilities.retain(|capability| capability.enabled);
        if profile.capability("history").is_none() && !profile.is_machine() {
            profile.capabilities.insert(0, history());
        }
        for capability in &mut profile.capabilities {
            if capability.component.is_none() && !catalogue.kinds.contains_key(&capability.id) {
                capability.component = Some(capability.id.clone());
            }
            if let Some(kind) = kind_of(capability, catalogue) {
                for feature in &kind.features {
                    capability.features.entry(feature.name.clone()).or_insert(feature.enabled);
                }
            }
            match capability.id.as_str() {
                "compaction" => fill::<CompactionParams>(&mut capability.params)?,
                "fsm" => fill::<FsmParams>(&mut capability.params)?,
                "shell" => fill::<ShellParams>(&mut capability.params)?,
                "workspace" => fill::<WorkspaceParams>(&mut capability.params)?,
                _ => {}
            }
        }
    }
    Ok(configuration)
}

fn history() -> Capability {
    Capability {
        id: "history".into(),
        enabled: true,
        component: None,
        params: Map::new(),
        features: BTreeMap::new(),
    }
}

fn kind_of<'a>(capability: &Capability, catalogue: &'a Catalogue) -> Option<&'a Kind> {
    match &capability.component {
        Some(name) => catalogue.components.get(name)?.as_ref().ok(),
        None => catalogue.kinds.get(&capability.id),
    }
}

/// Writes the defaults of `T` into params.
fn fill<T: Serialize + DeserializeOwned>(params: &mut Map<String, Value>) -> Result<(), serde_json::Error> {
    let typed: T = serde_json::from_value(Value::Object(std::mem::take(params)))?;
    if let Value::Object(filled) = serde_json::to_value(typed)? {
        *params = filled;
    }
    Ok(())
}
