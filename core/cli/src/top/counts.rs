//! What one process has counted since it began.

use std::collections::{BTreeMap, BTreeSet};

use super::page::samples;

/// What is counted of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Admitted,
    Denied,
    Blocked,
    ShadowDenied,
    Error,
    /// Decisions by their source, where it is a notable one.
    ByFallback,
    ByAllotment,
    ByShare,
    Cost,
    /// Units that servers and other regions lend.
    Asked,
    Granted,
    Spent,
    GivenBack,
    Lost,
}

/// So many things are counted of a rule.
pub(super) const COUNTED: usize = Counted::Lost as usize + 1;

impl Counted {
    fn of_result(result: &str) -> Option<Self> {
        Some(match result {
            "admitted" => Self::Admitted,
            "denied" => Self::Denied,
            "blocked" => Self::Blocked,
            "shadow_denied" => Self::ShadowDenied,
            "error" => Self::Error,
            _ => return None,
        })
    }

    fn of_source(source: &str) -> Option<Self> {
        Some(match source {
            "fallback" => Self::ByFallback,
            "allotment" => Self::ByAllotment,
            "share" => Self::ByShare,
            _ => return None,
        })
    }

    fn of_loan(what: &str) -> Option<Self> {
        Some(match what {
            "asked" => Self::Asked,
            "granted" => Self::Granted,
            "spent" => Self::Spent,
            "given_back" => Self::GivenBack,
            "lost" => Self::Lost,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct RuleCounts {
    pub(super) counts: [f64; COUNTED],
    /// Calls that wait now.
    pub(super) waiting: f64,
}

impl RuleCounts {
    fn add(&mut self, what: Option<Counted>, value: f64) {
        if let Some(what) = what {
            self.counts[what as usize] += value;
        }
    }
}

/// The counts of a page. Several limiters of a process are summed.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) rules: BTreeMap<String, RuleCounts>,
    /// By kind.
    pub(super) errors: BTreeMap<String, f64>,
    /// Round trips that took no longer than each bound. The bits of the bound in seconds are the key: those of positive
    /// numbers are in the same order as the numbers.
    pub(super) round_trips: BTreeMap<u64, f64>,
    /// Whether the breaker of each server is open.
    pub(super) servers: BTreeMap<String, bool>,
    /// How often breakers have opened.
    pub(super) openings: f64,
    pub(super) versions: BTreeSet<String>,
    pub(super) regions: BTreeSet<String>,
}

impl Counts {
    /// Those of a page; `None` if it has no metric of ours.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut read = Self::default();
        let mut is_empty = true;
        // No count of ours is anything else.
        for sample in samples(text).filter(|sample| sample.value.is_finite() && sample.value >= 0.0) {
            is_empty = false;
            let value = sample.value;
            match sample.name {
                "decisions_total" => {
                    let rule = read.rule(sample.label("rule"));
                    let result = Counted::of_result(sample.label("result"));
                    rule.add(result, value);
                    if result != Some(Counted::Error) {
                        rule.add(Counted::of_source(sample.label("source")), value);
                    }
                }
                "cost_total" => read.rule(sample.label("rule")).add(Some(Counted::Cost), value),
                "waiting" => read.rule(sample.label("rule")).waiting += value,
                "loan_units_total" => {
                    read.rule(sample.label("rule")).add(Counted::of_loan(sample.label("what")), value);
                }
                "errors_total" => *read.errors.entry(sample.label("kind").to_owned()).or_default() += value,
                "round_trip_seconds_bucket" => {
                    let bound = sample.label("le").parse().ok().filter(|bound: &f64| *bound > 0.0);
                    if let Some(bound) = bound {
                        *read.round_trips.entry(bound.to_bits()).or_default() += value;
                    }
                }
                "breaker_open" => {
                    *read.servers.entry(sample.label("server").to_owned()).or_default() |= value > 0.0;
                }
                "breaker_openings_total" => read.openings += value,
                "rules_version" => drop(read.versions.insert(sample.label("version").to_owned())),
                "region" => drop(read.regions.insert(sample.label("region").to_owned())),
                _ => {}
            }
        }
        (!is_empty).then_some(read)
    }

    fn rule(&mut self, name: &str) -> &mut RuleCounts {
        self.rules.entry(name.to_owned()).or_default()
    }
}
