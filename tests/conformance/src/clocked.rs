//! A server that limiters ask by a clock of the test.

use std::time::Duration;

use sluicegate::{Builder, ManualClock, RateLimiter, Rules};
use sluicegate_test_servers::Redis;

/// A busy machine may take long to answer.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// One Redis, and what all limiters that ask it have in common: their rules and their clock.
pub struct ClockedRedis {
    /// The server.
    pub server: Redis,
    /// The clock of the limiters.
    pub clock: ManualClock,
    rules: &'static str,
}

impl ClockedRedis {
    /// An empty server.
    pub fn start(rules: &'static str) -> Self {
        Self { server: Redis::start().unwrap(), clock: ManualClock::new(1_700_000_000_000_000), rules }
    }

    /// One more limiter, with nothing set beside.
    pub fn limiter(&self) -> RateLimiter {
        self.builder().build().unwrap()
    }

    /// The same, before it is built.
    pub fn builder(&self) -> Builder {
        patient(self.server.url(), self.rules).clock(self.clock.clone())
    }
}

/// A limiter of these rules that waits long for an answer.
pub fn patient(url: &str, rules: &str) -> Builder {
    RateLimiter::builder(url).rules(Rules::from_json(rules).unwrap()).response_timeout(TIMEOUT)
}
