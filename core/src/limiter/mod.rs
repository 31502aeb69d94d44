//! The limiters: what a caller holds. Both are thin drivers over one centre that does no I/O; they
//! differ by an `await`.

mod asynchronous;
#[cfg(feature = "bridge")]
mod batch;
mod blocking;
mod builder;
mod centre;
mod local;
mod patience;

pub use asynchronous::AsyncRateLimiter;
pub use blocking::RateLimiter;
pub use builder::Builder;
