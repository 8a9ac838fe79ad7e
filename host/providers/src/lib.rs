//! Model clients over HTTP, and the scripted and replay models.
//!
//! [`Providers::build`] makes the providers of a run; each gives a [`Model`], which any number of agents ask
//! for whole replies. One client asks servers, in any of the wire formats, and stands on a transport, which is
//! a server or a recording: recording and replay work below the client, so that a replayed run goes through the
//! same code.

mod call_ids;
mod client;
mod error;
mod failure;
mod format;
mod gate;
mod model;
mod pace;
mod providers;
pub mod script;
mod secret;
mod transport;
mod wire;

pub use error::ModelError;
pub use format::Format;
pub use model::{Delta, Deltas, Model, NoDeltas, Reply, Request, Stop};
pub use pace::Pace;
pub use providers::{Api, BuildError, BuildProblem, ProviderSpec, Providers, Server};
pub use script::{Script, ScriptError};
pub use secret::Secret;
pub use transport::{Recording, RecordingError};
