//! gg against servers that others wrote: a strict gate in front of a scriptable mock. Run by
//! `cargo xtask peers --gate URL`; ignored otherwise, because the servers have to be there.
//!
//! The mock has to be started with the fixtures in `tests/peers`. `GG_PEERS_GATE` is the gate's address;
//! `GG_PEERS_AIMOCK`, the mock's own, is needed only where the gate does not pass questions on to it. Each case
//! runs in every wire format, streamed and not, through the model client alone and through a whole agent.

#![allow(clippy::expect_used, clippy::panic, reason = "all of this is test code")]

mod agent;
mod cases;
mod client;
mod servers;
mod sessions;
