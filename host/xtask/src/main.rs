//! What is done around gg: `cargo xtask TASK`.

mod bench;
mod build;
mod check;
mod components;
mod demo;
mod doc;
mod peers;
mod step;
mod test;
mod toolchain;
mod tree;

use anyhow::{Result, bail};
use std::process::ExitCode;
use tree::Tree;

const HELP: &str = "\
Usage: cargo xtask TASK

  build                builds the components and gg; leaves gg at bin/gg
  demo                 builds, then shows the first example at work (no key, no network)
  test                 builds, then runs everything CI runs
  components           builds the components only, into bin/components and bin/guests
  check                formatting, clippy and documentation, without running tests
  doc                  the documentation, without warnings
  bench [NAME…]        builds, then measures; with names, only those benchmarks
  peers --gate URL     builds, then runs the tests that need the mock of tests/peers behind the gate at URL
                       (--aimock URL: the mock's own address, if the gate does not pass questions on)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    let tree = Tree::here();
    match arguments {
        ["build"] => build::run(&tree),
        ["demo"] => demo::run(&tree),
        ["test"] => test::run(&tree),
        ["components"] => components::run(&tree),
        ["check"] => check::run(&tree),
        ["doc"] => doc::run(&tree),
        ["bench", names @ ..] => bench::run(&tree, names),
        ["peers", "--gate", gate] => peers::run(&tree, gate, None),
        ["peers", "--gate", gate, "--aimock", aimock] => peers::run(&tree, gate, Some(aimock)),
        ["peers", ..] => {
            bail!("peers needs the gate's address: cargo xtask peers --gate http://127.0.0.1:PORT")
        }
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        [] => bail!("which task?\n\n{HELP}"),
        [unknown, ..] => bail!("there is no task `{unknown}`, or not with these arguments\n\n{HELP}"),
    }
}
