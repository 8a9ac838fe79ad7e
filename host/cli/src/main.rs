//! The `gg` command: arguments, wiring, progress and exit codes. The only crate that prints.

mod amounts;
mod args;
mod check;
mod clean;
mod completions;
mod exit;
mod feed;
mod json;
mod launch;
mod progress;
mod refusals;
mod run;
mod runs;
mod schema;
mod show;
mod signals;
mod styled;
mod summary;
mod terminal;
mod transcript;

use std::process::ExitCode;

fn main() -> ExitCode {
    args::carry_out()
}
