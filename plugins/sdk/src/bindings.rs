//! What wit-bindgen makes of the contract, one module per world. Both share one set of types.
//!
//! A module author has no need of these; someone who wants to break the contract on purpose has.

#![allow(missing_docs, unsafe_code, unreachable_pub, clippy::all, reason = "generated")]

/// The world of every kind but `history`.
pub mod module {
    wit_bindgen::generate!({
        world: "gg:module/module",
        path: "../../wit/gg-module/0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_module_world",
        additional_derives: [PartialEq],
    });
    pub use export_module_world as export;
}

/// The world of the kind `history`.
pub mod history {
    wit_bindgen::generate!({
        world: "gg:module/history",
        path: "../../wit/gg-module/0.1.0",
        pub_export_macro: true,
        export_macro_name: "export_history_world",
        additional_derives: [PartialEq],
        with: { "gg:module/types@0.1.0": super::module::gg::module::types },
    });
    pub use export_history_world as export;
}
