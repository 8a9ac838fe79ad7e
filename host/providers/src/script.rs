//! The scripted model: replies from a file, and checks of what the model was sent. It needs no network, and
//! tells exactly where an agent did something else than the script's author thought.

mod document;
mod expect;
mod scripted;

pub use document::{Script, ScriptError};
pub use expect::Mismatch;
pub use scripted::ScriptedModel;
