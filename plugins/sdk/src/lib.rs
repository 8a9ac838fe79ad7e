//! What the author of a gg module needs.
//!
//! A module is a value that can be written as bytes, a table of calls, and what it tells the model unasked.
//! Implement [`Module`], and name the type in [`export_module!`]; a crate of the type `cdylib`, built for
//! `wasm32-unknown-unknown`, is then a module. The SDK does the rest:
//!
//! - the state's bytes are canonical, carry their format and settings, and are restored all or nothing
//!   ([`State`]);
//! - arguments arrive typed; a call that refuses or fails leaves the state as it was ([`Call`]);
//! - a read-only holder's changes are refused before they reach the module.
//!
//! Nothing of it needs wasm: [`testing::Holder`] runs a module in an ordinary unit test.
//!
//! ```
//! use gg_module_sdk::{Call, CallError, Cx, Module, NoParams, Reply, json, testing::Holder};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Default, Serialize, Deserialize)]
//! struct Counter {
//!     count: u64,
//! }
//!
//! #[derive(Deserialize)]
//! struct Add {
//!     by: u64,
//! }
//!
//! impl Counter {
//!     fn add(&mut self, _: &Cx<'_, NoParams>, add: Add) -> Result<Reply, CallError> {
//!         self.count = self.count.checked_add(add.by).ok_or_else(|| CallError::refused("Add less."))?;
//!         Ok(Reply::json(&self.count))
//!     }
//! }
//!
//! impl Module for Counter {
//!     const KIND: &'static str = "counter";
//!     const TITLE: &'static str = "Counter";
//!     const STATE_FORMAT: &'static str = "example.counter/1";
//!     type Params = NoParams;
//!
//!     fn calls() -> Vec<Call<Self>> {
//!         let schema = || json!({"type": "object", "required": ["by"], "properties": {"by": {"type": "integer"}}});
//!         vec![Call::acting("add", "Adds to the counter.", schema, Counter::add)]
//!     }
//! }
//!
//! gg_module_sdk::export_module!(Counter);
//!
//! let mut counter = Holder::<Counter>::open(json!({})).unwrap();
//! assert_eq!(counter.call("add", json!({"by": 2})).unwrap().value, json!(2));
//! ```

mod call;
mod context;
mod export;
mod history;
mod live;
mod module;
mod state;
pub mod testing;
mod text;

pub use call::{Call, CallError, Effect, Reply};
pub use context::{Access, Cx, Feature, Messages, NoParams, Phase, Settings};
#[doc(hidden)]
pub use export::{__no_changes, __nothing_lent, __reply};
pub use history::History;
pub use live::{Live, Slot};
pub use module::Module;
pub use state::State;
pub use text::{cut, page};

pub use gg_world_module::gg::module::types::{
    Changes, Context, Descriptor, Entry, Error, Note, Role, Section, Segment, Summary,
};
pub use serde_json::{Value, json};

/// For the export macros only.
#[doc(hidden)]
pub mod worlds {
    pub use gg_world_history as history;
    pub use gg_world_module as module;

    pub use gg_world_module::gg::module::types::{CallError, Reply};
}
