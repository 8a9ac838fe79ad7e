//! Finding, or getting, a Rust that compiles to WebAssembly.

use crate::step;
use anyhow::{Result, bail};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// No WASI: a module imports nothing but what its contract names.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's packages: a rustc with the target, its cargo, the sources of std (Debian ships none built for the
/// target), and the linker.
const DEBIAN: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19"];

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_LINKER: &str = "/usr/bin/wasm-ld-19";

/// A toolchain that can build the components.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The one that runs this program has the target.
    Own,
    /// Debian's, which builds std for the target itself.
    Debian,
}

/// What can be done on this machine to get one.
#[derive(Debug, PartialEq, Eq)]
enum Offer {
    /// Nothing has to be done.
    Have(Toolchain),
    /// Install Debian's packages.
    Install,
    /// Let rustup add the target.
    AddTarget,
    /// Ask the person to run this.
    Ask(String),
}

/// What a machine has. Gathered apart from the choice, so that the choice can be tested.
#[derive(Clone, Copy, Debug, Default)]
struct Machine {
    own_target: bool,
    debian_toolchain: bool,
    debian: bool,
    root: bool,
    rustup: bool,
}

impl Machine {
    fn look() -> Self {
        Self {
            own_target: has_own_target(),
            debian_toolchain: has_debian_toolchain(),
            debian: Path::new("/etc/debian_version").exists() && Path::new("/usr/bin/apt-get").exists(),
            root: step::output(Command::new("id").arg("-u")).as_deref() == Some("0"),
            rustup: step::output(Command::new("rustup").arg("--version")).is_some(),
        }
    }

    /// The first that works: what is there, then what can be had without asking, then one command to run.
    fn offer(self) -> Offer {
        match self {
            Self { own_target: true, .. } => Offer::Have(Toolchain::Own),
            Self { debian_toolchain: true, .. } => Offer::Have(Toolchain::Debian),
            Self { debian: true, root: true, .. } => Offer::Install,
            Self { rustup: true, .. } => Offer::AddTarget,
            Self { debian: true, .. } => {
                Offer::Ask(format!("sudo apt-get install --no-install-recommends {}", DEBIAN.join(" ")))
            }
            _ => Offer::Ask(format!(
                "curl --proto '=https' -sSf https://sh.rustup.rs | sh -s -- --target {TARGET}"
            )),
        }
    }
}

impl Toolchain {
    /// Finds one, or gets one and says so, or says what to run.
    pub(crate) fn find() -> Result<Self> {
        let toolchain = match Machine::look().offer() {
            Offer::Have(toolchain) => toolchain,
            Offer::Install => {
                step::say(&format!(
                    "This Rust cannot compile to {TARGET}: installing Debian's {}",
                    DEBIAN.join(", ")
                ));
                let apt = || {
                    let mut apt = Command::new("apt-get");
                    apt.env("DEBIAN_FRONTEND", "noninteractive");
                    apt
                };
                step::run(apt().args(["update", "--quiet"]))?;
                step::run(
                    apt().args(["install", "--quiet", "--yes", "--no-install-recommends"]).args(DEBIAN),
                )?;
                if !has_debian_toolchain() {
                    bail!(
                        "Debian's packages are installed, and yet there is no {DEBIAN_LINKER} or no std to build"
                    );
                }
                Self::Debian
            }
            Offer::AddTarget => {
                step::say(&format!("This Rust cannot compile to {TARGET}: letting rustup add the target"));
                step::run(Command::new("rustup").args(["target", "add", TARGET]))?;
                if !has_own_target() {
                    bail!(
                        "rustup added the target to another toolchain than the one in use; run `rustup target add \
                         {TARGET}` for that one"
                    );
                }
                Self::Own
            }
            Offer::Ask(command) => {
                bail!("this Rust cannot compile to {TARGET}. Run this, then try again:\n\n    {command}\n")
            }
        };
        println!("    with {}", toolchain.version());
        Ok(toolchain)
    }

    /// What the compiler says it is. Packages move, so every build tells.
    pub(crate) fn version(&self) -> String {
        let rustc = match self {
            Self::Own => own_rustc(),
            Self::Debian => DEBIAN_RUSTC.into(),
        };
        step::output(Command::new(&rustc).arg("--version"))
            .unwrap_or_else(|| format!("an unknown version of {}", rustc.display()))
    }

    /// A cargo command that builds for the target. The caller names what.
    pub(crate) fn build(&self) -> Command {
        let mut command = match self {
            Self::Own => step::cargo(),
            Self::Debian => {
                let mut command = Command::new(DEBIAN_CARGO);
                step::forget_cargo(&mut command);
                // -Zbuild-std is a nightly feature that std itself is built with; this admits it.
                command
                    .env("RUSTC_BOOTSTRAP", "1")
                    .env("RUSTC", DEBIAN_RUSTC)
                    .env("RUSTDOC", "/usr/bin/rustdoc")
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", DEBIAN_LINKER)
                    .env_remove("RUSTUP_TOOLCHAIN")
                    .env_remove("RUSTC_WRAPPER")
                    .env_remove("RUSTC_WORKSPACE_WRAPPER");
                command
            }
        };
        command
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            // A module's stack is 1 MiB, said here so that no toolchain's own default decides it.
            .env("RUSTFLAGS", "-C link-arg=-zstack-size=1048576")
            .args(["build", "--release", "--target", TARGET]);
        if *self == Self::Debian {
            // Without the feature `backtrace`: a module's trap is told by the host, and the crates that read
            // debug information take a third of std's building time.
            command.args(["-Zbuild-std=std,panic_abort", "-Zbuild-std-features=default"]);
        }
        command
    }
}

/// The compiler beside the cargo that runs this.
fn own_rustc() -> PathBuf {
    if let Some(rustc) = std::env::var_os("RUSTC") {
        return rustc.into();
    }
    let beside = std::env::var_os("CARGO").map(|cargo| Path::new(&cargo).with_file_name("rustc"));
    beside.filter(|rustc| rustc.is_file()).unwrap_or_else(|| "rustc".into())
}

fn has_own_target() -> bool {
    step::output(Command::new(own_rustc()).args(["--print", "target-libdir", "--target", TARGET]))
        .and_then(|libdir| std::fs::read_dir(libdir).ok())
        .is_some_and(|files| {
            files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libstd-"))
        })
}

fn has_debian_toolchain() -> bool {
    let sources = || {
        let sysroot = step::output(Command::new(DEBIAN_RUSTC).args(["--print", "sysroot"]))?;
        Some(Path::new(&sysroot).join("lib/rustlib/src/rust/library/std/Cargo.toml").exists())
    };
    Path::new(DEBIAN_CARGO).exists() && Path::new(DEBIAN_LINKER).exists() && sources() == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_is_there_before_it_installs_and_installs_before_it_asks() {
        let nothing = Machine::default();
        let all =
            Machine { own_target: true, debian_toolchain: true, debian: true, root: true, rustup: true };
        assert_eq!(all.offer(), Offer::Have(Toolchain::Own));
        assert_eq!(Machine { own_target: false, ..all }.offer(), Offer::Have(Toolchain::Debian));
        let bare = Machine { own_target: false, debian_toolchain: false, ..all };
        assert_eq!(bare.offer(), Offer::Install);
        assert_eq!(Machine { root: false, ..bare }.offer(), Offer::AddTarget);
        assert_eq!(Machine { rustup: true, ..nothing }.offer(), Offer::AddTarget);
        let asked = |machine: Machine| match machine.offer() {
            Offer::Ask(command) => command,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            asked(Machine { debian: true, ..nothing }),
            "sudo apt-get install --no-install-recommends rustc-web cargo-web rust-web-src lld-19"
        );
        assert!(asked(nothing).contains("rustup"));
    }
}
