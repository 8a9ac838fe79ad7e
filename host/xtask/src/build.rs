//! `cargo xtask build`: the components, then gg with them inside.

use crate::{components, step, tree::Tree};
use anyhow::{Context, Result};
use std::fs;

/// Builds both, and leaves gg at `bin/gg`.
pub(crate) fn run(tree: &Tree) -> Result<()> {
    components::run(tree)?;
    step::say("gg");
    step::run(step::cargo().current_dir(tree.root()).args([
        "build",
        "--locked",
        "--package",
        "gg",
        "--bin",
        "gg",
    ]))?;
    let built = tree.target().join("debug").join(format!("gg{}", std::env::consts::EXE_SUFFIX));
    // Renamed into place: a gg that is running keeps its own file.
    let fresh = tree.bin().join("gg.new");
    fs::copy(&built, &fresh).with_context(|| format!("{} was not built", built.display()))?;
    fs::rename(&fresh, tree.gg())?;
    println!("    {}", tree.gg().display());
    Ok(())
}
