//! How long a waiting caller goes on.

use std::time::{Duration, Instant};

use crate::decision::Decision;

/// A wait with an end.
#[derive(Debug)]
pub(super) struct WaitBudget {
    began: Instant,
    /// Time that a manual clock let pass, which no other clock shows.
    passed: Duration,
    timeout: Duration,
}

impl WaitBudget {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { began: Instant::now(), passed: Duration::ZERO, timeout }
    }

    /// How long to wait before the next try; `None` when there is no point in another: admitted, or
    /// the wait would go beyond the timeout.
    pub(super) fn next(&self, decision: &Decision) -> Option<Duration> {
        let spent = self.began.elapsed().saturating_add(self.passed);
        let left = self.timeout.saturating_sub(spent);
        let never = decision.retry_after == Duration::MAX;
        (!decision.allowed && !never && decision.retry_after <= left).then_some(decision.retry_after)
    }

    pub(super) fn pass(&mut self, wait: Duration) {
        self.passed += wait;
    }
}
