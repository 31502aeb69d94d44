//! The limiters: what a caller holds. Both are thin drivers over one centre that does no I/O; they
//! differ by an `await`.

mod asynchronous;
mod attempt;
mod blocking;
#[cfg(feature = "bridge")]
mod bridged;
mod builder;
mod centre;
mod holding;
mod lone;
mod memory;
mod overview;
mod queue;
mod release_guard;
mod requests;
mod reserving;
mod sleeper;
mod standing;
mod talk;
mod waiting;

pub use asynchronous::AsyncRateLimiter;
pub use blocking::RateLimiter;
pub use builder::Builder;
#[cfg(feature = "internal")]
pub(crate) use builder::PREFIX;
#[cfg(feature = "bridge")]
pub(crate) use sleeper::Sleeper;
