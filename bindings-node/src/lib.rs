//! The native part of the npm package `sluicegate`: what its JavaScript layer calls, and no more.
//!
//! Calls are passed to Rust in batches, and answers back in batches, as rows of numbers in memory that
//! both sides see. No decision is made here.

// In a test build the macros of napi export nothing, so nothing seems to be used.
#![cfg_attr(test, allow(dead_code))]

mod answers;
mod callback;
mod calls;
mod cli;
mod clock;
mod credentials;
mod events;
mod failure;
mod function;
mod http;
mod key;
mod limiter;
mod mailbox;
mod matching;
mod memory;
mod names;
mod options;
#[cfg(unix)]
mod poll;
#[cfg(not(unix))]
#[path = "unpolled.rs"]
mod poll;
mod rules;
mod shared;
mod status;
mod wake;

use napi::Result;
use napi::bindgen_prelude::Object;
use napi_derive::napi;

/// Run when the module is loaded.
#[napi(module_exports)]
pub(crate) fn loaded(_: Object<'_>) -> Result<()> {
    sluicegate::bridge::log_to(None);
    Ok(())
}
