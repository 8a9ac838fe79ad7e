//! The hidden command by which gg compiles a stranger's component in a process of its own: Cranelift cannot
//! be interrupted, a process can.

use crate::exit::Exit;

/// Compiles what stands on stdin. `gg-sandbox` defines what goes in and out.
pub(crate) fn run() -> anyhow::Result<Exit> {
    gg_sandbox::compile_child()?;
    Ok(Exit::Well)
}
