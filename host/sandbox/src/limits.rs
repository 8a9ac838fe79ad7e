//! What a guest may use, and the names of the limits that stop it.

use std::{fmt, time::Duration};

/// The linear memory that a store may hold, in bytes: room for a large state many times over, and small
/// enough that the reservations of thirty thousand instances fit the address space. It is also the
/// reservation itself, so no store can be given more.
pub const MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// The elements that each table of a guest may have. Tables hold function pointers; the largest interpreters
/// need a few thousand.
pub const TABLE_ELEMENTS: usize = 10_000;

/// The bytes that a guest may hand to the host in one answer, counted before they are copied. It is half as
/// much again as the largest state, so that a state which is only a little too large is told so by name.
pub const RESULT_BYTES: usize = 6 * 1024 * 1024;

/// The largest state that a module may have, in bytes. States hold facts and short texts; a history of a
/// hundred thousand messages takes about three million.
pub const STATE_BYTES: usize = 4 * 1024 * 1024;

/// How long a hook of a module's life may take. A hook handles one state, which takes milliseconds; the rest
/// is for a busy machine.
pub const HOOK_DEADLINE: Duration = Duration::from_secs(5);

/// How long one call that a model made may take inside a module: longer than a hook, because a call may
/// compute something.
pub const CALL_DEADLINE: Duration = Duration::from_secs(10);

/// How often a guest may call the host during one export. A history reads texts and makes notes: one of each
/// for every entry it archives at once.
pub const HOST_CALLS: u32 = 4096;

/// The largest component, in bytes: a Python interpreter with its library takes about half of it.
pub const COMPONENT_BYTES: usize = 48 * 1024 * 1024;

/// The address space of a compiling child process, in bytes. A component of the largest size takes about half.
pub const COMPILE_MEMORY_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// The processor time of a compiling child process. The largest component takes about half a minute.
pub const COMPILE_CPU: Duration = Duration::from_secs(120);

/// How long a compiling child process may live, whatever it does.
pub const COMPILE_WALL: Duration = Duration::from_secs(180);

/// What one guest, and one compilation, may use. The defaults are this module's constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of a store, in bytes; at most [`MEMORY_BYTES`].
    pub memory_bytes: usize,
    /// Bytes of one answer. See [`RESULT_BYTES`].
    pub result_bytes: usize,
    /// Bytes of a module's state. See [`STATE_BYTES`].
    pub state_bytes: usize,
    /// Time for a hook. See [`HOOK_DEADLINE`].
    pub hook_deadline: Duration,
    /// Time for a call. See [`CALL_DEADLINE`].
    pub call_deadline: Duration,
    /// Calls from a guest to the host during one export. See [`HOST_CALLS`].
    pub host_calls: u32,
    /// Bytes of a component. See [`COMPONENT_BYTES`].
    pub component_bytes: usize,
    /// Address space of a compiling child. See [`COMPILE_MEMORY_BYTES`].
    pub compile_memory_bytes: u64,
    /// Processor time of a compiling child, in whole seconds, at least one. See [`COMPILE_CPU`].
    pub compile_cpu: Duration,
    /// Life of a compiling child. See [`COMPILE_WALL`].
    pub compile_wall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: MEMORY_BYTES,
            result_bytes: RESULT_BYTES,
            state_bytes: STATE_BYTES,
            hook_deadline: HOOK_DEADLINE,
            call_deadline: CALL_DEADLINE,
            host_calls: HOST_CALLS,
            component_bytes: COMPONENT_BYTES,
            compile_memory_bytes: COMPILE_MEMORY_BYTES,
            compile_cpu: COMPILE_CPU,
            compile_wall: COMPILE_WALL,
        }
    }
}

/// What stopped a guest or a compilation. The names are stable: tests, records and people refer to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// It took too long.
    Deadline,
    /// It asked for more linear memory than a store may hold.
    Memory,
    /// It asked for a larger table than a store may hold.
    Table,
    /// It called too deep.
    Stack,
    /// It answered with more bytes than may cross to the host at once.
    ResultSize,
    /// Its state is larger than a module's may be.
    StateSize,
    /// It called the host too often during one export.
    HostCalls,
    /// Every place for a live instance is taken.
    Instances,
    /// It trapped: an instruction that cannot be carried out, often its own panic.
    Trap,
    /// The component is larger than gg loads.
    ComponentSize,
    /// Compiling it took too long.
    CompileTime,
    /// Compiling it took too much memory.
    CompileMemory,
}

impl Limit {
    /// Every limit, in the order of this enum.
    pub const ALL: [Self; 12] = [
        Self::Deadline,
        Self::Memory,
        Self::Table,
        Self::Stack,
        Self::ResultSize,
        Self::StateSize,
        Self::HostCalls,
        Self::Instances,
        Self::Trap,
        Self::ComponentSize,
        Self::CompileTime,
        Self::CompileMemory,
    ];

    /// That it stopped something, as the begin of a sentence.
    pub fn stopped(self) -> String {
        match self {
            // What a guest does to itself is no limit that it reached.
            Self::Trap => "trapped".to_owned(),
            limit => format!("stopped at the limit `{}`", limit.name()),
        }
    }

    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Memory => "memory",
            Self::Table => "table",
            Self::Stack => "stack",
            Self::ResultSize => "result-size",
            Self::StateSize => "state-size",
            Self::HostCalls => "host-calls",
            Self::Instances => "instances",
            Self::Trap => "trap",
            Self::ComponentSize => "component-size",
            Self::CompileTime => "compile-time",
            Self::CompileMemory => "compile-memory",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_limit_has_a_name_of_its_own() {
        let names: BTreeSet<_> = Limit::ALL.iter().map(|limit| limit.name()).collect();
        assert_eq!(names.len(), Limit::ALL.len());
    }

    #[test]
    fn a_trap_is_called_no_limit() {
        let said = |limit| crate::Fault::stopped(limit, "why").to_string();
        assert_eq!(said(Limit::Trap), "trapped: why");
        assert_eq!(said(Limit::Stack), "stopped at the limit `stack`: why");
    }
}
