//! A server of the test's own that remembers what it was sent.

use std::time::Duration;

use sluicegate::{Builder, ManualClock, RateLimiter, Rules};
use sluicegate_conformance::Stored;
use sluicegate_test_servers::{Options, Redis};

/// Generous, because a machine that runs tests may be busy.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    pub(crate) redis: Redis,
    pub(crate) stored: Stored,
}

impl Server {
    pub(crate) fn start() -> Self {
        let config = ["slowlog-log-slower-than 0", "slowlog-max-len 100000"].map(str::to_owned).to_vec();
        let redis = Redis::with(&Options { config, ..Options::default() }).unwrap();
        let stored = Stored::on(&redis);
        Self { redis, stored }
    }

    pub(crate) fn builder(&self, rules: &str) -> Builder {
        let rules = Rules::from_json(rules).unwrap();
        RateLimiter::builder(self.redis.url()).rules(rules).response_timeout(TIMEOUT)
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

    /// The scripts that limiters called since the last time, oldest first: the commands with all arguments.
    pub(crate) fn sent_scripts(&mut self) -> Vec<Vec<Vec<u8>>> {
        type Logged = (i64, i64, i64, Vec<Vec<u8>>, String, String);
        let log: Vec<Logged> = self.stored.command("SLOWLOG", ("GET", 100_000));
        let _: () = self.stored.command("SLOWLOG", "RESET");
        // The log also has what the scripts call.
        let commands = log.into_iter().rev().map(|logged| logged.3);
        commands.filter(|command| command[0].to_ascii_uppercase().starts_with(b"EVAL")).collect()
    }

    /// How often the server has read from its clients.
    pub(crate) fn reads(&mut self) -> u64 {
        let stats: String = self.stored.command("INFO", "stats");
        stats.lines().find_map(|line| line.strip_prefix("total_reads_processed:")).unwrap().parse().unwrap()
    }
}
