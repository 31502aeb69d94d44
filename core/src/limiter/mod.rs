//! The limiters: what a caller holds. What their methods do is written once, over a driver that blocks or one for tasks,
//! and decided in memory or on a server.

mod asynchronous;
mod attempt;
mod backend;
mod blocking;
mod borrowing;
mod both;
mod builder;
mod deciding;
mod driver;
#[cfg(feature = "internal")]
mod examining;
mod fallback;
mod holding;
mod key_records;
mod leasing;
mod lone;
mod looking;
mod memory;
mod queue;
mod release_guard;
mod remembering;
mod renewing;
mod requests;
mod reserving;
mod resetting;
mod rest;
mod servers;
mod shared;
mod sleeper;
mod tasks;
mod terms;
mod waiting;

pub use asynchronous::AsyncRateLimiter;
pub use blocking::RateLimiter;
pub use builder::Builder;
#[cfg(feature = "internal")]
pub use examining::Examined;
#[cfg(feature = "tower")]
pub(crate) use renewing::RETRY_PART;
#[cfg(feature = "bridge")]
pub(crate) use sleeper::{Repeated, Sleeper};
