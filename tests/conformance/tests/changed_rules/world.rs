//! A limiter whose rules a test changes.

use std::time::Duration;

use sluicegate::{CheckOptions, ManualClock, RateLimiter, Reservation};
use sluicegate_conformance::Switch;

/// A busy machine may take long to answer.
const TIMEOUT: Duration = Duration::from_secs(30);
const START: u64 = 1_760_000_000_000_000;

/// A limiter whose rules change, on a clock of its own.
pub(crate) struct World {
    switch: Switch,
    pub(crate) limiter: RateLimiter,
    pub(crate) clock: ManualClock,
}

impl World {
    pub(crate) fn new(url: &str, prefix: &str, rules: &str) -> Self {
        let (switch, clock) = (Switch::default(), ManualClock::new(START));
        switch.put(rules);
        let builder = RateLimiter::builder(url).prefix(prefix).rules(switch.clone()).clock(clock.clone());
        let builder = builder.response_timeout(TIMEOUT);
        Self { switch, limiter: builder.build().unwrap(), clock }
    }

    /// Puts other rules in force.
    pub(crate) fn change(&self, rules: &str) {
        let before = self.limiter.rules_status().updates;
        self.switch.put(rules);
        loop {
            let status = self.limiter.rules_status();
            assert!(status.refused.is_empty(), "{status:?}");
            if status.updates > before {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub(crate) fn reserve(&self, cost: u64) -> Reservation {
        let reserved = self.limiter.reserve_with("r", "k", CheckOptions::new().cost(cost)).unwrap();
        assert!(reserved.allowed);
        reserved
    }

    pub(crate) fn remaining(&self) -> u64 {
        self.limiter.peek("r", "k").unwrap().remaining
    }
}
