//! What a module may know of the moment it is called in.

use crate::Entry;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a holder may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read and change.
    ReadWrite,
    /// Only read.
    ReadOnly,
}

impl Access {
    /// Reads the contract's word. One that is not known grants the least.
    pub(crate) fn parse(word: &str) -> Self {
        if word == "read-write" { Self::ReadWrite } else { Self::ReadOnly }
    }
}

/// Which half of a deferred call is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not a deferred call.
    Now,
    /// The model asks: check, change nothing.
    Declare,
    /// The turn ends: do it.
    Apply,
}

impl Phase {
    pub(crate) fn parse(word: &str) -> Self {
        match word {
            "declare" => Self::Declare,
            "apply" => Self::Apply,
            _ => Self::Now,
        }
    }
}

/// Params for a module that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// What the configuration says about a module, with every default filled in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings<P> {
    /// The capability's `params`.
    #[serde(default)]
    pub params: P,
    /// The capability's `features`.
    #[serde(default)]
    pub features: BTreeMap<String, bool>,
}

impl<P: DeserializeOwned + Default> Settings<P> {
    /// Reads the contract's JSON, and fills in the features it does not name.
    pub(crate) fn parse(json: &str, features: &[Feature]) -> Result<Self, String> {
        let mut settings: Self = object(json).map_err(|error| error.to_string())?;
        for feature in features {
            settings.features.entry(feature.name.to_owned()).or_insert(feature.enabled);
        }
        match settings.features.keys().find(|name| !features.iter().any(|known| known.name == **name)) {
            Some(unknown) => Err(format!("there is no feature `{unknown}`")),
            None => Ok(settings),
        }
    }
}

impl<P> Settings<P> {
    /// Whether a feature is on. One that the module does not have is off.
    pub fn has(&self, feature: &str) -> bool {
        self.features.get(feature).copied().unwrap_or(false)
    }
}

/// Reads a JSON object. A struct alone would take an array too, its fields in order.
pub(crate) fn object<T: DeserializeOwned>(json: &str) -> serde_json::Result<T> {
    let map: Map<String, Value> = serde_json::from_str(json)?;
    serde_json::from_value(Value::Object(map))
}

/// A switch that a configuration may turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Its name in the configuration.
    pub name: &'static str,
    /// What it does, and which calls it withholds when it is off.
    pub description: &'static str,
    /// What it is when the configuration does not say.
    pub enabled: bool,
}

/// What the host lends a history while it runs. Modules of other kinds have none.
pub trait Messages {
    /// The text of a message that was appended to this very module, cut to `max_bytes`.
    fn text(&self, id: u64, max_bytes: u32) -> Result<String, String>;
    /// Makes a message with the role `user`, to be placed in the window.
    fn note(&self, text: &str) -> Result<Entry, String>;
}

/// For modules that are lent no messages.
pub(crate) struct NoMessages;

impl Messages for NoMessages {
    fn text(&self, _: u64, _: u32) -> Result<String, String> {
        Err("only a history is lent messages".into())
    }
    fn note(&self, _: &str) -> Result<Entry, String> {
        Err("only a history is lent messages".into())
    }
}

/// The moment a module is called in, with the settings it was made under.
pub struct Cx<'a, P> {
    /// The agent that holds this module.
    pub agent: &'a str,
    /// The agent's turn; the first is 1, and 0 is before it.
    pub turn: u32,
    /// The host's clock, in milliseconds since 1970.
    pub now_ms: u64,
    /// What the holder may do.
    pub access: Access,
    /// Which half of a deferred call this is.
    pub phase: Phase,
    /// A number that no other agent's context carries.
    pub salt: u64,
    /// What the configuration says.
    pub settings: &'a Settings<P>,
    /// What the host lends. Only a history gets answers here.
    pub messages: &'a dyn Messages,
}
