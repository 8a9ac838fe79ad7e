//! The one engine configuration, and the thread that moves its epoch.

use crate::{
    limits::{MEMORY_BYTES, TABLE_ELEMENTS},
    sandbox::SandboxError,
};
use std::{fs, path::Path, thread, time::Duration};
use wasmtime::{
    Cache, CacheConfig, Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
};

/// How often the epoch moves. It is the grain of every deadline, and the longest that one stranger keeps a
/// thread from the next; at a hundred wake-ups a second the ticker itself costs nothing to speak of.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// The places for live instances of all kinds that address space is reserved for. How many of them can be
/// taken depends on the system as well: see [`Places`].
const PLACES: u32 = 30_000;

/// The places among [`PLACES`] for strangers' instances that stay alive between calls. Each keeps a stack of
/// its own.
const STRANGER_PLACES: u32 = 500;

/// The places among [`PLACES`] for strangers' instances that live for one call only, because every lasting
/// place was taken. This many can run at once; the others wait.
const STRANGER_PASSING_PLACES: u32 = 64;

/// The places among [`PLACES`] for built-in instances that live for one call only. A call runs on its
/// caller's thread, so this many threads would have to call at the same instant to need more.
const PASSING_PLACES: u32 = 512;

/// The memory mappings that one instance takes: the stack and the data of its memory, what it allocated, and
/// the rest that it must not touch.
const MAPPINGS_PER_PLACE: u32 = 4;

/// The same for a stranger's, whose component may have two memories, and which has a stack of its own.
const MAPPINGS_PER_STRANGER: u32 = 10;

/// The mappings that are left for everything else in the process.
const OTHER_MAPPINGS: u32 = 4_000;

/// The mappings that Linux gives a process unless it is told otherwise.
const DEFAULT_MAPPINGS: u32 = 65_530;

/// How many instances may be alive at once, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) built_in: u32,
    pub(crate) built_in_passing: u32,
    pub(crate) stranger: u32,
    pub(crate) stranger_passing: u32,
}

impl Places {
    /// What this system has room for. On Linux that is bounded by the mappings of a process,
    /// `vm.max_map_count`; whoever needs more live instances raises it.
    pub(crate) fn of_this_system() -> Self {
        let mappings = fs::read_to_string("/proc/sys/vm/max_map_count")
            .ok()
            .and_then(|text| text.trim().parse::<u32>().ok())
            .unwrap_or(DEFAULT_MAPPINGS);
        Self::within(mappings)
    }

    fn within(mappings: u32) -> Self {
        let strangers = STRANGER_PLACES + STRANGER_PASSING_PLACES;
        let left = mappings.saturating_sub(OTHER_MAPPINGS + strangers * MAPPINGS_PER_STRANGER);
        let built_in = (left / MAPPINGS_PER_PLACE).min(PLACES - strangers);
        Self {
            built_in: built_in.saturating_sub(PASSING_PLACES),
            built_in_passing: PASSING_PLACES,
            stranger: STRANGER_PLACES,
            stranger_passing: STRANGER_PASSING_PLACES,
        }
    }
}

/// The memories that one component may have: its own, and one for an adapter.
const MEMORIES_PER_COMPONENT: u32 = 2;

/// The tables that one component may have: its own, those of shims and adapters, and some to spare.
const TABLES_PER_COMPONENT: u32 = 4;

/// The core instances that one component may have. A component links shims, adapters and shared libraries;
/// the largest known one takes about forty.
const CORE_INSTANCES_PER_COMPONENT: u32 = 64;

/// The stack of wasm code, in bytes. Built-in modules run on their caller's thread, so this has to leave room
/// on a stack of 2 MiB, which is what threads get by default.
const WASM_STACK_BYTES: usize = 512 * 1024;

/// The stack that a stranger's call gets, in bytes: the wasm stack, and as much for the host functions that
/// it calls.
const STRANGER_STACK_BYTES: usize = 1024 * 1024;

/// How an engine gets memory for instances. It does not change compiled code, so both kinds share one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocation {
    /// From a pool that is reserved at once and filled page by page, as instances need it.
    Pooled,
    /// None to speak of: this engine only compiles, under a limit on its address space.
    CompileOnly,
}

/// Makes the engine that modules run on. Nothing but reservations is made up front.
pub(crate) fn module_engine(
    allocation: Allocation,
    cache_dir: Option<&Path>,
) -> Result<Engine, SandboxError> {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .memory_init_cow(true)
        .memory_reservation(MEMORY_BYTES as u64)
        .memory_may_move(false)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(STRANGER_STACK_BYTES)
        .wasm_memory64(false)
        // The same calls give the same bytes, on every machine.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true);
    if let Some(dir) = cache_dir {
        let mut cache = CacheConfig::new();
        cache.with_directory(dir);
        let cache = Cache::new(cache)
            .map_err(|error| SandboxError::Cache { dir: dir.to_owned(), error: format!("{error:#}") })?;
        config.cache(Some(cache));
    }
    if allocation == Allocation::Pooled {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
    }
    Engine::new(&config).map_err(|error| SandboxError::Engine(format!("{error:#}")))
}

fn pool() -> PoolingAllocationConfig {
    let strangers = STRANGER_PLACES + STRANGER_PASSING_PLACES;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(PLACES)
        .total_core_instances(PLACES.saturating_mul(TABLES_PER_COMPONENT))
        .max_core_instances_per_component(CORE_INSTANCES_PER_COMPONENT)
        .total_memories(PLACES + strangers)
        .max_memories_per_component(MEMORIES_PER_COMPONENT)
        .max_memory_size(MEMORY_BYTES)
        // Built-in components have one table and a shim's.
        .total_tables(PLACES * 2 + strangers * TABLES_PER_COMPONENT)
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .max_tables_per_module(TABLES_PER_COMPONENT)
        .table_elements(TABLE_ELEMENTS)
        .total_stacks(strangers)
        // A freed place keeps its pages where the kernel can tell which ones were touched: taking it again
        // then costs no page faults.
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(TABLE_ELEMENTS * size_of::<usize>())
        .max_unused_warm_slots(WARM_PLACES);
    pool
}

/// What a freed place keeps resident of its memory, in bytes: about what a built-in module touches.
const KEEP_RESIDENT_BYTES: usize = 256 * 1024;

/// The freed places that are kept warm, so that what they keep resident stays within a few dozen megabytes.
const WARM_PLACES: u32 = 128;

/// Starts the thread that moves the engine's epoch. It ends with the engine.
pub(crate) fn start_ticker(engine: &Engine) -> Result<(), SandboxError> {
    let weak = engine.weak();
    thread::Builder::new()
        .name("gg-epoch".into())
        .spawn(move || {
            while let Some(engine) = weak.upgrade() {
                engine.increment_epoch();
                drop(engine);
                thread::sleep(TICK);
            }
        })
        .map(|_| ())
        .map_err(|error| SandboxError::Thread(error.to_string()))
}

/// The ticks after which `allowance` has certainly passed.
pub(crate) fn ticks(allowance: Duration) -> u64 {
    let ticks = allowance.as_millis().div_ceil(TICK.as_millis().max(1));
    u64::try_from(ticks).unwrap_or(u64::MAX / 2).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_fit_the_mappings() {
        let usual = Places::within(DEFAULT_MAPPINGS);
        assert_eq!((usual.built_in, usual.stranger), (13_460, 500));
        assert_eq!(Places::within(1_000_000).built_in, 28_924);
        assert_eq!(Places::within(1_000).built_in, 0);
    }

    #[test]
    fn ticks_never_fall_short() {
        assert_eq!(ticks(Duration::ZERO), 1);
        assert_eq!(ticks(Duration::from_millis(1)), 2);
        assert_eq!(ticks(Duration::from_millis(100)), 11);
    }
}
