//! Wire formats: raw HTTP as real servers send it, played by a small server on the loopback, and what the
//! client makes of it. The fixtures are in `tests/wire`, one for each habit of some server.

#![allow(clippy::expect_used, clippy::panic, reason = "all of this is test code")]

mod cuts;
mod exchange;
mod recording;
mod replies;
mod requests;
mod scripted;
