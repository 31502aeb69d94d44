//! The algorithms as pure functions of state, time and cost.
//!
//! Each file here is the twin of a file of the same name in the crate `sluicegate-lua`: same names,
//! same order of operations, so that both decide alike to the last bit. The Lua side decides and
//! commits; the figures of a decision (remaining, waits) are computed here alone, for every backend.
//!
//! Times are whole microseconds. Counts are doubles because Lua has no other number; they are whole
//! and exact up to 2^53.

mod applying;
mod calendar;
mod concurrency;
mod decay;
mod fixed_window;
mod gcra;
mod holding;
mod interface;
mod key_record;
mod lease;
mod numbers;
mod policy;
mod sliding_buckets;
mod sliding_log;
mod sliding_window;
mod terms;

pub(crate) use crate::time::clock::Micros;
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub use applying::Op;
pub(crate) use applying::{Answered, Demand, Figures, Outcome, Terms};
#[cfg(feature = "internal")]
pub(crate) use calendar::Calendar;
pub(crate) use concurrency::Leases;
pub(crate) use holding::Holding;
pub(crate) use key_record::{Blocking, KeyRecord};
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub use key_record::{KeyRecordChange, Span};
pub(crate) use lease::{HoldId, Lease};
pub(crate) use numbers::{Numbers, micros};
pub(crate) use policy::{Policy, State};
pub(crate) use terms::Amounts;
