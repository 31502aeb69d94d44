//! Random rules: every algorithm with every option it has.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Algorithms, each with the form of its state where it has several.
const KINDS: [(&str, Option<(&str, &str)>); 12] = [
    ("fixed_window", Some(("window_start", "aligned"))),
    ("fixed_window", Some(("window_start", "first_request"))),
    // By the calendar, where all days are of one length.
    ("fixed_window", Some(("time_zone", "UTC"))),
    ("sliding_window", None),
    ("sliding_log", Some(("structure", "list"))),
    ("sliding_log", Some(("structure", "sorted_set"))),
    ("sliding_buckets", None),
    ("gcra", None),
    ("token_bucket", None),
    ("leaky_bucket", None),
    ("uniform", None),
    ("decay", None),
];
/// A log keeps an entry per unit, so larger ones make tests slow and nothing else.
const LARGEST_LOG: u64 = 2_000;
/// A burst is kept as time, in which larger ones have no exact unit.
const LARGEST_BURST: u64 = 1 << 32;
const DAY_US: u64 = 86_400_000_000;

/// A rule without its name.
#[derive(Debug, Clone)]
pub(crate) struct RandomRule {
    kind: (&'static str, Option<(&'static str, &'static str)>),
    pub(crate) limits: Vec<RandomLimit>,
    pub(crate) burst: Option<u64>,
    pub(crate) decay_factor: f64,
    pub(crate) count_denied: bool,
    pub(crate) shadow: bool,
    pub(crate) priority: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct RandomLimit {
    pub(crate) limit: u64,
    /// Of `decay`: the resolution.
    pub(crate) window_us: u64,
    /// Slots per window of `sliding_buckets`.
    slots: Option<u64>,
    of_resource: bool,
}

impl RandomRule {
    pub(crate) fn algorithm(&self) -> &'static str {
        self.kind.0
    }

    pub(crate) fn option(&self) -> Option<&'static str> {
        self.kind.1.map(|option| option.1)
    }

    pub(crate) fn is_gcra(&self) -> bool {
        matches!(self.algorithm(), "gcra" | "token_bucket" | "leaky_bucket" | "uniform")
    }

    fn is_of_calendar(&self) -> bool {
        self.kind.1.is_some_and(|option| option.0 == "time_zone")
    }

    pub(crate) fn has_resource(&self) -> bool {
        self.limits.iter().any(|limit| limit.of_resource)
    }

    /// Time in which something happens.
    pub(crate) fn longest_us(&self) -> u64 {
        self.limits.iter().map(|limit| limit.window_us).max().unwrap()
    }

    /// The length of a slot of `sliding_buckets`.
    pub(crate) fn slot_us(&self) -> u64 {
        let limit = &self.limits[0];
        limit.window_us.div_ceil(limit.slots.unwrap_or(60))
    }

    /// The most that a key never seen admits at once.
    pub(crate) fn most(&self) -> u64 {
        let limit = self.limits.iter().map(|limit| self.bounded(limit.limit)).min().unwrap();
        match self.burst() {
            _ if self.algorithm() == "uniform" => 1,
            Some(burst) => burst,
            None => limit,
        }
    }

    /// The bucket's size, where a rule states one.
    pub(crate) fn burst(&self) -> Option<u64> {
        let takes_burst = self.is_gcra() && self.algorithm() != "uniform" && self.limits.len() == 1;
        self.burst.filter(|_| takes_burst)
    }

    /// Denied costs are charged.
    pub(crate) fn counts_denied(&self) -> bool {
        let can = matches!(self.algorithm(), "fixed_window" | "sliding_window" | "sliding_buckets" | "decay");
        can && self.count_denied
    }

    /// A limit, or a cost, that this rule can have.
    pub(crate) fn bounded(&self, limit: u64) -> u64 {
        match self.algorithm() {
            "sliding_log" => limit.min(LARGEST_LOG),
            _ if self.is_gcra() => limit.min(LARGEST_BURST),
            _ => limit,
        }
    }

    pub(crate) fn json(&self, id: &str) -> Value {
        let mut rule = json!({ "rule_id": id, "algorithm": self.algorithm(), "shadow": self.shadow });
        let fields = rule.as_object_mut().unwrap();
        fields.insert("priority".into(), json!(self.priority));
        if let Some((option, value)) = self.kind.1 {
            fields.insert(option.into(), json!(value));
        }
        if let Some(burst) = self.burst() {
            fields.insert("burst".into(), json!(burst));
        }
        if self.algorithm() == "decay" {
            fields.insert("decay_factor".into(), json!(self.decay_factor));
        }
        if self.counts_denied() {
            fields.insert("count_denied".into(), json!(true));
        }
        match self.limits.as_slice() {
            [only] if !only.of_resource => fields.extend(self.limit_json(only)),
            limits => {
                let limits: Vec<_> =
                    limits.iter().map(|limit| Value::Object(self.limit_json(limit))).collect();
                fields.insert("limits".into(), Value::Array(limits));
            }
        }
        rule
    }

    fn limit_json(&self, limit: &RandomLimit) -> Map<String, Value> {
        let seconds = |us: u64| json!(us as f64 / 1e6);
        let mut fields = Map::new();
        fields.insert("limit".into(), json!(self.bounded(limit.limit)));
        if self.algorithm() == "decay" {
            // Limits may be fractional here alone.
            fields.insert("limit".into(), json!(limit.limit as f64 + 0.25));
            fields.insert("resolution_seconds".into(), seconds(limit.window_us));
        } else if self.is_of_calendar() {
            fields.insert("window".into(), json!("day"));
        } else {
            fields.insert("window_size_seconds".into(), seconds(limit.window_us));
        }
        if let (Some(slots), "sliding_buckets") = (limit.slots, self.algorithm()) {
            fields.insert("resolution_seconds".into(), seconds(limit.window_us.div_ceil(slots)));
        }
        if limit.of_resource {
            fields.insert("scope".into(), json!("resource"));
        }
        fields
    }
}

/// Any rule.
pub(crate) fn any_rule() -> impl Strategy<Value = RandomRule> {
    let limits = prop_oneof![
        3 => prop::collection::vec(any_limit(), 1),
        1 => prop::collection::vec(any_limit(), 2..=3),
    ];
    let factors = prop::sample::select(vec![1.01, 1.5, 2.0, 3.7, 1e6]);
    let flags = (prop::bool::weighted(0.2), prop::bool::weighted(0.1));
    (prop::sample::select(KINDS.to_vec()), limits, prop::option::of(1..1000_u64), factors, flags, -2..3_i64)
        .prop_map(|(kind, mut limits, burst, decay_factor, (count_denied, shadow), priority)| {
            let rule =
                |limits| RandomRule { kind, limits, burst, decay_factor, count_denied, shadow, priority };
            if rule(Vec::new()).is_of_calendar() {
                limits.iter_mut().for_each(|limit| limit.window_us = DAY_US);
            }
            // Two limits of one window would be one state.
            limits.sort_by_key(|limit| limit.window_us);
            limits.dedup_by_key(|limit| limit.window_us);
            rule(limits)
        })
}

/// A rule that a single key is counted by, with one limit, enforced.
pub(crate) fn plain_rule() -> impl Strategy<Value = RandomRule> {
    any_rule().prop_map(|mut rule| {
        rule.limits.truncate(1);
        rule.limits[0].of_resource = false;
        RandomRule { shadow: false, count_denied: false, ..rule }
    })
}

/// Buckets of many slots, of which more may be in use than a script reads at once.
pub(crate) fn many_buckets() -> impl Strategy<Value = RandomRule> {
    (plain_rule(), 20..200_u64, 60..=100_u64, prop::bool::weighted(0.2)).prop_map(
        |(mut rule, limit, slots, count_denied)| {
            rule.limits[0].limit = limit;
            rule.limits[0].slots = Some(slots);
            RandomRule { kind: ("sliding_buckets", None), count_denied, ..rule }
        },
    )
}

fn any_limit() -> impl Strategy<Value = RandomLimit> {
    let limit = prop_oneof![4 => 1..=10_u64, 3 => 1..=1000_u64, 1 => 1..=1_u64 << 40];
    let window_us = prop_oneof![
        1_000..20_000_u64,
        1_000..=5_000_000_u64,
        (1..=100_u64).prop_map(|seconds| seconds * 1_000_000),
        1_000..=5 * DAY_US,
    ];
    (limit, window_us, prop::option::of(1..=100_u64), prop::bool::weighted(0.15)).prop_map(
        |(limit, window_us, slots, of_resource)| RandomLimit { limit, window_us, slots, of_resource },
    )
}
