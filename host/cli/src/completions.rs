//! `gg completions`: what makes a shell complete gg's arguments.

use crate::{args::Cli, exit::Exit};
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::{self, Write};

const EXAMPLES: &str = "\
Examples:
  gg completions bash > ~/.local/share/bash-completion/completions/gg
  gg completions zsh > \"${fpath[1]}/_gg\"
  gg completions fish > ~/.config/fish/completions/gg.fish";

/// Print what makes your shell complete gg's arguments
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    // The generator panics where it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gg", &mut script);
    let mut out = io::stdout().lock();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Exit::Well)
}
