//! The module kind `memories`: short texts by name that an agent can search, and that several agents may hold
//! together.

mod offer;
mod search;
mod show;
mod store;

pub use store::{Memories, Memory, Params, Scope};

gg_module_sdk::export_module!(Memories);
