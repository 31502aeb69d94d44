//! A server of the test's own that remembers what it was sent.

use std::time::Duration;

use redis::Value;
use sluicegate::{Builder, ManualClock, RateLimiter, Rules};
use sluicegate_conformance::Stored;
use sluicegate_test_servers::{Options, Redis};

/// Tells the test's own commands from the limiter's.
const OBSERVER: &str = "observer";
/// Generous, because a machine that runs tests may be busy.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    pub(crate) redis: Redis,
    pub(crate) stored: Stored,
}

impl Server {
    pub(crate) fn start() -> Self {
        let config = ["slowlog-log-slower-than 0", "slowlog-max-len 100000"].map(str::to_owned).to_vec();
        let redis = Redis::with(&Options { config, ..Options::default() }).unwrap();
        let mut stored = Stored::on(&redis);
        let _: () = stored.command("CLIENT", ("SETNAME", OBSERVER));
        Self { redis, stored }
    }

    pub(crate) fn builder(&self, rules: &str) -> Builder {
        let rules = Rules::from_json(rules).unwrap();
        RateLimiter::builder(self.redis.url()).rules(rules).response_timeout(PATIENCE)
    }

    /// A limiter that goes by the server's clock.
    pub(crate) fn limiter(&self, rules: &str) -> RateLimiter {
        self.builder(rules).build().unwrap()
    }

    /// A limiter and the clock it goes by.
    pub(crate) fn limiter_at(&self, now_us: u64, rules: &str) -> (RateLimiter, ManualClock) {
        let clock = ManualClock::new(now_us);
        (self.builder(rules).clock(clock.clone()).build().unwrap(), clock)
    }

    /// The commands that limiters sent since the last time, oldest first; not those inside scripts.
    pub(crate) fn sent(&mut self) -> Vec<Vec<Vec<u8>>> {
        let log: Vec<(i64, i64, i64, Vec<Vec<u8>>, String, String)> = self.stored.command("SLOWLOG", ("GET", 100_000));
        let _: Value = self.stored.command("SLOWLOG", "RESET");
        log.into_iter().rev().filter(|entry| entry.5 != OBSERVER).map(|entry| entry.3).collect()
    }

    /// The scripts among what was sent: name and all arguments.
    pub(crate) fn sent_scripts(&mut self) -> Vec<Vec<Vec<u8>>> {
        let is_script = |command: &Vec<Vec<u8>>| command[0].to_ascii_uppercase().starts_with(b"EVAL");
        self.sent().into_iter().filter(is_script).collect()
    }
}
