//! The most that each algorithm may admit: what its definition promises, not what a run did.

use std::sync::Arc;

use sluicegate::internal::CalendarWindows;
use sluicegate::rules::{Algorithm, Limit, Rule, WindowStart};

/// The bound of one limit.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    limit: f64,
    kind: BoundKind,
}

#[derive(Debug, Clone)]
enum BoundKind {
    /// `limit` in each window that is touched, where windows begin at multiples of it since 1970.
    Aligned { window_us: u64 },
    /// `limit` in each window of the calendar that is touched.
    Calendar(Arc<CalendarWindows>),
    /// `limit` in each stretch of this length.
    PerStretch { us: u64 },
    /// A bucket of `burst`, filled again at `limit` per window.
    Bucket { burst: f64, window_us: u64 },
    /// A level that every slot divides.
    Level { slot_us: u64, factor: f64 },
    /// What is in flight at once; in a time, there is no bound.
    InFlight,
}

impl Bound {
    pub(crate) fn new(rule: &Rule, limit: &Limit) -> Self {
        let window_us = limit.window_us;
        if let Some(window) = limit.calendar {
            return Self {
                limit: limit.limit,
                kind: BoundKind::Calendar(Arc::new(CalendarWindows::new(window))),
            };
        }
        let kind = match rule.algorithm {
            Algorithm::FixedWindow { window_start: WindowStart::FirstRequest }
            | Algorithm::SlidingLog { .. } => BoundKind::PerStretch { us: window_us },
            Algorithm::FixedWindow { .. } | Algorithm::SlidingWindow => BoundKind::Aligned { window_us },
            Algorithm::SlidingBuckets => BoundKind::PerStretch { us: window_us - limit.resolution_us + 1 },
            Algorithm::Gcra { burst, .. } => {
                BoundKind::Bucket { burst: burst.map_or(limit.limit, |burst| burst as f64), window_us }
            }
            Algorithm::Decay { factor } => BoundKind::Level { slot_us: limit.resolution_us, factor },
            // Concurrency, and what this release does not know.
            _ => BoundKind::InFlight,
        };
        Self { limit: limit.limit, kind }
    }

    /// The most that may be admitted to one key from `from_us` to `to_us`, both included and since 1970.
    pub(crate) fn between(&self, from_us: u64, to_us: u64) -> f64 {
        let span = to_us.saturating_sub(from_us);
        match self.kind {
            BoundKind::Calendar(ref calendar) => {
                self.limit * (calendar.number_at(to_us) - calendar.number_at(from_us) + 1) as f64
            }
            BoundKind::Aligned { window_us } => {
                self.limit * (to_us / window_us - from_us / window_us + 1) as f64
            }
            BoundKind::PerStretch { us } => self.limit * (span / us + 1) as f64,
            BoundKind::Bucket { burst, window_us } => burst + span as f64 * self.limit / window_us as f64,
            BoundKind::InFlight => f64::INFINITY,
            BoundKind::Level { slot_us, factor } => {
                let slots = to_us / slot_us - from_us / slot_us;
                self.limit * (1.0 + slots as f64 * (1.0 - 1.0 / factor))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate::rules::Rules;

    use super::*;

    fn bound(text: &str) -> Bound {
        let rules = Rules::from_json(&format!(r#"[{{"rule_id": "r", "limit": 10, {text}}}]"#)).unwrap();
        let rule = rules.iter().next().unwrap();
        Bound::new(rule, &rule.limits[0])
    }

    #[test]
    fn bounds_are_those_of_the_definitions() {
        const SECOND: u64 = 1_000_000;
        let window = r#""window_size_seconds": 10"#;
        let of = |text: &str, from: u64, to: u64| bound(text).between(from * SECOND, to * SECOND);
        let fixed = format!(r#""algorithm": "fixed_window", {window}"#);
        assert_eq!(of(&fixed, 9, 10), 20.0);
        let first = format!(r#""algorithm": "fixed_window", "window_start": "first_request", {window}"#);
        assert_eq!((of(&first, 9, 18), of(&first, 9, 19)), (10.0, 20.0));
        let log = format!(r#""algorithm": "sliding_log", {window}"#);
        assert_eq!((of(&log, 9, 18), of(&log, 9, 19)), (10.0, 20.0));
        let gcra = format!(r#""algorithm": "gcra", "burst": 3, {window}"#);
        assert_eq!((of(&gcra, 0, 0), of(&gcra, 0, 5)), (3.0, 8.0));
        let uniform = format!(r#""algorithm": "uniform", {window}"#);
        assert_eq!(of(&uniform, 0, 5), 6.0);
        let decay = r#""algorithm": "decay", "resolution_seconds": 5"#;
        assert_eq!((of(decay, 0, 4), of(decay, 4, 5)), (10.0, 15.0));
        let buckets = format!(r#""algorithm": "sliding_buckets", "resolution_seconds": 2, {window}"#);
        assert_eq!((of(&buckets, 0, 8), bound(&buckets).between(0, 8 * SECOND + 1)), (10.0, 20.0));
    }
}
