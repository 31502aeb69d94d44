//! The vectors of decisions, of mistakes and of the matching of requests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod decisions;
mod errors;
mod matching;
