//! The one place that makes wasmtime engines and stores.
//!
//! Everything that runs here is bounded: memory, tables, stack, time, the size of answers, the number of host
//! calls, and the number of live instances. [`Limits`] has the values, [`Limit`] the names. What goes wrong in
//! a guest is a [`Fault`]; its store is then thrown away.
//!
//! A component is compared with the contract ([`contract`]) before anything of it is compiled, and strangers'
//! components are compiled in a child process ([`compile_in_child_main`]), because a compiler can be stopped
//! only from outside.

mod child;
mod compile;
pub mod contract;
mod engine;
mod fault;
mod guest;
mod limits;
mod sandbox;
mod strangers;

pub use child::{CompilerProcess, compile_in_child_main};
pub use compile::{CompileError, Compiled};
pub use contract::{ContractError, World};
pub use fault::Fault;
pub use guest::{Guest, Stay, Tenant, Trust};
pub use limits::{
    CALL_DEADLINE, COMPILE_CPU, COMPILE_MEMORY_BYTES, COMPILE_WALL, COMPONENT_BYTES, HOOK_DEADLINE,
    HOST_CALLS, Limit, Limits, MEMORY_BYTES, RESULT_BYTES, STATE_BYTES, TABLE_ELEMENTS,
};
pub use sandbox::{Sandbox, SandboxError, SandboxOptions};
