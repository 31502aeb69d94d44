//! What the tests share: vectors, backends, and one way to drive both limiters.

mod backend;
mod limiter;
mod stored;
mod vectors;

pub use backend::Backend;
pub use limiter::{Driver, Limiter};
pub use stored::{Entry, Stored};
pub use vectors::{Tally, run_all};
