//! What a component is told that does not fit the contract.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of this is test code")]

#[path = "support/guest.rs"]
mod guest;

use gg_sandbox::{
    ContractError, World,
    contract::{Difference, MODULE_WIT, check},
};
use guest::{BARE, component};

fn of(wit: &str, world: &str) -> Vec<u8> {
    component(wit, world, BARE, |_, _| None)
}

/// The contract's text after one change, which has to apply.
fn changed(from: &str, to: &str) -> String {
    let wit = MODULE_WIT.replacen(from, to, 1);
    assert_ne!(wit, MODULE_WIT, "the contract has no {from:?}");
    wit
}

/// The problems of a component, which has to have some, as a person reads them.
fn said(bytes: &[u8]) -> String {
    match check(bytes) {
        Err(error @ ContractError::Mismatch(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_worlds_fit_themselves() {
    assert_eq!(check(&of(MODULE_WIT, "module")), Ok(World::Module));
    assert_eq!(check(&of(MODULE_WIT, "history")), Ok(World::History));
}

#[test]
fn what_is_no_component_is_named() {
    let core = wat::parse_str("(module)").unwrap();
    let mut cut = of(MODULE_WIT, "module");
    cut.truncate(cut.len() / 2);
    let long_text = format!("{}ñ", "a".repeat(511));
    for (bytes, wanted) in [
        (&b""[..], "it is empty"),
        (b"(component)", "it is a text file"),
        (long_text.as_bytes(), "it is a text file"),
        (&core, "it is a core WebAssembly module"),
        (b"\x7fELF\x02\x01\0\0", "it does not start as WebAssembly does"),
        (b"\0asm", "its version is not one that gg knows"),
        (b"\0asm\x0d\0\x01\0\xff\xff\xff\xff", "it is not a WebAssembly component"),
        (&cut, "it is not a WebAssembly component"),
    ] {
        let error = check(bytes).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error} does not contain {wanted:?}");
    }
}

#[test]
fn a_missing_interface_is_named() {
    let wit = changed("    export calls;\n", "");
    assert_eq!(
        said(&of(&wit, "module")),
        "it does not fit the world `module` of gg:module@0.1.0\n  it does not export `gg:module/calls@0.1.0`"
    );
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    let wit = "package other:thing@2.0.0; interface a { f: func(); } world w { export a; }";
    assert_eq!(
        said(&of(wit, "w")),
        "it does not fit the world `module` of gg:module@0.1.0; it was not built for gg:module at all\n  \
         it does not export `gg:module/lifecycle@0.1.0`\n  \
         it does not export `gg:module/calls@0.1.0`\n  \
         it does not export `gg:module/view@0.1.0`"
    );
}

#[test]
fn a_missing_function_is_shown() {
    let wit = changed("    reset: func() -> result<_, error>;\n", "");
    assert_eq!(
        said(&of(&wit, "module")),
        "it does not fit the world `module` of gg:module@0.1.0\n  \
         `gg:module/lifecycle@0.1.0` lacks `reset`, wanted as `func() -> result<_, error>`"
    );
}

#[test]
fn another_signature_is_shown_beside_the_wanted_one() {
    let wit = changed("restore: func(state: list<u8>)", "restore: func(state: string, again: bool)");
    assert_eq!(
        said(&of(&wit, "module")),
        "it does not fit the world `module` of gg:module@0.1.0\n  \
         `gg:module/lifecycle@0.1.0` has another `restore`:\n    \
         wanted func(state: list<u8>) -> result<_, error>\n    \
         found  func(state: string, again: bool) -> result<_, error>"
    );
}

#[test]
fn a_difference_inside_a_named_type_is_shown() {
    let wit = changed(
        "        body: string,\n    }\n\n    /// A note",
        "        body: u32,\n    }\n\n    /// A note",
    );
    let said = said(&of(&wit, "module"));
    assert!(said.contains("-> list<record { title: string, body: string }>"), "{said}");
    assert!(said.contains("-> list<record { title: string, body: u32 }>"), "{said}");
    assert!(!said.contains("opening"), "only `prompt` uses it: {said}");
}

#[test]
fn another_version_is_named() {
    let wit = changed("package gg:module@0.1.0", "package gg:module@0.2.0");
    let Err(ContractError::Mismatch(mismatch)) = check(&of(&wit, "module")) else { panic!("it fits") };
    assert_eq!(mismatch.wanted, "0.1.0");
    assert_eq!(mismatch.built_for, ["0.2.0"]);
    assert_eq!(
        mismatch.problems[0],
        Difference::Version {
            wanted: "gg:module/lifecycle@0.1.0".into(),
            found: "gg:module/lifecycle@0.2.0".into(),
        }
    );
    assert!(mismatch.to_string().starts_with(
        "it does not fit the world `module` of gg:module@0.1.0; it was built for gg:module@0.2.0\n"
    ));
}

#[test]
fn imports_that_gg_does_not_offer_are_named() {
    let wit = changed(
        "world module {",
        "interface net { get: func(url: string) -> string; }\nworld module {\n import net;",
    );
    assert_eq!(
        said(&of(&wit, "module")),
        "it does not fit the world `module` of gg:module@0.1.0\n  \
         it imports `gg:module/net@0.1.0`, which gg does not offer"
    );
}

#[test]
fn wasi_is_refused_by_name() {
    let wit = MODULE_WIT.to_owned()
        + "\npackage wasi:clocks@0.2.6 { interface wall-clock { now: func() -> u64; } }\n";
    let wit = wit.replacen("world module {", "world module {\n import wasi:clocks/wall-clock@0.2.6;", 1);
    let said = said(&of(&wit, "module"));
    assert!(said.contains("it imports `wasi:clocks/wall-clock@0.2.6`, which gg does not offer: "), "{said}");
    assert!(said.contains("build for a target without WASI"), "{said}");
}

#[test]
fn messages_are_lent_to_histories_only() {
    let wit = changed("world module {", "world module {\n import messages;");
    let said = said(&of(&wit, "module"));
    assert!(said.contains("the world `history`"), "it is taken for a history without a window: {said}");
    assert!(said.contains("it does not export `gg:module/window@0.1.0`"), "{said}");
}

#[test]
fn a_changed_import_is_shown() {
    let wit = changed("text: func(id: u64, max-bytes: u32)", "text: func(id: string, max-bytes: u32)");
    assert_eq!(
        said(&of(&wit, "history")),
        "it does not fit the world `history` of gg:module@0.1.0\n  \
         `gg:module/messages@0.1.0` has another `text`:\n    \
         wanted func(id: u64, max-bytes: u32) -> result<string, string>\n    \
         found  func(id: string, max-bytes: u32) -> result<string, string>"
    );
}
