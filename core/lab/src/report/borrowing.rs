//! What processes that borrow admitted beyond limit and burst.

use crate::tally::{ExcessTally, Most};

/// What was admitted beyond limit and burst, in units: of all intervals, the most that is more than `burst + limit * t / window`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExcessReport {
    /// Below 0, limit and burst were never reached.
    pub most: f64,
    /// The most that borrowed units allow: what leaks while a lease lasts.
    pub bound: f64,
    /// The most that was admitted beyond limit, burst and what was borrowed when an interval began: at most 0, but for less than one
    /// unit that is counted before it has leaked.
    pub beyond_bound: f64,
    /// In each bin: what was admitted beyond limit and burst in an interval that ends there, and what borrowed units allow, which
    /// is what was outstanding when it began. `None` where nothing was admitted.
    pub bins: Vec<Option<(f64, f64)>>,
}

/// How processes borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BorrowingReport {
    /// How many.
    pub processes: u64,
    /// How many calls the server decided, and lent with.
    pub requests: u64,
}

impl ExcessReport {
    pub(super) fn new(tally: &ExcessTally, bins: usize) -> Self {
        let of = |most: &Most| most.excess.is_finite().then_some((most.excess, most.allowed));
        let mut shown: Vec<_> = tally.bins.bins().iter().map(of).collect();
        shown.resize(bins, None);
        let or_zero = |units: f64| if units.is_finite() { units } else { 0.0 };
        Self {
            most: or_zero(tally.most.excess),
            bound: tally.most_borrowed(),
            beyond_bound: or_zero(tally.beyond),
            bins: shown,
        }
    }
}
