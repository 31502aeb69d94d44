//! The limiter itself: its server and its rules.

use std::time::Duration;

use super::both::both_limiters;
use crate::error::Result;
use crate::metrics::Metrics;
use crate::rules::Rules;
use crate::sources::RulesStatus;

both_limiters! {
    /// Checks that the server answers.
    ///
    /// # Errors
    /// Whatever keeps the server from answering.
    pub async fn ping(&self) -> Result<()> {
        self.try_server(None)
    }

    /// [`ping`](Self::ping) that takes `timeout` at most, as [`CheckOptions::timeout`](crate::CheckOptions::timeout).
    ///
    /// # Errors
    /// As [`ping`](Self::ping).
    pub async fn ping_with(&self, timeout: Duration) -> Result<()> {
        self.try_server(Some(timeout))
    }
}

both_limiters! {
    /// Returns the rules in force.
    pub fn rules(&self) -> Rules {
        self.limiter.catalog().rules().clone()
    }

    /// Adds rules of the application to those of the source. They stay whatever the source says later, and take effect with the
    /// next check; all of them, or none. A source that comes to hold a rule of the same name is refused as one with a mistake is.
    /// Does no I/O.
    ///
    /// ```
    /// use sluicegate::{RateLimiter, Rules};
    ///
    /// let limiter = RateLimiter::builder("memory://").rules(Rules::default()).build()?;
    /// limiter.add_rules(&Rules::from_json(r#"[{"rule_id": "search", "rate": "5/minute"}]"#)?)?;
    /// assert_eq!(limiter.check("search", "alice")?.remaining, 4);
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`InvalidRule`](crate::ErrorKind::InvalidRule) when a rule in force has one of the names.
    pub fn add_rules(&self, rules: &Rules) -> Result<()> {
        self.limiter.shared.rules.add(rules)
    }

    /// Changes how many processes share the limits while no server decides, as the option `instances` says at the start: for fleets
    /// that grow and shrink. Takes effect with the next call that falls back. Does no I/O.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for 0, and for more than 1,000,000.
    pub fn set_instances(&self, instances: u32) -> Result<()> {
        self.limiter.set_instances(instances)
    }

    /// Returns what the limiter has counted since it was made: decisions by rule, result and who decided, their cost, errors by kind,
    /// how long servers took to answer, the circuit breaker of each server, the version of the rules, and, where the option
    /// [`top_denied`](crate::Builder::top_denied) asks for them, the keys denied most. Does no I/O.
    ///
    /// ```
    /// use sluicegate::{RateLimiter, Rules};
    ///
    /// let rules = Rules::from_json(r#"[{"rule_id": "api", "rate": "1/minute"}]"#)?;
    /// let limiter = RateLimiter::builder("memory://").rules(rules).top_denied(10).build()?;
    /// limiter.check("api", "alice")?;
    /// limiter.check("api", "alice")?;
    /// let api = &limiter.metrics().rules["api"];
    /// assert_eq!((api.decisions["memory"].admitted, api.decisions["memory"].denied), (1, 1));
    /// assert_eq!((&*api.top_denied[0].key, api.top_denied[0].denied), ("alice", 1));
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        self.limiter.metrics()
    }

    /// Returns [`metrics`](Self::metrics) in the text format of Prometheus (version 0.0.4), without any key. Does no I/O.
    pub fn prometheus(&self) -> String {
        self.limiter.metrics().to_prometheus()
    }

    /// Returns which rules are in force, since when, and what was refused of their source.
    pub fn rules_status(&self) -> RulesStatus {
        self.limiter.shared.rules.status()
    }
}
