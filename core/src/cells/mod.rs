//! What a process remembers of keys, and has borrowed, so that a call need not go to the server: denials and units. No I/O
//! and no clock: the limiter hands in its time.

mod borrowed;
mod denial;
mod lease;
mod loans;
mod shard;
mod table;
#[cfg(test)]
mod tests;
mod together;
mod watch;

pub(crate) use borrowed::Asked;
pub(crate) use denial::Now;
#[cfg(feature = "internal")]
pub(crate) use lease::Unspent;
#[cfg(any(test, feature = "internal"))]
pub(crate) use lease::{Lease, Spending};
pub(crate) use shard::Returned;
pub(crate) use table::Cells;
pub(crate) use together::may_borrow;
pub(crate) use watch::Watch;
