//! What a limiter counts of itself: no key is part of it, and its memory is bounded by the number of rules.

mod exposition;
mod histogram;
mod rule;
#[cfg(test)]
mod tests;
mod waiting;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, ErrorKind};
pub(crate) use exposition::{Exposition, ServerState};
use histogram::Histogram;
pub(crate) use rule::{LoanUse, RuleCounters};
pub(crate) use waiting::WaitingCall;

/// The counters of a limiter that are not those of a rule.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    round_trips: Histogram,
    errors: [AtomicU64; ErrorKind::ALL.len()],
}

impl Metrics {
    /// Takes note of how long a server took to answer.
    pub(crate) fn answered(&self, took: Duration) {
        self.round_trips.add(took);
    }

    /// Takes note of an error of a call.
    #[cold]
    pub(crate) fn failed(&self, error: &Error) {
        let kinds = ErrorKind::ALL.iter().zip(&self.errors);
        for (_, count) in kinds.filter(|(kind, _)| **kind == error.kind()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
