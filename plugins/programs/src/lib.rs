//! The module kind `programs`: the program library. It keeps the programs that an agent ran, each with its outcome
//! and an id to fetch it by.
//!
//! A program is recorded by gg once it has run (`record_program`, offered to no model unless the feature `record`
//! is on); the model lists and reads them.

mod ids;
mod library;
mod offer;

pub use ids::Issued;
pub use library::{Entry, Library, Params};

gg_module_sdk::export_module!(Library);
