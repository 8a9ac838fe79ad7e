//! The module kind `history`: the window, kept as the facts of its messages. Their text stays with the host.

mod archive;
mod bytes;
mod fold;
mod log;
mod offer;
mod packed;
mod window;

pub use archive::Archive;
pub use window::Window;

gg_module_sdk::export_history!(Window);
