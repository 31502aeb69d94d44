//! What is held: how little it costs a server, and how calls wait for room.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attacks;
mod waits;
