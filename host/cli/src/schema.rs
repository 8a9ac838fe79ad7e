//! `gg schema`: what editors and other programs may count on, as JSON Schema.

use crate::{exit::Exit, launch};
use anyhow::Context;
use clap::ValueEnum;
use serde_json::Value;
use std::io::{self, Write};

const EXAMPLES: &str = "\
Examples:
  gg schema config > gg.schema.json   and \"$schema\": \"./gg.schema.json\" in a
                                      configuration, for your editor
  gg schema events                    what a line of `gg run --json` may be";

/// The events' schema, written by hand beside the code that prints them; a test holds it against every event.
const EVENTS: &str = include_str!("events.schema.json");

/// Print a JSON Schema: of the configuration, or of the events
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to describe
    #[arg(value_enum, default_value_t = Of::Config)]
    of: Of,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Of {
    /// The configuration document
    Config,
    /// One line of `gg run --json`
    Events,
}

/// Prints the schema.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let schema = match args.of {
        Of::Config => gg_config::schema(&launch::kinds()?),
        Of::Events => events()?,
    };
    let mut text = serde_json::to_string_pretty(&schema)?;
    text.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(Exit::Well)
}

fn events() -> anyhow::Result<Value> {
    serde_json::from_str(EVENTS).context("the schema of the events is not JSON")
}

#[cfg(test)]
mod tests;
