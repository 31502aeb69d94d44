//! A limiter that has real servers watch the keys that they deny, and others that intervene.

use std::thread::sleep;
use std::time::{Duration, Instant};

use sluicegate::{AsyncRateLimiter, Builder, ManualClock, RateLimiter, Result, Rules, Source};
use tokio::runtime::{Builder as RuntimeBuilder, Runtime};

pub(crate) const RULES: &str = r#"[
    {"rule_id": "bucket", "rate": "2/hour"},
    {"rule_id": "window", "algorithm": "fixed_window", "rate": "2/hour"},
    {"rule_id": "sliding", "algorithm": "sliding_window", "rate": "2/hour"},
    {"rule_id": "log", "algorithm": "sliding_log", "rate": "2/hour"},
    {"rule_id": "buckets", "algorithm": "sliding_buckets", "rate": "2/hour"},
    {"rule_id": "decay", "algorithm": "decay", "limit": 2, "resolution_seconds": 1800},
    {"rule_id": "several", "limits": [{"rate": "2/hour"}, {"rate": "20/day"}]},
    {"rule_id": "stored", "rate": "2/hour", "overrides": true}
]"#;
/// How old denials get at most, by a clock that the test moves.
pub(crate) const AGE: Duration = Duration::from_secs(60);
/// Older than what is remembered without the server.
pub(crate) const OLD: Duration = Duration::from_secs(2);
/// What takes longer never happens.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    runtime: Runtime,
    pub(crate) limiter: AsyncRateLimiter,
    pub(crate) clock: ManualClock,
    url: String,
    options: Box<dyn Fn(Builder) -> Builder>,
}

impl World {
    /// On the servers of a URL.
    pub(crate) fn on(url: &str) -> Self {
        Self::through(url, url, |builder| builder)
    }

    /// The same, of which the others have a URL of their own.
    pub(crate) fn through(
        url: &str,
        of_others: &str,
        options: impl Fn(Builder) -> Builder + 'static,
    ) -> Self {
        let runtime = RuntimeBuilder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let clock = ManualClock::new(1_700_000_000_000_000);
        let url = match url.split_once('?') {
            Some((_, options)) if options.contains("protocol") => url.to_owned(),
            Some(_) => format!("{url}&protocol=resp3"),
            None => format!("{url}?protocol=resp3"),
        };
        let builder = RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap());
        let builder = options(builder).clock(clock.clone()).remember_denials(AGE);
        let limiter = runtime.block_on(builder.connect()).unwrap();
        Self { runtime, limiter, clock, url: of_others.to_owned(), options: Box::new(options) }
    }

    /// A limiter of another process.
    pub(crate) fn other(&self) -> RateLimiter {
        let builder = RateLimiter::builder(&*self.url).rules(Rules::from_json(RULES).unwrap());
        (self.options)(builder).clock(self.clock.clone()).build().unwrap()
    }

    pub(crate) fn check(&self, rule: &str, key: &str) -> Result<(bool, Source)> {
        let decision = self.runtime.block_on(self.limiter.check(rule, key))?;
        Ok((decision.allowed, decision.source))
    }

    pub(crate) fn run<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.block_on(call)
    }

    /// Uses up a key, until the server watches it.
    pub(crate) fn deny(&self, rule: &str, key: &str) {
        let begun = Instant::now();
        while self.check(rule, key).is_ok_and(|(is_allowed, _)| is_allowed) {}
        loop {
            // It is denied again.
            self.clock.advance(OLD);
            let _ = self.check(rule, key);
            self.clock.advance(OLD);
            if self.is_remembered(rule, key) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{rule}: {key} is not watched");
        }
    }

    pub(crate) fn is_remembered(&self, rule: &str, key: &str) -> bool {
        self.check(rule, key).is_ok_and(|decided| decided == (false, Source::Cache))
    }

    /// Waits, without that the clock moves, until the key is admitted.
    pub(crate) fn sees(&self, rule: &str, key: &str) {
        self.waits_until("was not seen", || self.check(rule, key).is_ok_and(|(is_allowed, _)| is_allowed));
    }

    /// The same, until nothing is said of it without the server.
    pub(crate) fn forgets(&self, rule: &str, key: &str) {
        self.waits_until("is remembered", || !self.is_remembered(rule, key));
    }

    pub(crate) fn waits_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < PATIENCE, "what has happened {what}");
            sleep(Duration::from_millis(5));
        }
    }
}
