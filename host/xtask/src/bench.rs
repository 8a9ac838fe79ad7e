//! `cargo xtask bench`: measures.

use crate::{build, step, tree::Tree};
use anyhow::{Context, Result};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What the peers of the benchmarks need, at the versions that the figures were taken with.
const PEERS: [&str; 2] = ["langgraph==1.2.24", "openai-agents==0.24.0"];

/// Builds, then runs the benchmarks, or only those named.
pub(crate) fn run(tree: &Tree, names: &[&str]) -> Result<()> {
    build::run(tree)?;
    let python = peers(tree);
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
    match python {
        Ok(python) => {
            command.env("GG_BENCH_PYTHON", python);
        }
        Err(error) => println!("no peers to compare with: {error:#}"),
    }
    for name in if names.is_empty() { &["*"] } else { names } {
        command.args(["--bench", name]);
    }
    step::run(&mut command)
}

/// A Python with the peers, set up once.
fn peers(tree: &Tree) -> Result<PathBuf> {
    let folder = cache_folder(tree).join("bench-python");
    let python = folder.join("bin/python");
    let marker = folder.join("peers.txt");
    let wanted = PEERS.join("\n");
    if fs::read_to_string(&marker).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    step::say("Setting up the peers to compare with");
    step::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    step::run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PEERS))?;
    fs::write(&marker, wanted).with_context(|| format!("{} cannot be written", marker.display()))?;
    Ok(python)
}

fn cache_folder(tree: &Tree) -> PathBuf {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    cache.or_else(home).unwrap_or_else(|| tree.root().join("target")).join("gg")
}
