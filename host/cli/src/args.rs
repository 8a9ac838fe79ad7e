//! The arguments that gg takes, and what its help says.

use crate::{check, completions, exit, launch, run, runs, schema, show};
use clap::{Parser, Subcommand, ValueHint};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

/// What `gg --help` says below the commands.
const EXAMPLES: &str = "\
Examples:
  gg check agents.jsonc                      is it right, and if not, where not
  gg run agents.jsonc \"Tidy up README.md\"    the working directory is the workspace
  gg run agents.jsonc < task.md > result.md  the task from a file, the result to one
  gg runs                                    the runs on record
  gg show last --transcript                  all that was said in the latest one
  gg schema config > gg.schema.json          completion and checks in an editor

Exit codes:
  0    the root agent ended well: by a text, or by declaring success
  1    it did not, or the command failed
  2    the command or the configuration was refused; nothing was run
  130  interrupted";

/// Run agents whose every part is a WebAssembly component
///
/// gg runs agents: models that work in turns, with calls that act on the world. Whatever an agent holds (its
/// history, its tasks, its notebook, modules of your own) is a WebAssembly component behind one small
/// contract, so it is limited, durable and replaceable.
///
/// A configuration is one JSON document (comments and trailing commas are fine). It names the agents, the
/// models they speak to and what each may do. gg checks all of it before anything runs, and keeps the whole
/// record of each run in a folder of its own.
#[derive(Debug, Parser)]
#[command(
    name = "gg",
    bin_name = "gg",
    version,
    after_help = EXAMPLES,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Check(check::Args),
    Show(show::Args),
    Runs(runs::Args),
    Schema(schema::Args),
    Completions(completions::Args),
}

/// Where runs are kept.
#[derive(Debug, clap::Args)]
pub(crate) struct RunsDir {
    /// The folder that holds the runs [default: gg/runs in your state folder, ~/.local/state on Linux]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    runs: Option<PathBuf>,
}

impl RunsDir {
    /// The folder that was asked for, or the user's own.
    pub(crate) fn path(&self) -> anyhow::Result<PathBuf> {
        match &self.runs {
            Some(dir) => Ok(dir.clone()),
            None => Ok(gg_store::default_runs_dir()?),
        }
    }

    /// The folder that was asked for.
    pub(crate) fn given(&self) -> Option<&Path> {
        self.runs.as_deref()
    }
}

/// Does what the process was started for.
pub(crate) fn carry_out() -> ExitCode {
    // Between two processes of gg, exit code included: no command for people, so clap does not know it.
    if std::env::args_os().nth(1).is_some_and(|word| word == launch::COMPILE_COMMAND) {
        return gg_sandbox::compile_in_child_main();
    }
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => return exit::conclude(Err(error.into())),
    };
    exit::conclude(match command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Runs(args) => runs::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
    })
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
    }
}
