//! Ctrl-C and SIGTERM: the first ends the run cleanly, the second ends gg on the spot.

use crate::{exit::Exit, terminal};
use anyhow::Context;
use tokio::sync::oneshot;

/// Listens from now on. The answer comes with the first signal; the second never returns.
///
/// Needs a runtime with worker threads: the second signal must be heard even while the first thread is stuck
/// in a write to a pipe that nobody reads.
pub(crate) fn first() -> anyhow::Result<oneshot::Receiver<&'static str>> {
    let mut signals = Signals::listen().context("cannot listen for Ctrl-C")?;
    let (tell, told) = oneshot::channel();
    tokio::spawn(async move {
        let name = signals.next().await;
        // Whoever asked may have ended by itself in the meantime.
        let _ = tell.send(name);
        signals.next().await;
        terminal::give_back();
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
    Ok(told)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "Ctrl-C",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> &'static str {
        // An error here means that no signal will ever come.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}
