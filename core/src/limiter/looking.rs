//! What tells of the limiter itself: its server and its rules.

use std::time::Duration;

use super::both::both_limiters;
use crate::error::Result;
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

    /// Returns what the limiter has counted since it was made, in the text format of Prometheus (version 0.0.4): decisions by
    /// rule, result and who decided, their cost, errors by kind, how long servers took to answer, the circuit
    /// breaker of each server, the version of the rules. Does no I/O. No key is part of it.
    pub fn prometheus(&self) -> String {
        self.limiter.prometheus()
    }

    /// Returns which rules are in force, since when, and what was refused of their source.
    pub fn rules_status(&self) -> RulesStatus {
        self.limiter.shared.rules.status()
    }
}
