//! `cargo xtask demo`: a lead and its three readers at work.

use crate::{build, step, tree::Tree};
use anyhow::{Context, Result};
use std::{fs, path::Path, process::Command};

/// What the example's agent is asked.
const PROMPT: &str = "Write the release notes.";

/// Builds gg, and runs the example on a copy of its workspace, because its agent writes there.
pub(crate) fn run(tree: &Tree) -> Result<()> {
    build::run(tree)?;
    let example = tree.root().join("examples/team");
    let workspace = std::env::temp_dir().join(format!("gg-demo-{}", std::process::id()));
    copy(&example.join("workspace"), &workspace)?;
    step::say(&format!("gg run examples/team/gg.jsonc --workspace {}", workspace.display()));
    let outcome = step::run(
        Command::new(tree.gg())
            .current_dir(tree.root())
            .arg("run")
            .arg(example.join("gg.jsonc"))
            .arg("--workspace")
            .arg(&workspace)
            .arg(PROMPT),
    );
    if outcome.is_ok() {
        println!("\nWhat it wrote is in {}", workspace.display());
    }
    outcome
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("{} cannot be read", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
