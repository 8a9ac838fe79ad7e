//! What makes a module.

use crate::{Call, Cx, Error, Feature, Note, Section, Settings, State, Value, json};
use serde::{Serialize, de::DeserializeOwned};

/// A module: the type is its state, the consts and functions are what its component is.
///
/// `Default` is the fresh and empty state. `Clone` is used to take back what a call did before it failed.
pub trait Module: State + Clone + Default + 'static {
    /// The capability's id in a configuration.
    const KIND: &'static str;
    /// What a person reads.
    const TITLE: &'static str;
    /// Names the format of the state's bytes, such as `gg.tasks/1`. Change it with the format.
    const STATE_FORMAT: &'static str;

    /// The capability's `params`, with its defaults. Written out in full with the state.
    type Params: Serialize + DeserializeOwned + Default + 'static;

    /// The JSON Schema of the params: an object.
    fn params() -> Value {
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    }

    /// The switches that a configuration may turn.
    fn features() -> Vec<Feature> {
        Vec::new()
    }

    /// The calls offered to the model.
    fn calls() -> Vec<Call<Self>>;

    /// What the schema cannot say about the settings. Asked before a state is opened or transferred.
    ///
    /// # Errors
    /// Why these settings cannot be honoured.
    fn check(settings: &Settings<Self::Params>) -> Result<(), String> {
        let _ = settings;
        Ok(())
    }

    /// This state now serves another holder. Contents over a lowered cap stay.
    ///
    /// # Errors
    /// Any; the state and settings then stay as they were.
    fn transferred(&mut self, settings: &Settings<Self::Params>) -> Result<(), Error> {
        let _ = settings;
        Ok(())
    }

    /// Its part of the system prompt. It is rendered for every request, and a provider's cache holds only as
    /// long as nothing varies.
    fn prompt(&self, cx: &Cx<'_, Self::Params>) -> Vec<Section> {
        let _ = cx;
        Vec::new()
    }

    /// What a new holder should know of the contents at once. Empty for an empty state.
    fn opening(&self, cx: &Cx<'_, Self::Params>) -> Vec<Note> {
        let _ = cx;
        Vec::new()
    }
}
