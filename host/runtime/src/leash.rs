//! What ends an agent from outside: a cancellation, or time that is up.

use gg_core::Ending;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};
use tokio_util::sync::CancellationToken;

/// Pulled once, it ends its agent with the given ending, as soon as what the agent is doing allows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leash(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    ending: OnceLock<Ending>,
    token: CancellationToken,
    stop: AtomicBool,
}

impl Leash {
    /// Ends the agent so. The first ending stands.
    pub(crate) fn pull(&self, ending: Ending) {
        let _ = self.0.ending.set(ending);
        self.0.stop.store(true, Ordering::Relaxed);
        self.0.token.cancel();
    }

    /// How the agent is to end, if it is.
    pub(crate) fn pulled(&self) -> Option<Ending> {
        self.0.token.is_cancelled().then(|| self.ending())
    }

    /// Returns when the agent is to end, with how.
    pub(crate) async fn wait(&self) -> Ending {
        self.0.token.cancelled().await;
        self.ending()
    }

    /// True once it was pulled: for work that cannot await.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0.stop
    }

    fn ending(&self) -> Ending {
        let unsaid = || Ending::Cancelled { reason: String::new() };
        self.0.ending.get().cloned().unwrap_or_else(unsaid)
    }
}
