//! Sees that the built-in components are there to be included, and says what to do if they are not.

use std::path::Path;

/// The kinds of the built-in components. `src/registry.rs` includes the same ones.
const KINDS: [&str; 5] = ["history", "tasks", "notebook", "memories", "programs"];

fn main() {
    let folder =
        Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../bin/components");
    let mut missing = false;
    for kind in KINDS {
        let file = folder.join(format!("{kind}.wasm"));
        println!("cargo::rerun-if-changed={}", file.display());
        missing |= !file.is_file();
    }
    if missing {
        println!("cargo::error=the built-in components are not built yet: run `cargo xtask build`");
    }
}
