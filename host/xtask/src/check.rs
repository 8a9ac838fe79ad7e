//! `cargo xtask check`: what can be said without running anything.

use crate::{
    build, doc,
    step::{self, Steps},
    tree::Tree,
};
use anyhow::Result;
use std::{path::Path, process::Command};

/// Builds (gg has the components inside), then checks.
pub(crate) fn run(tree: &Tree) -> Result<()> {
    build::run(tree)?;
    let mut steps = Steps::default();
    add(tree, &mut steps);
    steps.finish()
}

/// The steps, for `test` as well.
pub(crate) fn add(tree: &Tree, steps: &mut Steps) {
    let plugins = tree.plugins();
    for (name, folder) in [("host", tree.root()), ("plugins", &plugins)] {
        steps.step(&format!("Formatting: {name}"), || {
            step::run(step::cargo().current_dir(folder).args(["fmt", "--all", "--check"]))
        });
    }
    for (name, folder) in [("host", tree.root()), ("plugins", &plugins)] {
        steps.step(&format!("Clippy: {name}"), || {
            step::run(in_workspace(tree, folder).args([
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ]))
        });
    }
    steps.step("Documentation", || doc::build(tree));
    deny(tree, steps);
}

/// A cargo command in one of the two workspaces, for this machine.
pub(crate) fn in_workspace(tree: &Tree, folder: &Path) -> Command {
    let mut command = step::cargo();
    command.current_dir(folder);
    if folder != tree.root() {
        command.env("CARGO_TARGET_DIR", tree.plugins_target());
    }
    command
}

/// Licences and sources of the dependencies. Advisories need a database from the network, so they are for
/// whoever has one.
fn deny(tree: &Tree, steps: &mut Steps) {
    if !step::has_cargo("deny") {
        step::say("cargo-deny is not installed: licences and sources of the dependencies are not checked");
        return;
    }
    let plugins = tree.plugins();
    for (name, folder) in [("host", tree.root()), ("plugins", plugins.as_path())] {
        steps.step(&format!("Dependencies: {name}"), || {
            step::run(
                step::cargo()
                    .current_dir(folder)
                    .args(["deny", "--offline", "check", "--config"])
                    .arg(tree.root().join("deny.toml"))
                    .args(["bans", "licenses", "sources"]),
            )
        });
    }
}
