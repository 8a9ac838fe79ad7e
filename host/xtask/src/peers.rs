//! `cargo xtask peers --gate URL [--aimock URL]`: the tests that need real servers.

use crate::{build, step, tree::Tree};
use anyhow::Result;

/// Builds, then runs the tests that are ignored otherwise, against the mock behind the gate at `gate`. It
/// is asked what it saw through the gate, or at its own address, `aimock`.
pub(crate) fn run(tree: &Tree, gate: &str, aimock: Option<&str>) -> Result<()> {
    build::run(tree)?;
    step::say(&format!("The tests against {gate}"));
    let mut command = step::cargo();
    command.current_dir(tree.root()).env("GG_BIN", tree.gg()).env("GG_PEERS_GATE", gate);
    if let Some(aimock) = aimock {
        command.env("GG_PEERS_AIMOCK", aimock);
    }
    // With gg beside it, so that the dependencies have the features they were built with.
    if step::has_cargo("nextest") {
        command.args(["nextest", "run", "--locked", "--package", "gg", "--package", "gg-tests"]);
        command.args(["--run-ignored=all", "--filterset", "binary(=peers)"]);
    } else {
        command.args(["test", "--locked", "--package", "gg", "--package", "gg-tests", "--test", "peers"]);
        command.args(["--", "--include-ignored"]);
    }
    step::run(&mut command)
}
