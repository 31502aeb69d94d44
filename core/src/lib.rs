//! One rate limiter for a fleet: it decides atomically inside Redis, or inside the process, by one set
//! of rules.

mod algorithm;
#[cfg(feature = "bridge")]
pub mod bridge;
mod catalog;
mod clock;
mod decision;
mod embedded;
mod error;
mod key;
mod limiter;
mod plan;
mod redis;
mod request;
pub mod rules;
mod script;
mod transaction;

pub use clock::ManualClock;
pub use decision::{Decision, Source};
pub use error::{Error, ErrorKind, Result};
pub use limiter::{AsyncRateLimiter, Builder, RateLimiter};
pub use request::{Check, CheckOptions};
pub use rules::Rules;
