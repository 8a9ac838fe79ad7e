//! `cargo xtask test`: everything CI runs.

use crate::{
    build, check,
    check::in_workspace,
    step::{self, Steps},
    tree::Tree,
};
use anyhow::Result;
use std::path::Path;

/// Builds, checks and tests.
pub(crate) fn run(tree: &Tree) -> Result<()> {
    build::run(tree)?;
    let mut steps = Steps::default();
    check::add(tree, &mut steps);
    let plugins = tree.plugins();
    for (name, folder) in [("host", tree.root()), ("plugins", &plugins)] {
        steps.step(&format!("Tests: {name}"), || unit(tree, folder));
    }
    for (name, folder) in [("host", tree.root()), ("plugins", &plugins)] {
        steps.step(&format!("Examples in the documentation: {name}"), || {
            step::run(in_workspace(tree, folder).args(["test", "--workspace", "--doc", "--locked"]))
        });
    }
    steps.finish()
}

fn unit(tree: &Tree, folder: &Path) -> Result<()> {
    let mut command = in_workspace(tree, folder);
    command.env("GG_BIN", tree.gg());
    if step::has_cargo("nextest") {
        command.args(["nextest", "run", "--workspace", "--locked", "--no-fail-fast"]);
    } else {
        command.args(["test", "--workspace", "--lib", "--bins", "--tests", "--locked", "--no-fail-fast"]);
    }
    step::run(&mut command)
}
