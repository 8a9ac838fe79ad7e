//! The module kind `tasks`: a list of what is to be done, that an agent keeps for itself and can hand on.

mod list;
mod offer;
mod show;

pub use list::{Params, Status, Task, Tasks};

gg_module_sdk::export_module!(Tasks);
