//! The sandbox: one engine, its places, its threads.

use crate::{
    child::CompilerProcess,
    engine::{self, Allocation, Places},
    fault::Fault,
    guest::{Guest, Stay, Tenant, Trust},
    limits::{Limit, Limits, MEMORY_BYTES},
    strangers::StrangerThreads,
};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::{Engine, component::Linker};

/// How a sandbox is set up.
#[derive(Clone, Debug, Default)]
pub struct SandboxOptions {
    /// Where compiled code is kept between runs, an absolute path; made if it is not there. Without one every
    /// start compiles anew.
    pub cache_dir: Option<PathBuf>,
    /// The program that compiles strangers' components under limits. Without one they are compiled in this
    /// process: their size is bounded, but nothing bounds the time and memory that compiling them takes, so
    /// leave it out only for components that you would run natively too.
    pub compiler: Option<CompilerProcess>,
    /// What guests and compilations may use.
    pub limits: Limits,
}

/// Why a sandbox cannot be made.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// wasmtime refuses to start.
    #[error("cannot start wasmtime: {0} (a limit on address space, such as `ulimit -v`, is the usual cause)")]
    Engine(String),
    /// The folder for compiled code cannot be used.
    #[error("cannot keep compiled code in {}: {error}", dir.display())]
    Cache {
        /// The folder.
        dir: PathBuf,
        /// Why.
        error: String,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(String),
    /// A limit that cannot be kept.
    #[error("a store may hold at most {MEMORY_BYTES} bytes of memory; {0} were asked for")]
    Memory(usize),
}

/// Makes stores, and compiles what runs in them. One per process is enough, and shares its compiled code.
pub struct Sandbox {
    pub(crate) engine: Engine,
    pub(crate) options: SandboxOptions,
    places: FreePlaces,
    strangers: OnceLock<StrangerThreads>,
}

/// The places that are not taken.
struct FreePlaces {
    /// How many places there are in all.
    total: usize,
    built_in: Arc<Semaphore>,
    built_in_passing: Arc<Semaphore>,
    stranger: Arc<Semaphore>,
    stranger_passing: Arc<Semaphore>,
}

impl FreePlaces {
    fn all(places: Places) -> Self {
        let free = |count: u32| Arc::new(Semaphore::new(count as usize));
        let counts = [places.built_in, places.built_in_passing, places.stranger, places.stranger_passing];
        Self {
            total: counts.iter().map(|count| *count as usize).sum(),
            built_in: free(places.built_in),
            built_in_passing: free(places.built_in_passing),
            stranger: free(places.stranger),
            stranger_passing: free(places.stranger_passing),
        }
    }
}

impl Sandbox {
    /// Starts the engine and the thread that keeps its deadlines. Memory is reserved, not used.
    ///
    /// # Errors
    /// See [`SandboxError`].
    pub fn new(options: SandboxOptions) -> Result<Arc<Self>, SandboxError> {
        Self::with_places(options, Places::of_this_system())
    }

    fn with_places(options: SandboxOptions, places: Places) -> Result<Arc<Self>, SandboxError> {
        if options.limits.memory_bytes > MEMORY_BYTES {
            return Err(SandboxError::Memory(options.limits.memory_bytes));
        }
        let engine = engine::module_engine(Allocation::Pooled, options.cache_dir.as_deref())?;
        engine::start_ticker(&engine)?;
        Ok(Arc::new(Self { engine, options, places: FreePlaces::all(places), strangers: OnceLock::new() }))
    }

    /// What guests and compilations may use.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// How many instances are alive at this moment.
    pub fn live_guests(&self) -> usize {
        let FreePlaces { total, built_in, built_in_passing, stranger, stranger_passing } = &self.places;
        let free = [built_in, built_in_passing, stranger, stranger_passing];
        total.saturating_sub(free.iter().map(|places| places.available_permits()).sum())
    }

    /// A linker for stores that hold `D`.
    pub fn linker<D: Send + 'static>(&self) -> Linker<Tenant<D>> {
        Linker::new(&self.engine)
    }

    /// A store for an instance of a built-in component.
    ///
    /// # Errors
    /// [`Limit::Instances`] where even the places for single calls are taken.
    pub fn built_in_guest<D: Send + 'static>(&self, data: D) -> Result<Guest<D>, Fault> {
        let (stay, place) = match self.places.built_in.clone().try_acquire_owned() {
            Ok(place) => (Stay::Lasting, place),
            Err(_) => {
                let passing = self.places.built_in_passing.clone().try_acquire_owned();
                (Stay::Passing, passing.map_err(|_| no_place())?)
            }
        };
        Ok(self.guest(Trust::BuiltIn, stay, place, data))
    }

    /// A store for an instance of a stranger's component; to be asked for on the strangers' threads. Where
    /// every lasting place is taken it waits for a passing one.
    ///
    /// # Errors
    /// [`Limit::Instances`], which happens only while the process ends.
    pub async fn stranger_guest<D: Send + 'static>(&self, data: D) -> Result<Guest<D>, Fault> {
        let (stay, place) = match self.places.stranger.clone().try_acquire_owned() {
            Ok(place) => (Stay::Lasting, place),
            Err(_) => {
                let passing = self.places.stranger_passing.clone().acquire_owned().await;
                (Stay::Passing, passing.map_err(|_| no_place())?)
            }
        };
        Ok(self.guest(Trust::Stranger, stay, place, data))
    }

    fn guest<D: Send + 'static>(
        &self,
        trust: Trust,
        stay: Stay,
        place: OwnedSemaphorePermit,
        data: D,
    ) -> Guest<D> {
        Guest::new(&self.engine, self.limits(), trust, stay, place, data)
    }

    /// Runs `work`, which calls strangers' code, on the threads that are kept for it. Dropping the future ends
    /// the work, with everything it holds, at its next pause.
    ///
    /// # Errors
    /// [`Fault`] if the threads cannot be started, or the work panics.
    pub async fn on_stranger_threads<T, F>(&self, work: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.stranger_threads()?.run(work).await
    }

    /// The same for callers that cannot await: blocks this thread until the work is done.
    ///
    /// # Errors
    /// As [`Sandbox::on_stranger_threads`].
    pub fn block_on_stranger_threads<T, F>(&self, work: F) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let running = self.stranger_threads()?.run(async move {
            // The receiver waits below, so this can only fail when it has panicked.
            let _ = sender.send(work.await);
        });
        let answer = receiver.recv();
        drop(running);
        answer.map_err(|_| Fault::stopped(Limit::Trap, "its call broke off"))
    }

    fn stranger_threads(&self) -> Result<&StrangerThreads, Fault> {
        if let Some(threads) = self.strangers.get() {
            return Ok(threads);
        }
        // Two callers may both start threads; the second's are dropped, unused.
        let started =
            StrangerThreads::start().map_err(|error| Fault::stopped(Limit::Instances, error.to_string()))?;
        Ok(self.strangers.get_or_init(|| started))
    }
}

fn no_place() -> Fault {
    Fault::stopped(Limit::Instances, "every place for a live instance is taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_guest_without_a_lasting_place_stays_for_one_call() {
        let places = Places { built_in: 1, built_in_passing: 1, stranger: 0, stranger_passing: 1 };
        let sandbox = Sandbox::with_places(SandboxOptions::default(), places).unwrap();
        let first = sandbox.built_in_guest(()).unwrap();
        let second = sandbox.built_in_guest(()).unwrap();
        assert_eq!((first.stay(), second.stay()), (Stay::Lasting, Stay::Passing));
        assert_eq!(sandbox.built_in_guest(()).map(|_| ()).unwrap_err().limit(), Some(Limit::Instances));
        assert_eq!(sandbox.live_guests(), 2);
        drop(first);
        assert_eq!(sandbox.live_guests(), 1);
        assert_eq!(sandbox.built_in_guest(()).unwrap().stay(), Stay::Lasting);

        let stranger = sandbox.stranger_guest(()).await.unwrap();
        assert_eq!((stranger.stay(), stranger.trust()), (Stay::Passing, Trust::Stranger));
        let mut waiting = Box::pin(sandbox.stranger_guest(()));
        let is_waiting = std::future::poll_fn(|context| {
            std::task::Poll::Ready(waiting.as_mut().poll(context).is_pending())
        });
        assert!(is_waiting.await);
        drop(stranger);
        assert_eq!(waiting.await.unwrap().stay(), Stay::Passing);
    }

    #[test]
    fn more_memory_than_there_is_room_for_is_refused() {
        let limits = Limits { memory_bytes: MEMORY_BYTES + 1, ..Limits::default() };
        let refused = Sandbox::new(SandboxOptions { limits, ..SandboxOptions::default() });
        assert!(matches!(refused, Err(SandboxError::Memory(bytes)) if bytes == MEMORY_BYTES + 1));
    }
}
