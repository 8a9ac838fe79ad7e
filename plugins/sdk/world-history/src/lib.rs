//! The contract as Rust types, for the world `history`. The types it shares with the world `module` are that
//! crate's own.

#![allow(missing_docs, unsafe_code, clippy::all, reason = "generated")]

wit_bindgen::generate!({
    world: "gg:module/history",
    path: "../../../wit/gg-module/0.1.0",
    pub_export_macro: true,
    export_macro_name: "export_world",
    additional_derives: [PartialEq],
    with: { "gg:module/types@0.1.0": gg_world_module::gg::module::types },
});
