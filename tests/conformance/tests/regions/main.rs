//! Limits over several regions, each with servers of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod allotments;
mod cuts;
mod limits;
mod one_limit;
mod servers;
mod together;
