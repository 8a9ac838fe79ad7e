//! How a state becomes bytes.

use crate::{Error, Module, Settings, context::object};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A state that can be written as bytes and read back.
///
/// Any serde type is one, as JSON with sorted keys; a sequence without an order of its own (`HashSet`) would
/// make the bytes differ between equal states, so use `BTreeSet`. Implement this by hand for a state that is
/// large or saved often.
pub trait State: Sized {
    /// The state as bytes: equal states give equal bytes.
    fn save(&self) -> Result<Vec<u8>, Error>;
    /// The state that the bytes say, or [`Error::State`].
    fn load(bytes: &[u8]) -> Result<Self, Error>;
}

impl<T: Serialize + DeserializeOwned> State for T {
    fn save(&self) -> Result<Vec<u8>, Error> {
        canonical(self)
    }

    fn load(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes).map_err(|error| Error::State(error.to_string()))
    }
}

/// JSON whose objects are sorted by key, whatever the type's own order is.
fn canonical(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_value(value)
        .and_then(|value: Value| serde_json::to_vec(&value))
        .map_err(|error| Error::Other(format!("the state cannot be written as JSON: {error}")))
}

/// The line of JSON that stands before a state: its format, and the settings it was made under.
#[derive(Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<F, S> {
    format: F,
    settings: S,
}

/// The first line of a module's bytes. It stays the same until the next transfer.
pub(crate) fn header<M: Module>(settings: &Settings<M::Params>) -> Result<Vec<u8>, Error> {
    let mut line = canonical(&Header { format: M::STATE_FORMAT, settings })?;
    line.push(b'\n');
    Ok(line)
}

/// Takes a module's bytes apart.
pub(crate) fn read<M: Module>(bytes: &[u8]) -> Result<(Settings<M::Params>, M), Error> {
    let not_ours =
        |why: String| Error::State(format!("not a state of the format {}: {why}", M::STATE_FORMAT));
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .ok_or_else(|| not_ours("it has no first line".into()))?;
    let line = str::from_utf8(&bytes[..end]).map_err(|error| not_ours(error.to_string()))?;
    let header: Header<String, Value> = object(line).map_err(|error| not_ours(error.to_string()))?;
    if header.format != M::STATE_FORMAT {
        return Err(not_ours(format!("it says {}", header.format)));
    }
    let settings = Settings::parse(&header.settings.to_string(), &M::features())
        .map_err(|error| not_ours(format!("its settings: {error}")))?;
    Ok((settings, M::load(&bytes[end + 1..])?))
}
