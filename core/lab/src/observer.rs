//! What is seen of a run.

use std::time::Duration;

/// One decision.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The number of the strategy, from 0.
    pub strategy: usize,
    /// The name of its rule.
    pub rule: &'a str,
    /// Microseconds since 1970.
    pub at_us: u64,
    /// Who called.
    pub key: &'a str,
    /// The resource, for a rule that limits one.
    pub resource: Option<&'a str>,
    /// What the call costs.
    pub cost: u64,
    /// Whether it was admitted.
    pub admitted: bool,
    /// The most that would still be admitted.
    pub remaining: u64,
    /// How long until it would be admitted; [`Duration::MAX`]: never.
    pub retry_after: Duration,
}

/// Watches a run. `()` watches nothing.
pub trait Observer {
    /// Sees every decision.
    fn decided(&mut self, _record: &Record<'_>) {}

    /// Lets real time pass until `at_us` microseconds after the beginning, and answers what time it is then.
    fn wait_until(&mut self, at_us: u64) -> u64 {
        at_us
    }

    /// Answers whether the run goes on; `done` of it, from 0 to 1, is over.
    fn go_on(&mut self, _done: f64) -> bool {
        true
    }
}

impl Observer for () {}
