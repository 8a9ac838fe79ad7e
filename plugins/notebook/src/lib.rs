//! The module kind `notebook`: named pages of text that an agent keeps outside its window, and can hand on.

mod book;
mod offer;

pub use book::{Notebook, Params};

gg_module_sdk::export_module!(Notebook);
