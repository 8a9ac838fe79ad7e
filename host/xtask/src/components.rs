//! `cargo xtask components`: compiles the modules and makes components of them.

use crate::{
    step,
    toolchain::{TARGET, Toolchain},
    tree::Tree,
};
use anyhow::{Context, Result};
use std::{fs, path::Path};
use wit_component::ComponentEncoder;

/// The modules that gg has inside: their kinds, which are also their folders under `plugins`.
const BUILT_IN: [&str; 5] = ["history", "tasks", "notebook", "memories", "programs"];

/// Components that only tests load.
const GUESTS: [&str; 2] = ["hostile", "hostile-history"];

/// Builds all of them.
pub(crate) fn run(tree: &Tree) -> Result<()> {
    step::say("The components");
    let toolchain = Toolchain::find()?;
    let mut command = toolchain.build();
    command.current_dir(tree.plugins()).arg("--locked").arg("--target-dir").arg(tree.plugins_target());
    for kind in BUILT_IN {
        command.args(["--package", &format!("gg-module-{kind}")]);
    }
    for guest in GUESTS {
        command.args(["--package", &format!("gg-guest-{guest}")]);
    }
    step::run(&mut command)?;

    let built = tree.plugins_target().join(TARGET).join("release");
    for kind in BUILT_IN {
        let module = built.join(format!("gg_module_{kind}.wasm"));
        encode(&module, &tree.bin().join("components").join(format!("{kind}.wasm")))?;
    }
    for guest in GUESTS {
        let module = built.join(format!("gg_guest_{}.wasm", guest.replace('-', "_")));
        encode(&module, &tree.bin().join("guests").join(format!("{guest}.wasm")))?;
    }
    Ok(())
}

/// Makes a component of a core module that carries its world's description.
fn encode(module: &Path, component: &Path) -> Result<()> {
    let bytes = fs::read(module).with_context(|| format!("{} was not built", module.display()))?;
    let encoded = ComponentEncoder::default()
        .module(&bytes)
        .and_then(|encoder| encoder.validate(true).encode())
        .with_context(|| format!("{} is not the component it says it is", module.display()))?;
    let change = write_if_changed(component, &encoded)?;
    println!("    {} ({} KiB, {change})", component.display(), encoded.len() / 1024);
    Ok(())
}

/// Leaves a file's time alone where nothing changed, so that nothing built from it is built again.
fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<&'static str> {
    if fs::read(path).is_ok_and(|before| before == bytes) {
        return Ok("unchanged");
    }
    let folder = path.parent().context("a component has a folder")?;
    fs::create_dir_all(folder)?;
    // Renamed into place: a compiler or a test that reads the file now must not see half of it.
    let fresh = path.with_extension("wasm.new");
    fs::write(&fresh, bytes).with_context(|| format!("{} cannot be written", fresh.display()))?;
    fs::rename(&fresh, path)?;
    Ok("new")
}
