//! The store as its users see it: through its public items and the files it leaves.

// These lints spare code in test functions; here everything is a test.
#![allow(clippy::unwrap_used, clippy::panic)]

mod commit;
mod crash;
mod damage;
mod fixture;
mod live;
mod modules;
mod project;
mod recovery;
mod runs;
