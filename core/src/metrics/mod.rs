//! What a limiter counts of itself: no key is part of it, and its memory is bounded by the number of rules.

mod exposition;
#[cfg(feature = "metrics")]
mod facade;
mod families;
mod heavy;
mod histogram;
mod rule;
mod snapshot;
#[cfg(test)]
mod tests;
mod waiting;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::{Error, ErrorKind};
use histogram::Histogram;
pub(crate) use rule::{LoanUse, RuleCounters};
pub use snapshot::{DecisionCounts, DeniedKey, LoanUnits, Metrics, RoundTrips, RuleMetrics, ServerMetrics};
pub(crate) use waiting::WaitingCall;

/// The counters of a limiter that are not those of a rule.
#[derive(Debug, Default)]
pub(crate) struct LimiterCounters {
    round_trips: Histogram,
    errors: [AtomicU64; ErrorKind::ALL.len()],
}

impl LimiterCounters {
    /// Takes note of how long a server took to answer.
    pub(crate) fn answered(&self, took: Duration) {
        self.round_trips.add(took);
    }

    /// Takes note of an error of a call.
    #[cold]
    pub(crate) fn failed(&self, error: &Error) {
        let kinds = ErrorKind::ALL.iter().zip(&self.errors);
        for (_, count) in kinds.filter(|(kind, _)| **kind == error.kind()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What is counted, with that of the rules and servers in use.
    pub(crate) fn snapshot(
        &self,
        rules: &[(&str, &RuleCounters)],
        servers: Vec<(String, ServerMetrics)>,
        (rules_version, rules_refusals): (String, u64),
        region: Option<String>,
    ) -> Metrics {
        let errors = ErrorKind::ALL.iter().zip(&self.errors);
        Metrics {
            rules: rules.iter().map(|(name, rule)| ((*name).to_owned(), rule.snapshot())).collect(),
            errors: errors.map(|(kind, count)| (kind.name(), count.load(Ordering::Relaxed))).collect(),
            servers: servers.into_iter().collect(),
            round_trips: self.round_trips.snapshot(),
            rules_version,
            rules_refusals,
            region,
        }
    }
}
