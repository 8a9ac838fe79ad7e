//! What wasmtime generates from the contract. Its types never leave this crate.
//!
//! There are two sets over the same types: one for calls on the caller's thread, and one for calls that may
//! pause. A history is a module with a window, so its first three interfaces are reached through the bindings
//! of the world `module`, and only the window through those of `history`.

/// For built-in components.
pub mod direct {
    pub mod module {
        wasmtime::component::bindgen!({
            path: "../../wit/gg-module/0.1.0",
            world: "module",
        });
    }
    pub mod history {
        wasmtime::component::bindgen!({
            path: "../../wit/gg-module/0.1.0",
            world: "history",
            imports: { default: trappable },
            with: { "gg:module/types@0.1.0": crate::bindings::types },
        });
    }
}

/// For strangers' components.
pub mod pausing {
    pub mod module {
        wasmtime::component::bindgen!({
            path: "../../wit/gg-module/0.1.0",
            world: "module",
            exports: { default: async },
            with: { "gg:module/types@0.1.0": crate::bindings::types },
        });
    }
    pub mod history {
        wasmtime::component::bindgen!({
            path: "../../wit/gg-module/0.1.0",
            world: "history",
            exports: { default: async },
            with: {
                "gg:module/types@0.1.0": crate::bindings::types,
                "gg:module/messages@0.1.0": crate::bindings::messages,
            },
        });
    }
}

pub use direct::history::gg::module::messages;
pub use direct::module::gg::module::types;
