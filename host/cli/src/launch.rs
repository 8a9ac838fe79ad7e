//! From a file's name to a configuration that passed the launch check: what `gg check` and `gg run` share.

use crate::exit;
use anyhow::Context;
use etcetera::{BaseStrategy, base_strategy::Xdg};
use gg_config::{Catalogue, Code, Configuration, Kind, Refusal, Source};
use gg_modules::Registry;
use gg_runtime::launch::{ComponentTable, gather};
use gg_sandbox::{CompilerProcess, Limits, Sandbox, SandboxOptions};
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

/// The argument by which gg starts itself to compile a component.
pub(crate) const COMPILE_COMMAND: &str = "__compile";

/// The most of a configuration that is read, in bytes: more than the check accepts, so that the check says
/// what is too large, and a device that never ends is not read for ever.
const MAX_CONFIG_BYTES: u64 = 8 * 1024 * 1024;

/// What the check said of a configuration.
pub(crate) enum Checked {
    /// It can be run.
    Clean(Box<Clean>),
    /// It cannot.
    Refused {
        /// What messages call it.
        name: String,
        /// Its text, without secrets.
        text: String,
        /// Everything that is wrong with it.
        refusals: Vec<Refusal>,
    },
}

/// A configuration that can be run.
pub(crate) struct Clean {
    /// The document.
    pub(crate) source: Source,
    /// What it means.
    pub(crate) configuration: Configuration,
    /// What the check knew of the world.
    pub(crate) catalogue: Catalogue,
    /// The components it uses.
    pub(crate) components: ComponentTable,
    /// The folder that its paths are relative to.
    pub(crate) base: PathBuf,
}

/// A file that holds no text to check.
#[derive(Debug)]
pub(crate) struct Unread {
    code: Code,
    message: String,
    help: &'static str,
}

impl Unread {
    /// As the check refuses what it has read.
    pub(crate) fn refusal(self) -> Refusal {
        Refusal {
            code: self.code,
            message: self.message,
            help: self.help.into(),
            pointer: String::new(),
            line: 1,
            column: 1,
            length: 0,
            profile: None,
            capability: None,
            range: 0..0,
        }
    }
}

impl From<Unread> for anyhow::Error {
    fn from(unread: Unread) -> Self {
        exit::Refusal::new(unread.message, unread.help).into()
    }
}

/// Reads and checks the configuration at `path`.
///
/// # Errors
/// If it cannot be read, or gg itself cannot get ready: refusals of the configuration are no errors here.
pub(crate) fn check(path: &Path) -> anyhow::Result<Checked> {
    check_text(path, read(path)?)
}

/// Checks the configuration `text` that was read from `path`.
///
/// # Errors
/// If gg itself cannot get ready.
pub(crate) fn check_text(path: &Path, text: String) -> anyhow::Result<Checked> {
    let name = path.display().to_string();
    let source = match Source::parse(&name, &text) {
        Ok(source) => source,
        Err(refusals) => return Ok(Checked::Refused { name, text, refusals }),
    };
    let base = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let registry = Arc::new(registry()?);
    let gathered = gather(&source, &base, &registry);
    match gg_config::check(&source, &gathered.catalogue) {
        Ok(configuration) => Ok(Checked::Clean(Box::new(Clean {
            source,
            configuration,
            catalogue: gathered.catalogue,
            components: gathered.components,
            base,
        }))),
        Err(refusals) => {
            let text = source.shown_text(&refusals);
            Ok(Checked::Refused { name, text, refusals })
        }
    }
}

/// The kinds that every configuration may use: those built into gg.
pub(crate) fn kinds() -> anyhow::Result<BTreeMap<String, Kind>> {
    let nothing =
        Source::parse("nothing", "{}").map_err(|_| anyhow::anyhow!("an empty document cannot be read"))?;
    Ok(gather(&nothing, Path::new("."), &Arc::new(registry()?)).catalogue.kinds)
}

/// The text of the configuration at `path`.
pub(crate) fn read(path: &Path) -> Result<String, Unread> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_CONFIG_BYTES).read_to_end(&mut bytes));
    if let Err(error) = read {
        let help = match error.kind() {
            io::ErrorKind::NotFound => {
                "name a configuration file; `gg schema config` says what goes into one"
            }
            _ => "check that it is a file, and that you may read it",
        };
        let message = format!("cannot read {}: {error}", path.display());
        return Err(Unread { code: Code::FileUnreadable, message, help });
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("{} is not UTF-8 text: byte {at} is none", path.display());
        Unread { code: Code::Syntax, message, help: "save it as UTF-8" }
    })
}

fn registry() -> anyhow::Result<Registry> {
    let program =
        std::env::current_exe().context("cannot find gg's own program file, which compiles components")?;
    let options = SandboxOptions {
        cache_dir: cache_dir(),
        compiler: Some(CompilerProcess { program, args: vec![COMPILE_COMMAND.into()] }),
        limits: Limits::default(),
    };
    Ok(Registry::new(Sandbox::new(options)?)?)
}

/// Where compiled components are kept: `gg/components` in the user's cache folder, by the XDG base directory
/// specification. Without a home folder, nowhere: they are then compiled anew each time.
fn cache_dir() -> Option<PathBuf> {
    Some(Xdg::new().ok()?.cache_dir().join("gg").join("components"))
}
