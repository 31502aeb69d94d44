//! Servers that refuse, fail over, are silent or lose answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod credentials;
mod failovers;
mod lost_answers;
mod outages;
mod replicas;
mod unanswered;
