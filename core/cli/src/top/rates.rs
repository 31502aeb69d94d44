//! What processes do together.

use std::collections::BTreeMap;

use super::counts::{COUNTED, Counted, RuleCounts};
use super::process::Interval;

#[derive(Debug, Clone, Default)]
pub(super) struct RuleRates {
    per_second: [f64; COUNTED],
    pub(super) waiting: f64,
}

impl RuleRates {
    pub(super) fn of(&self, what: Counted) -> f64 {
        self.per_second[what as usize]
    }

    /// All decisions.
    pub(super) fn decided(&self) -> f64 {
        [Counted::Admitted, Counted::Denied, Counted::Blocked, Counted::ShadowDenied]
            .map(|it| self.of(it))
            .iter()
            .sum()
    }

    /// The part of decisions that are denials, if there were any decisions.
    pub(super) fn denied_share(&self) -> Option<f64> {
        let decided = self.decided();
        (decided > 0.0).then(|| (self.of(Counted::Denied) + self.of(Counted::Blocked)) / decided)
    }

    /// Whether a region that lends decides here.
    pub(super) fn has_loans(&self) -> bool {
        use Counted::{Asked, ByAllotment, ByShare, GivenBack, Granted, Lost, Spent};
        [Asked, Granted, Spent, GivenBack, Lost, ByAllotment, ByShare].iter().any(|it| self.of(*it) > 0.0)
    }
}

/// A server as the processes see it.
#[derive(Debug, Clone, Default)]
pub(super) struct Breaker {
    pub(super) open: usize,
    pub(super) processes: usize,
}

/// The sum over processes.
#[derive(Debug, Default)]
pub(super) struct Rates {
    pub(super) processes: usize,
    /// The longest interval.
    pub(super) seconds: f64,
    pub(super) rules: BTreeMap<String, RuleRates>,
    pub(super) errors: BTreeMap<String, f64>,
    round_trips: BTreeMap<u64, f64>,
    pub(super) servers: BTreeMap<String, Breaker>,
    /// Since the processes began.
    pub(super) openings: f64,
    /// In the interval.
    pub(super) new_openings: f64,
    /// Whether any process has counted something since it began.
    has_counted: [bool; COUNTED],
    /// How many processes decide by each version of rules.
    pub(super) versions: BTreeMap<String, usize>,
}

/// What a counter counted between two reads: one that fell began again with 0.
fn difference(before: f64, now: f64) -> f64 {
    if now < before { now } else { now - before }
}

impl Rates {
    pub(super) fn add(&mut self, interval: &Interval<'_>) {
        let Interval { before, now, seconds } = *interval;
        self.processes += 1;
        self.seconds = self.seconds.max(seconds);
        let none = RuleCounts::default();
        for (rule, counts) in &now.rules {
            // A series that was not there had counted nothing.
            let before = before.rules.get(rule).unwrap_or(&none);
            let rates = self.rules.entry(rule.clone()).or_default();
            for (rate, (before, now)) in
                rates.per_second.iter_mut().zip(before.counts.iter().zip(counts.counts))
            {
                *rate += difference(*before, now) / seconds;
            }
            rates.waiting += counts.waiting;
            self.has_counted.iter_mut().zip(counts.counts).for_each(|(has, count)| *has |= count > 0.0);
        }
        for (kind, count) in &now.errors {
            let before = before.errors.get(kind).copied().unwrap_or_default();
            *self.errors.entry(kind.clone()).or_default() += difference(before, *count) / seconds;
        }
        let bucket = |bound: &u64| before.round_trips.get(bound).copied().unwrap_or_default();
        let is_new = now.round_trips.iter().any(|(bound, count)| *count < bucket(bound));
        for (bound, count) in &now.round_trips {
            let before = if is_new { 0.0 } else { bucket(bound) };
            *self.round_trips.entry(*bound).or_default() += (count - before) / seconds;
        }
        for (server, is_open) in &now.servers {
            let breaker = self.servers.entry(server.clone()).or_default();
            breaker.open += usize::from(*is_open);
            breaker.processes += 1;
        }
        self.openings += now.openings;
        self.new_openings += difference(before.openings, now.openings);
        for version in &now.versions {
            *self.versions.entry(version.clone()).or_default() += 1;
        }
    }

    pub(super) fn has_counted(&self, what: Counted) -> bool {
        self.has_counted[what as usize]
    }

    /// Whether some process lacks rules that another one has.
    pub(super) fn versions_differ(&self) -> bool {
        self.versions.values().any(|processes| *processes != self.processes)
    }

    /// Round trips per second.
    pub(super) fn round_trips(&self) -> f64 {
        self.round_trips.values().copied().fold(0.0, f64::max)
    }

    /// The time that this part of round trips took at most, in seconds, as `histogram_quantile` of Prometheus estimates it.
    /// Of times beyond all bounds the largest bound, and `true`.
    pub(super) fn quantile(&self, part: f64) -> Option<(f64, bool)> {
        let rank = self.round_trips() * part;
        let (mut lower, mut below) = (0.0, 0.0);
        for (bound, count) in self.round_trips.iter().map(|(bits, count)| (f64::from_bits(*bits), *count)) {
            if bound.is_infinite() {
                return Some((lower, true));
            }
            if count >= rank && count > below {
                return Some((lower + (bound - lower) * (rank - below) / (count - below), false));
            }
            (lower, below) = (bound, count.max(below));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::counts::Counts;
    use super::*;

    fn rates(of_each: &[(&str, &str)]) -> Rates {
        let mut rates = Rates::default();
        for (before, now) in of_each {
            let read = |text: &str| Counts::read(text).unwrap();
            rates.add(&Interval { before: &read(before), now: &read(now), seconds: 2.0 });
        }
        rates
    }

    fn decisions(admitted: u64, denied: u64) -> String {
        format!(
            "sluicegate_decisions_total{{rule=\"r\",result=\"admitted\",source=\"server\"}} {admitted}\n\
             sluicegate_decisions_total{{rule=\"r\",result=\"denied\",source=\"fallback\"}} {denied}\n"
        )
    }

    #[test]
    fn rates_are_those_of_the_interval_summed_over_processes() {
        let rates = rates(&[
            (&decisions(100, 0), &decisions(106, 2)),
            (&decisions(0, 50), &decisions(0, 50)),
            // The series appear with their first count.
            (
                "sluicegate_waiting{rule=\"r\"} 1",
                "sluicegate_cost_total{rule=\"r\"} 9\nsluicegate_waiting{rule=\"r\"} 3",
            ),
        ]);
        let rule = &rates.rules["r"];
        let of = |what| rule.of(what);
        assert_eq!((of(Counted::Admitted), of(Counted::Denied), of(Counted::ByFallback)), (3.0, 1.0, 1.0));
        assert_eq!((of(Counted::Cost), rule.waiting, rule.denied_share()), (4.5, 3.0, Some(0.25)));
        assert!(!rule.has_loans());
    }

    #[test]
    fn a_process_that_began_again_counts_from_0() {
        let rates = rates(&[(&decisions(1000, 1000), &decisions(4, 0))]);
        assert_eq!(
            (rates.rules["r"].of(Counted::Admitted), rates.rules["r"].of(Counted::Denied)),
            (2.0, 0.0)
        );
        let bucket = |of_1: u64, of_2: u64| {
            format!(
                "sluicegate_round_trip_seconds_bucket{{le=\"1\"}} {of_1}\n\
                 sluicegate_round_trip_seconds_bucket{{le=\"+Inf\"}} {of_2}\n"
            )
        };
        let rates = super::tests::rates(&[(&bucket(1, 9), &bucket(2, 8))]);
        assert_eq!(rates.round_trips(), 4.0);
    }

    #[test]
    fn quantiles_are_those_of_the_interval() {
        let page = |counts: [u64; 4]| {
            let lines = ["0.001", "0.002", "0.004", "+Inf"].iter().zip(counts);
            let line = |(le, count)| format!("sluicegate_round_trip_seconds_bucket{{le=\"{le}\"}} {count}\n");
            lines.map(line).collect::<String>()
        };
        let before = [1000, 1000, 1000, 1000];
        let of = |counts| rates(&[(&page(before), &page(counts))]);
        let rates = of([1000, 1050, 1100, 1100]);
        assert_eq!(rates.round_trips(), 50.0);
        assert_eq!(rates.quantile(0.5), Some((0.002, false)));
        assert_eq!(rates.quantile(0.75), Some((0.003, false)));
        assert_eq!(of([1000, 1000, 1000, 1010]).quantile(0.99), Some((0.004, true)));
        assert_eq!(of(before).round_trips(), 0.0);
    }

    #[test]
    fn versions_differ_where_a_process_lacks_one() {
        let version = |name: &str| format!("sluicegate_rules_version{{version=\"{name}\"}} 1\n");
        let (a, b) = (version("a"), version("b"));
        let both = a.clone() + &b;
        // Two limiters in each process.
        assert!(!rates(&[(&both, &both), (&both, &both)]).versions_differ());
        assert!(rates(&[(&a, &a), (&a, &b)]).versions_differ());
    }
}
