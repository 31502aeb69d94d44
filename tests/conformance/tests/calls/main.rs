//! Calls of many callers, and calls that take turns, are repeated or take long, on real servers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod coalescing;
mod concurrency;
mod request_ids;
mod share;
mod waiting;
mod whole_time;
