//! What a limiter has counted, as a value.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

/// What a limiter has counted since it was made, by rules, errors and servers: see [`metrics`](crate::RateLimiter::metrics).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// The rules in force, by their names.
    pub rules: BTreeMap<String, RuleMetrics>,
    /// How many calls ended with an error since no server could decide, by the [name of its kind](crate::ErrorKind::name).
    pub errors: BTreeMap<&'static str, u64>,
    /// The servers in use, by their addresses.
    pub servers: BTreeMap<String, ServerMetrics>,
    /// How long servers took to answer.
    pub round_trips: RoundTrips,
    /// Identifies the rules in force; see [`Rules::version`](crate::Rules::version).
    pub rules_version: String,
    /// How many updates of the rules were refused.
    pub rules_refusals: u64,
    /// The [region](crate::Builder::region) of the limiter, if it has one.
    pub region: Option<String>,
}

/// What is counted of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleMetrics {
    /// Checks and reservations, by the [name of who decided](crate::Source::name); who never did is left out.
    pub decisions: BTreeMap<&'static str, DecisionCounts>,
    /// What admitted calls have cost.
    pub cost: u64,
    /// Calls that now wait for room.
    pub waiting: u64,
    /// Units that servers and other regions lend.
    pub loans: LoanUnits,
    /// The keys denied most, the most first: as many as the option [`top_denied`](crate::Builder::top_denied) says. Keys are as they
    /// are stored, so secrets are hashed.
    pub top_denied: Vec<DeniedKey>,
}

/// How calls under a rule ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DecisionCounts {
    /// Those admitted, and allowed by a rule in shadow that would have admitted them.
    pub admitted: u64,
    /// Those denied for want of room.
    pub denied: u64,
    /// Those that a rule in shadow would have denied.
    pub shadow_denied: u64,
    /// Those denied since the key is blocked.
    pub blocked: u64,
    /// Those that nobody decided.
    pub error: u64,
}

/// Units that servers and other regions lend, by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LoanUnits {
    /// Asked of the server, or the region in charge.
    pub asked: u64,
    /// Granted by it.
    pub granted: u64,
    /// Spent here.
    pub spent: u64,
    /// Given back unspent: the server, or the region in charge, says so, except at `close`, which does not wait for that.
    pub given_back: u64,
    /// To be given back, or kept, where no server answered. They count as used for as long as a charge counts. Not
    /// included: units that a call was to give back which was cancelled while it waited for the region in charge, and
    /// units granted in a reply that never arrived, which `granted` lacks as well.
    pub lost: u64,
}

/// A key that is denied often. The counts are approximate: it was denied from `denied - overstated` to `denied` times.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeniedKey {
    /// The key as it is stored, of a long one the first 256 bytes.
    pub key: String,
    /// How often it was denied, at most.
    pub denied: u64,
    /// By how much that may be too many.
    pub overstated: u64,
}

/// What is counted of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ServerMetrics {
    /// Whether its circuit breaker is open.
    pub breaker_open: bool,
    /// How often it has opened.
    pub breaker_openings: u64,
}

/// How long servers took to answer, as a histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RoundTrips {
    /// How many answers there were.
    pub count: u64,
    /// What all of them took together.
    pub sum: Duration,
    /// Bounds, ascending, each with how many answers took that long at most. What took longer is in `count` alone.
    pub buckets: Vec<(Duration, u64)>,
}

impl Metrics {
    /// The same as JSON, times in seconds: what the other languages are given.
    pub fn to_json(&self) -> String {
        let rules: BTreeMap<_, _> = self.rules.iter().map(|(name, rule)| (name, rule.json())).collect();
        let servers: BTreeMap<_, _> =
            self.servers.iter().map(|(name, server)| (name, server.json())).collect();
        json!({
            "rules": rules,
            "errors": self.errors,
            "servers": servers,
            "round_trips": self.round_trips.json(),
            "rules_version": self.rules_version,
            "rules_refusals": self.rules_refusals,
            "region": self.region,
        })
        .to_string()
    }
}

fn json_of(counts: &[(&str, u64)]) -> Value {
    counts.iter().map(|(name, count)| ((*name).to_owned(), Value::from(*count))).collect()
}

impl RuleMetrics {
    fn json(&self) -> Value {
        let decisions = self.decisions.iter().map(|(source, counts)| (*source, json_of(&counts.named())));
        let denied =
            |it: &DeniedKey| json!({"key": it.key, "denied": it.denied, "overstated": it.overstated});
        json!({
            "decisions": decisions.collect::<BTreeMap<_, _>>(),
            "cost": self.cost,
            "waiting": self.waiting,
            "loans": json_of(&self.loans.named()),
            "top_denied": self.top_denied.iter().map(denied).collect::<Vec<_>>(),
        })
    }
}

impl DecisionCounts {
    /// The counts with their names.
    pub(super) fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("admitted", self.admitted),
            ("denied", self.denied),
            ("shadow_denied", self.shadow_denied),
            ("blocked", self.blocked),
            ("error", self.error),
        ]
    }
}

impl LoanUnits {
    /// The units with their names.
    pub(super) fn named(&self) -> [(&'static str, u64); 5] {
        [
            ("asked", self.asked),
            ("granted", self.granted),
            ("spent", self.spent),
            ("given_back", self.given_back),
            ("lost", self.lost),
        ]
    }
}

impl ServerMetrics {
    fn json(&self) -> Value {
        json!({"breaker_open": self.breaker_open, "breaker_openings": self.breaker_openings})
    }
}

impl RoundTrips {
    fn json(&self) -> Value {
        let bucket =
            |(bound, count): &(Duration, u64)| json!({"at_most": bound.as_secs_f64(), "count": count});
        json!({
            "count": self.count,
            "sum": self.sum.as_secs_f64(),
            "buckets": self.buckets.iter().map(bucket).collect::<Vec<_>>(),
        })
    }
}
