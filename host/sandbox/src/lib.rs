//! The one place that makes wasmtime engines and stores: limits, deadlines, the compile cache, the contract diff.
