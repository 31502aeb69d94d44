//! What is admitted beyond what limit and burst allow, over all intervals, and what borrowed units allow beyond that.

use std::ops::AddAssign;

use sluicegate::rules::{Algorithm, Limit, Rule};

use super::sampled::Sampled;

/// Of a stretch of time, or of the whole run, in units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Most {
    /// The most that was admitted in an interval that ends there, less what limit and burst allow in it.
    pub(crate) excess: f64,
    /// The same of what may be admitted.
    pub(crate) allowed: f64,
}

impl Default for Most {
    fn default() -> Self {
        Self { excess: f64::NEG_INFINITY, allowed: f64::NEG_INFINITY }
    }
}

impl AddAssign for Most {
    fn add_assign(&mut self, other: Self) {
        self.excess = self.excess.max(other.excess);
        self.allowed = self.allowed.max(other.allowed);
    }
}

/// Looks at every interval from one admitted call to another of the same key.
#[derive(Debug)]
pub(crate) struct Excess {
    leaks_per_us: f64,
    burst: f64,
    /// What leaks while a loan lasts: borrowed units allow no more than that.
    most_borrowed: f64,
    keys: Sampled<Intervals>,
}

/// The intervals of one key that end now, by what was admitted until they began, less what had leaked.
#[derive(Debug)]
struct Intervals {
    sum: f64,
    least: f64,
    /// With what was borrowed then and not yet spent.
    least_with_borrowed: f64,
}

impl Excess {
    /// `None`: units of this rule cannot be borrowed, or may be spent in their window only.
    pub(crate) fn new(rule: &Rule, limit: &Limit) -> Option<Self> {
        let (Some(terms), Algorithm::Gcra { burst, .. }) = (rule.lease, rule.algorithm) else { return None };
        let leaks_per_us = limit.limit / limit.window_us as f64;
        Some(Self {
            leaks_per_us,
            burst: burst.map_or(limit.limit, |burst| burst as f64),
            most_borrowed: leaks_per_us * terms.max_age_us as f64,
            keys: Sampled::default(),
        })
    }

    /// What the bound allows at most beyond limit and burst.
    pub(crate) fn most_borrowed(&self) -> f64 {
        self.most_borrowed
    }

    /// Counts an admitted cost, before which so much was borrowed of the key and not yet spent. `None`: the key is not in the
    /// sample.
    pub(crate) fn add(&mut self, key: &str, at_us: u64, cost: u64, borrowed: u64) -> Option<Most> {
        let intervals = self.keys.get(key, Intervals::default)?;
        let leaked = self.leaks_per_us * at_us as f64;
        let before = intervals.sum - leaked;
        intervals.least = intervals.least.min(before);
        let with_borrowed = before + self.most_borrowed.min(borrowed as f64);
        intervals.least_with_borrowed = intervals.least_with_borrowed.min(with_borrowed);
        intervals.sum += cost as f64;
        Some(Most {
            excess: intervals.sum - leaked - intervals.least - self.burst,
            allowed: intervals.least_with_borrowed - intervals.least,
        })
    }
}

impl Default for Intervals {
    fn default() -> Self {
        Self { sum: 0.0, least: f64::INFINITY, least_with_borrowed: f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate::rules::Rules;

    use super::*;

    fn excess(fields: &str) -> Option<Excess> {
        let rules = Rules::from_json(&format!(
            r#"[{{"rule_id": "r", "limit": 100, "window_size_seconds": 1, {fields}, "lease": {{"max_age_ms": 20}}}}]"#
        ));
        let rules = rules.unwrap();
        let rule = rules.iter().next().unwrap();
        Excess::new(rule, &rule.limits[0])
    }

    #[test]
    fn the_worst_interval_is_found_wherever_it_begins() {
        let mut excess = excess(r#""algorithm": "gcra", "burst": 10"#).unwrap();
        assert_eq!(excess.most_borrowed(), 2.0);
        let mut add = |at_ms: u64, cost, borrowed| {
            let Most { excess, allowed } = excess.add("k", at_ms * 1_000, cost, borrowed).unwrap();
            [excess, allowed].map(|units| (units * 1e3).round() / 1e3)
        };
        assert_eq!(add(0, 10, 0), [0.0, 0.0]);
        // Of the interval that begins here, one of its units was borrowed before it.
        assert_eq!(add(200, 11, 1), [1.0, 1.0]);
        // More is never allowed than leaks in a lease.
        assert_eq!(add(5_000, 11, 50), [1.0, 2.0]);
    }

    #[test]
    fn windows_have_none() {
        assert!(excess(r#""algorithm": "fixed_window""#).is_none());
    }
}
