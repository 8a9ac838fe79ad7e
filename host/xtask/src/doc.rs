//! `cargo xtask doc`: the documentation, without a warning.

use crate::{check::in_workspace, components, step, tree::Tree};
use anyhow::Result;

/// Builds it, and says where it is.
pub(crate) fn run(tree: &Tree) -> Result<()> {
    // gg-modules has them inside, and does not compile without.
    components::run(tree)?;
    step::say("Documentation");
    build(tree)?;
    println!("    {}", tree.target().join("doc/gg/index.html").display());
    println!("    {}", tree.plugins_target().join("doc/gg_module_sdk/index.html").display());
    Ok(())
}

/// Builds it, in both workspaces.
pub(crate) fn build(tree: &Tree) -> Result<()> {
    let plugins = tree.plugins();
    for folder in [tree.root(), plugins.as_path()] {
        step::run(in_workspace(tree, folder).env("RUSTDOCFLAGS", "-D warnings").args([
            "doc",
            "--workspace",
            "--no-deps",
            "--locked",
        ]))?;
    }
    Ok(())
}
