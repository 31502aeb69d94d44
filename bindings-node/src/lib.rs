//! The native part of the npm package `sluicegate`: what its JavaScript layer calls, and no more.
//!
//! Calls cross to Rust in batches and answers come back in bursts, as rows of numbers in memory that
//! both sides see. No decision is made here.

// In a test build the macros of napi export nothing, so nothing seems to be used.
#![cfg_attr(test, allow(dead_code))]

mod answers;
mod calls;
mod clock;
mod embedded;
mod failure;
mod function;
mod limiter;
mod mailbox;
mod options;
mod wake;
