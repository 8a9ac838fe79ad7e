//! What a component says it is, checked.

use crate::{bindings::types, error::DescriptorError, schema::Schema};
use gg_core::{
    call::{CallSpec, Effect},
    text,
};
use gg_sandbox::World;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;

/// The kind that is a history.
pub(crate) const HISTORY: &str = "history";

/// The most calls of one module: a model chooses badly among more.
const MAX_CALLS: usize = 64;

/// The most features of one module.
const MAX_FEATURES: usize = 64;

/// The longest name, in bytes; the contract's own rule for calls.
const NAME_BYTES: usize = 64;

/// The longest title, in bytes: one line.
const TITLE_BYTES: usize = 200;

/// The longest description, in bytes: it stands in every request.
const DESCRIPTION_BYTES: usize = 8 * 1024;

/// The longest name of a state's format, in bytes.
const STATE_FORMAT_BYTES: usize = 128;

/// What a component is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The kind of module it makes.
    pub kind: String,
    /// What a person reads.
    pub title: String,
    /// The calls that a model may make.
    pub calls: Vec<CallSpec>,
    /// The JSON Schema of the capability's `params`.
    pub params: Value,
    /// What a configuration may switch.
    pub features: Vec<Feature>,
    /// The format of its state. Two components that name the same one can take over each other's state.
    pub state_format: String,
}

/// A switch of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// What it is when the configuration does not say.
    pub enabled: bool,
}

/// A descriptor, and the schemas of its calls in their order.
pub(crate) struct Checked {
    pub(crate) descriptor: Descriptor,
    pub(crate) schemas: Vec<Schema>,
}

/// Checks a descriptor against the contract's rules.
pub(crate) fn check(found: types::Descriptor, world: World) -> Result<Checked, DescriptorError> {
    name("the kind", &found.kind, is_kind, "lower-case letters, digits, `-` and `_`, at most 64")?;
    if (found.kind == HISTORY) != (world == World::History) {
        return Err(DescriptorError::Kind { kind: found.kind });
    }
    length("the title", &found.title, TITLE_BYTES)?;
    length("the state's format", &found.state_format, STATE_FORMAT_BYTES)?;
    if found.state_format.is_empty() {
        return Err(DescriptorError::Name {
            what: "the state's format",
            name: String::new(),
            rule: "at least one character",
        });
    }
    let params = Schema::parse("the schema of `params`", &found.params)?.value().clone();
    let features = features(found.features)?;
    let (calls, schemas) = calls(found.calls, &features)?;
    let descriptor = Descriptor {
        kind: found.kind,
        title: found.title,
        calls,
        params,
        features,
        state_format: found.state_format,
    };
    Ok(Checked { descriptor, schemas })
}

fn calls(
    found: Vec<types::CallSpec>,
    features: &[Feature],
) -> Result<(Vec<CallSpec>, Vec<Schema>), DescriptorError> {
    count("calls", found.len(), MAX_CALLS)?;
    let mut seen = HashSet::new();
    let mut calls = Vec::with_capacity(found.len());
    let mut schemas = Vec::with_capacity(found.len());
    for call in found {
        name("the call", &call.name, is_call_name, "`a-z`, `0-9` and `_`, at most 64")?;
        if !seen.insert(call.name.clone()) {
            return Err(DescriptorError::Twice { what: "the call", name: call.name });
        }
        length(&format!("the description of `{}`", call.name), &call.description, DESCRIPTION_BYTES)?;
        let effect = match call.effect.as_str() {
            "read-only" => Effect::ReadOnly,
            "acting" => Effect::Acting,
            "deferred" => Effect::Deferred,
            other => {
                let effect = text::glance(other, NAME_BYTES);
                return Err(DescriptorError::Effect { call: call.name, effect });
            }
        };
        if let Some(needed) = &call.feature
            && !features.iter().any(|feature| feature.name == *needed)
        {
            let feature = text::glance(needed, NAME_BYTES);
            return Err(DescriptorError::NoFeature { call: call.name, feature });
        }
        let schema = Schema::parse(&format!("the schema of `{}`", call.name), &call.parameters)?;
        calls.push(CallSpec {
            name: call.name,
            description: call.description,
            parameters: schema.value().clone(),
            effect,
            feature: call.feature,
        });
        schemas.push(schema);
    }
    Ok((calls, schemas))
}

fn features(found: Vec<types::Feature>) -> Result<Vec<Feature>, DescriptorError> {
    count("features", found.len(), MAX_FEATURES)?;
    let mut seen = HashSet::new();
    let mut features = Vec::with_capacity(found.len());
    for feature in found {
        name("the feature", &feature.name, is_feature_name, "letters, digits, `-` and `_`, at most 64")?;
        if !seen.insert(feature.name.clone()) {
            return Err(DescriptorError::Twice { what: "the feature", name: feature.name });
        }
        length(&format!("the description of `{}`", feature.name), &feature.description, DESCRIPTION_BYTES)?;
        features.push(Feature {
            name: feature.name,
            description: feature.description,
            enabled: feature.enabled,
        });
    }
    Ok(features)
}

fn is_kind(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_')
}

fn is_call_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

fn is_feature_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn name(
    what: &'static str,
    name: &str,
    fits: impl Fn(&str) -> bool,
    rule: &'static str,
) -> Result<(), DescriptorError> {
    if !name.is_empty() && name.len() <= NAME_BYTES && fits(name) {
        return Ok(());
    }
    Err(DescriptorError::Name { what, name: text::glance(name, NAME_BYTES), rule })
}

fn length(what: &str, text: &str, most: usize) -> Result<(), DescriptorError> {
    if text.len() <= most {
        return Ok(());
    }
    Err(DescriptorError::TooLong { what: what.to_owned(), found: text.len(), most })
}

fn count(what: &'static str, found: usize, most: usize) -> Result<(), DescriptorError> {
    if found <= most { Ok(()) } else { Err(DescriptorError::TooMany { what, found, most }) }
}
