//! Model clients over HTTP, and the scripted and replay models.
//!
//! [`Providers::build`] makes the providers of a run; each gives a [`Model`], which any number of agents ask
//! for whole replies. A client for a wire format stands on a transport, which is a server or a recording:
//! recording and replay work below the client, so that a replayed run goes through the same code.

mod call_ids;
mod error;
mod gate;
mod model;
mod openai;
mod pace;
mod providers;
pub mod script;
mod secret;
mod transport;

pub use error::ModelError;
pub use model::{Delta, Deltas, Model, NoDeltas, Reply, Request, Stop};
pub use pace::Pace;
pub use providers::{Api, BuildError, BuildProblem, ProviderSpec, Providers};
pub use script::{Script, ScriptError};
pub use secret::Secret;
pub use transport::{Recording, RecordingError};
