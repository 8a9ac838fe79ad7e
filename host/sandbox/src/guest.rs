//! A store with everything that bounds it.

use crate::{
    engine::{TICK, ticks},
    fault::{Exceeded, Fault},
    limits::{Limit, Limits, TABLE_ELEMENTS},
};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;
use wasmtime::{Engine, ResourceLimiter, Result, Store, UpdateDeadline};

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trust {
    /// Part of gg: called on the caller's own thread.
    BuiltIn,
    /// Anyone's: compiled in a child process, called on threads of its own.
    Stranger,
}

/// How long a guest may stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// Until its holder drops it.
    Lasting,
    /// For one call: every lasting place was taken. Its holder drops it right after.
    Passing,
}

/// What a store holds: the embedder's data, and what the limits need to know.
pub struct Tenant<D> {
    /// The embedder's own.
    pub data: D,
    meter: Meter,
    deadline: Instant,
    host_calls_left: u32,
}

impl<D> Tenant<D> {
    /// To be called first by every host function: counts it, and ends the guest's call when it calls the host
    /// too often.
    pub fn count_host_call(&mut self) -> Result<()> {
        match self.host_calls_left.checked_sub(1) {
            Some(left) => {
                self.host_calls_left = left;
                Ok(())
            }
            None => Err(Exceeded::raise(Limit::HostCalls, "it called the host too often during one export")),
        }
    }
}

/// One live store, for one instance. Whoever sees a call fail drops the guest: what is left of it is not to
/// be trusted.
pub struct Guest<D: 'static> {
    store: Store<Tenant<D>>,
    trust: Trust,
    stay: Stay,
    host_calls: u32,
    // Gives the place back when the guest is dropped, after the store.
    _place: OwnedSemaphorePermit,
}

impl<D: Send + 'static> Guest<D> {
    pub(crate) fn new(
        engine: &Engine,
        limits: &Limits,
        trust: Trust,
        stay: Stay,
        place: OwnedSemaphorePermit,
        data: D,
    ) -> Self {
        let tenant = Tenant {
            data,
            meter: Meter { memory_limit: limits.memory_bytes, ..Meter::default() },
            deadline: Instant::now(),
            host_calls_left: limits.host_calls,
        };
        let mut store = Store::new(engine, tenant);
        store.limiter(|tenant| &mut tenant.meter);
        store.set_hostcall_fuel(limits.result_bytes);
        if trust == Trust::Stranger {
            store.epoch_deadline_callback(|tenant| {
                if Instant::now() >= tenant.data().deadline {
                    return Err(Exceeded::raise(Limit::Deadline, "it took too long"));
                }
                Ok(UpdateDeadline::Yield(1))
            });
        }
        Self { store, trust, stay, host_calls: limits.host_calls, _place: place }
    }

    /// Starts the clock for one call of an export, or for the instantiation. Without it a guest is stopped
    /// at once.
    pub fn begin(&mut self, allowance: Duration) {
        let tenant = self.store.data_mut();
        tenant.host_calls_left = self.host_calls;
        tenant.meter.denied = None;
        match self.trust {
            Trust::BuiltIn => self.store.set_epoch_deadline(ticks(allowance)),
            Trust::Stranger => {
                let now = Instant::now();
                tenant.deadline = now.checked_add(allowance).unwrap_or(now + TICK);
                self.store.set_epoch_deadline(1);
            }
        }
    }

    /// The store, to make the call in.
    pub fn store(&mut self) -> &mut Store<Tenant<D>> {
        &mut self.store
    }

    /// What an error of the call that began last means. The guest is not to be used after it.
    pub fn fault(&self, error: &wasmtime::Error) -> Fault {
        let fault = Fault::of(error);
        let is_own = matches!(&fault, Fault::Stopped { limit: Limit::Trap, .. } | Fault::Answer(_));
        match &self.store.data().meter.denied {
            Some((limit, message)) if is_own => Fault::stopped(*limit, message),
            _ => fault,
        }
    }

    /// Whose code runs in it.
    pub fn trust(&self) -> Trust {
        self.trust
    }

    /// Whether it has to be dropped after this call.
    pub fn stay(&self) -> Stay {
        self.stay
    }
}

/// Bounds the memory of one store, all its memories and tables together.
///
/// A guest that asks for too much is told no, as WebAssembly has it, and may make do. Most cannot, and trap; so
/// it is noted what they were denied.
#[derive(Default)]
struct Meter {
    memory_bytes: usize,
    memory_limit: usize,
    denied: Option<(Limit, String)>,
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        let total = self.memory_bytes.saturating_sub(current).saturating_add(desired);
        let limit = self.memory_limit;
        if total > limit {
            let message = format!("it asked for {total} bytes of memory, and {limit} are allowed");
            self.denied = Some((Limit::Memory, message));
            return Ok(false);
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.memory_bytes = total;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        if desired > TABLE_ELEMENTS {
            let message =
                format!("it asked for a table of {desired} elements, and {TABLE_ELEMENTS} are allowed");
            self.denied = Some((Limit::Table, message));
            return Ok(false);
        }
        Ok(maximum.is_none_or(|maximum| desired <= maximum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_counted_together() {
        let mut meter = Meter { memory_limit: 100, ..Meter::default() };
        assert!(meter.memory_growing(0, 60, None).unwrap());
        assert!(meter.memory_growing(0, 40, None).unwrap());
        assert!(!meter.memory_growing(40, 40, Some(30)).unwrap());
        assert_eq!(meter.denied, None);
        assert!(!meter.memory_growing(60, 61, None).unwrap());
        assert_eq!(meter.denied.as_ref().map(|denied| denied.0), Some(Limit::Memory));
        assert_eq!(meter.memory_bytes, 100);
    }
}
