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

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> types::Descriptor {
        types::Descriptor {
            kind: "glossary".into(),
            title: "Glossary".into(),
            calls: vec![call("look_up")],
            params: r#"{"type":"object"}"#.into(),
            features: vec![feature("edit")],
            state_format: "org.example.glossary/1".into(),
        }
    }

    fn call(name: &str) -> types::CallSpec {
        types::CallSpec {
            name: name.into(),
            description: "Looks a word up.".into(),
            parameters: r#"{"type":"object"}"#.into(),
            effect: "read-only".into(),
            feature: Some("edit".into()),
        }
    }

    fn feature(name: &str) -> types::Feature {
        types::Feature { name: name.into(), description: "Lets it be edited.".into(), enabled: true }
    }

    fn said(change: impl FnOnce(&mut types::Descriptor)) -> String {
        let mut descriptor = sound();
        change(&mut descriptor);
        match check(descriptor, World::Module) {
            Ok(_) => "accepted".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_sound_descriptor_is_taken_over() {
        let checked = check(sound(), World::Module).unwrap();
        let object = serde_json::json!({ "type": "object" });
        assert_eq!(
            checked.descriptor,
            Descriptor {
                kind: "glossary".into(),
                title: "Glossary".into(),
                calls: vec![CallSpec {
                    name: "look_up".into(),
                    description: "Looks a word up.".into(),
                    parameters: object.clone(),
                    effect: Effect::ReadOnly,
                    feature: Some("edit".into()),
                }],
                params: object,
                features: vec![Feature {
                    name: "edit".into(),
                    description: "Lets it be edited.".into(),
                    enabled: true,
                }],
                state_format: "org.example.glossary/1".into(),
            }
        );
        assert_eq!(checked.schemas.len(), 1);
    }

    #[test]
    fn what_breaks_the_contract_is_named() {
        let long = "x".repeat(9000);
        for (problem, wanted) in [
            (said(|d| d.kind = "Glossary".into()), "the kind `Glossary` is not a name"),
            (said(|d| d.kind = "history".into()), "its kind is `history`"),
            (said(|d| d.kind = String::new()), "the kind `` is not a name"),
            (said(|d| d.title = long.clone()), "the title has 9000 bytes"),
            (said(|d| d.state_format = String::new()), "the state's format `` is not a name"),
            (said(|d| d.params = "[]".into()), "the schema of `params` is not a JSON Schema of an object"),
            (said(|d| d.calls.push(call("look_up"))), "the call `look_up` is there twice"),
            (said(|d| d.calls[0].name = "look up".into()), "the call `look up` is not a name"),
            (said(|d| d.calls[0].description = long.clone()), "the description of `look_up` has 9000 bytes"),
            (said(|d| d.calls[0].parameters = "{".into()), "the schema of `look_up` is not"),
            (said(|d| d.calls[0].effect = "writing".into()), "the call `look_up` has the effect `writing`"),
            (said(|d| d.calls[0].feature = Some("x".into())), "is offered by the feature `x`"),
            (said(|d| d.calls = (0..65).map(|n| call(&format!("c{n}"))).collect()), "65 calls"),
            (said(|d| d.features.push(feature("edit"))), "the feature `edit` is there twice"),
            (said(|d| d.features[0].name = "é".into()), "the feature `é` is not a name"),
        ] {
            assert!(problem.contains(wanted), "{problem} does not contain {wanted:?}");
        }
        assert!(check(sound(), World::History).is_err());
    }
}
