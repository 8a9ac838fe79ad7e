//! Modules: everything that agents hold, each a WebAssembly component behind the contract `gg:module`.
//!
//! A [`Component`] is code and what it says it is; the [`Registry`] loads the built-in ones and those that a
//! configuration names. A [`Module`] is one state of one kind, held by one agent, with at most one live
//! instance. A [`History`] is the module of the kind `history`, with the host's own copy of its window.
//!
//! Built-in components run on their caller's thread, strangers' on threads of their own; for a caller there is
//! no other difference. What wasmtime generates from the contract stays inside this crate.

#[allow(missing_docs, unreachable_pub, reason = "what is in it is generated, and stays inside this crate")]
mod bindings;
mod code;
mod component;
mod context;
mod descriptor;
mod error;
mod exchange;
mod history;
mod lent;
mod live;
mod messages;
mod module;
mod registry;
mod schema;
mod window;

pub use component::Component;
pub use context::{Access, Context, Phase};
pub use descriptor::{Descriptor, Feature};
pub use error::{CallError, DescriptorError, Hook, LoadError, ModuleError, ModuleErrorKind};
pub use history::{History, Snapshot, Summary};
pub use lent::LentMessage;
pub use messages::{Messages, NOTE_BYTES, TEXT_BYTES};
pub use module::{CallReply, Module, Note, Section};
pub use registry::Registry;
pub use window::Segment;
