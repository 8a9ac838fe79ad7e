//! What a process spends: instructions where the system counts them, and CPU time.

use perf_event::{Builder, Counter, events::Hardware};
use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// The meter of this process, all of its threads included.
///
/// It is to be opened before the process has any other thread: a counter is passed on from a thread to those that it
/// starts.
pub struct Meter {
    instructions: Option<Counter>,
}

/// What was spent until some instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    /// Instructions in user space; nothing where no counter is to be had, as in most virtual machines.
    pub instructions: Option<f64>,
    /// CPU time in microseconds, the kernel's part included.
    pub cpu_us: f64,
    /// Resident memory in bytes.
    pub resident: f64,
}

impl Meter {
    /// Begins to count.
    pub fn open() -> Self {
        let mut builder = Builder::new().kind(Hardware::INSTRUCTIONS);
        builder.inherit(true);
        let counter = builder.build().and_then(|mut counter| counter.enable().map(|()| counter));
        Self { instructions: counter.ok() }
    }

    /// What was spent until now.
    pub fn read(&mut self) -> Spent {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        Spent {
            instructions: self.instructions.as_mut().map(|counter| counter.read().unwrap() as f64),
            cpu_us: now.tv_sec as f64 * 1e6 + now.tv_nsec as f64 / 1e3,
            resident: resident(),
        }
    }
}

impl Spent {
    /// What was spent since then.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let instructions = self.instructions.zip(before.instructions);
        Self {
            instructions: instructions.map(|(now, before)| now - before),
            cpu_us: self.cpu_us - before.cpu_us,
            resident: self.resident - before.resident,
        }
    }
}

/// The memory of this process that is resident, in bytes.
fn resident() -> f64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096.0
}
