//! What a process remembers of keys, and has borrowed, so that a call need not go to the server: denials and units. No I/O
//! and no clock: the limiter hands in its time.

mod denial;
mod lease;
mod shard;
mod table;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use lease::{Lease, Spending};
pub(crate) use shard::Returned;
pub(crate) use table::{Asked, Cells, Watch};
