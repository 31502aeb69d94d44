//! What the tests share: vectors, backends, and one way to drive both limiters.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod backend;
mod clocked;
mod limiter;
mod request;
mod stored;
mod switch;
mod vectors;

pub use backend::Backend;
pub use clocked::{ClockedRedis, patient};
pub use limiter::{Driver, Limiter, Reservations};
pub use request::request_of;
pub use stored::{Entry, Stored};
pub use switch::Switch;
pub use vectors::{Tally, act, run_all};
