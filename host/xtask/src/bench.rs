//! `cargo xtask bench`: measures.

use crate::{build, step, tree::Tree};
use anyhow::Result;

/// Builds, then runs the benchmarks, or only those named.
pub(crate) fn run(tree: &Tree, names: &[&str]) -> Result<()> {
    build::run(tree)?;
    step::say("Benchmarks");
    // The profile and the features that everything else is built with, so that wasmtime is not compiled a
    // second time.
    let mut command = step::cargo();
    command.current_dir(tree.root()).env("GG_BIN", tree.gg()).args([
        "bench",
        "--locked",
        "--package",
        "gg",
        "--package",
        "gg-tests",
        "--profile",
        "dev",
    ]);
    for name in if names.is_empty() { &["*"] } else { names } {
        command.args(["--bench", name]);
    }
    step::run(&mut command)
}
