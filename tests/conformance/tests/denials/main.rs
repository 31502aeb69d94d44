//! Denials that a process remembers, and those that are remembered for long since a server watches their keys.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod remembered;
mod watched;
