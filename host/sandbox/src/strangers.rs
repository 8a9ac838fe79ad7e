//! The threads that strangers' code runs on, so that it cannot slow anything else.

use crate::{fault::Fault, limits::Limit, sandbox::SandboxError};
use std::{
    pin::Pin,
    task::{Context, Poll},
    thread,
};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

/// The most threads that run strangers' code. Their calls take turns on them at every tick of the epoch.
const MAX_THREADS: usize = 4;

/// How far these threads stand back when the processors are busy: a tenth of what an ordinary thread gets, so
/// that their own deadlines can still be kept.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A small runtime of its own.
pub(crate) struct StrangerThreads(Option<Runtime>);

impl StrangerThreads {
    /// Starts half as many threads as there are processors, at least one.
    pub(crate) fn start() -> Result<Self, SandboxError> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Builder::new_multi_thread()
            .worker_threads((processors / 2).clamp(1, MAX_THREADS))
            .thread_name("gg-strangers")
            .on_thread_start(stand_back)
            .build()
            .map(|runtime| Self(Some(runtime)))
            .map_err(|error| SandboxError::Thread(error.to_string()))
    }

    /// Runs `work` there. Dropping the answer's future ends the work, with all it holds, at its next pause.
    pub(crate) fn run<T, F>(&self, work: F) -> Running<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        Running(self.0.as_ref().map(|runtime| runtime.spawn(work)))
    }
}

impl Drop for StrangerThreads {
    fn drop(&mut self) {
        // Waiting for the threads would panic where the last holder is itself a task.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Work on the strangers' threads.
pub(crate) struct Running<T>(Option<JoinHandle<T>>);

impl<T> Future for Running<T> {
    type Output = Result<T, Fault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(handle) = self.0.as_mut() else {
            return Poll::Ready(Err(Fault::stopped(Limit::Trap, "the threads for strangers have ended")));
        };
        Pin::new(handle)
            .poll(context)
            .map_err(|error| Fault::stopped(Limit::Trap, format!("its call broke off: {error}")))
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.abort();
        }
    }
}

#[cfg(target_os = "linux")]
fn stand_back() {
    // On Linux this is the calling thread's alone. Where it is not permitted the threads are merely equal.
    let _ = rustix::process::nice(NICENESS);
}

#[cfg(not(target_os = "linux"))]
fn stand_back() {}
