//! Running other programs, and saying so.

use anyhow::{Context, Result, bail};
use std::{ffi::OsStr, process::Command, time::Instant};

/// Says what comes next.
pub(crate) fn say(what: &str) {
    println!("\n==> {what}");
}

/// Runs a command, and fails if it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("`{shown}` could not be started"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// What a command prints, if it can be run and ends well.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Whether a program of cargo's, such as `nextest`, is installed.
pub(crate) fn has_cargo(subcommand: &str) -> bool {
    output(cargo().args([subcommand, "--version"])).is_some()
}

/// The cargo that started this program, without what it told this program about itself.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    forget_cargo(&mut command);
    command
}

/// Takes what `cargo run` set for this program out of a command's environment: build scripts and other
/// toolchains must not see it.
pub(crate) fn forget_cargo(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let about_us =
            ["CARGO_PKG_", "CARGO_BIN_", "CARGO_CRATE_"].iter().any(|prefix| text.starts_with(prefix));
        if about_us || ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PRIMARY_PACKAGE"].contains(&text)
        {
            command.env_remove(&name);
        }
    }
}

fn shown(command: &Command) -> String {
    let words: Vec<&OsStr> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Steps that are all tried, so that one run tells everything that is wrong.
#[derive(Default)]
pub(crate) struct Steps {
    done: usize,
    failed: Vec<String>,
}

impl Steps {
    /// Tries one.
    pub(crate) fn step(&mut self, name: &str, step: impl FnOnce() -> Result<()>) {
        say(name);
        let start = Instant::now();
        match step() {
            Ok(()) => println!("    {name}: done in {:.1} s", start.elapsed().as_secs_f64()),
            Err(error) => {
                eprintln!("error: {name}: {error:#}");
                self.failed.push(name.to_owned());
            }
        }
        self.done += 1;
    }

    /// Tells how they went.
    pub(crate) fn finish(self) -> Result<()> {
        let passed = self.done - self.failed.len();
        println!("\n{passed} steps passed, {} failed", self.failed.len());
        if self.failed.is_empty() {
            return Ok(());
        }
        bail!("failed: {}", self.failed.join("; "))
    }
}
