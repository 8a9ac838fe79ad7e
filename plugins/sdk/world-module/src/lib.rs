//! The contract as Rust types, for the world `module`: every kind but `history`.
//!
//! wit-bindgen writes all of this. A module author uses `gg-module-sdk` instead, which turns these traits
//! into one; a component that breaks the contract on purpose starts here.
//!
//! Each world is a crate of its own because the macros that wit-bindgen exports would clash in one.

#![allow(missing_docs, unsafe_code, clippy::all, reason = "generated")]

wit_bindgen::generate!({
    world: "gg:module/module",
    path: "../../../wit/gg-module/0.1.0",
    pub_export_macro: true,
    export_macro_name: "export_world",
    additional_derives: [PartialEq],
});
