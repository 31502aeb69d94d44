//! What is counted of a run.

mod bound;
mod keys;
mod sampled;
mod series;
mod waits;
mod window;

use std::ops::AddAssign;
use std::sync::Arc;

pub(crate) use bound::Bound;
pub(crate) use keys::Keys;
pub(crate) use series::Series;
pub(crate) use waits::Waits;
pub(crate) use window::Windows;

use crate::rules::{Limit, Rule, Scope};

/// Counts of one stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) admitted: u64,
    pub(crate) denied: u64,
    pub(crate) cost: u64,
    /// The fullest window that ended in it, divided by its limit.
    pub(crate) fullest: f64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.admitted += other.admitted;
        self.denied += other.denied;
        self.cost += other.cost;
        self.fullest = self.fullest.max(other.fullest);
    }
}

/// What one limit of a rule is held to, and how it was kept.
#[derive(Debug)]
pub(crate) struct LimitTally {
    pub(crate) limit: Limit,
    pub(crate) window_us: u64,
    pub(crate) bound: Bound,
    pub(crate) windows: Windows,
    /// Keys, or resources, to which something was admitted for the first time.
    pub(crate) new_keys: Series<u64>,
}

/// One call, as it is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted<'a> {
    /// Since the beginning of the run.
    pub(crate) at_us: u64,
    pub(crate) key: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) cost: u64,
    pub(crate) admitted: bool,
    /// By this rule itself; where several decide together another one may have denied.
    pub(crate) denied: bool,
}

/// What is counted of one strategy.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) rule: Arc<Rule>,
    pub(crate) limits: Vec<LimitTally>,
    pub(crate) counts: Series<Counts>,
    pub(crate) total: Counts,
    /// Calls that this rule would have admitted, and another denied.
    pub(crate) denied_by_others: u64,
    pub(crate) keys: Keys,
    pub(crate) waits: Waits,
}

impl Tally {
    pub(crate) fn new(rule: &Arc<Rule>, width_us: u64, most_bins: usize) -> Self {
        let limit = |limit: &Limit| {
            // `decay` has no window: what it admits in a slot is looked at.
            let window_us = if limit.window_us > 0 { limit.window_us } else { limit.resolution_us };
            LimitTally {
                limit: *limit,
                window_us,
                bound: Bound::new(rule, limit),
                windows: Windows::new(window_us),
                new_keys: Series::new(width_us, most_bins),
            }
        };
        Self {
            limits: rule.limits.iter().map(limit).collect(),
            rule: rule.clone(),
            counts: Series::new(width_us, most_bins),
            total: Counts::default(),
            denied_by_others: 0,
            keys: Keys::default(),
            waits: Waits::default(),
        }
    }

    pub(crate) fn add(&mut self, call: &Counted<'_>) {
        let mut counts = Counts::default();
        if call.admitted {
            counts.admitted = 1;
            counts.cost = call.cost;
            for limit in &mut self.limits {
                counts.fullest = counts.fullest.max(limit.fill(call));
            }
        } else if call.denied {
            counts.denied = 1;
        } else {
            self.denied_by_others += 1;
            return;
        }
        self.keys.add(call.key, call.cost, call.admitted);
        *self.counts.at(call.at_us) += counts;
        self.total += counts;
    }
}

impl LimitTally {
    /// How full the window is that ends with a call, as a share of the limit.
    fn fill(&mut self, call: &Counted<'_>) -> f64 {
        // A limit of a key, in a rule that limits a resource too, counts each key on each resource.
        let filled = match (self.limit.scope, call.resource) {
            (Scope::Key, "") => self.windows.add(call.key, call.at_us, call.cost),
            (Scope::Key, resource) => {
                self.windows.add(&format!("{resource}\0{}", call.key), call.at_us, call.cost)
            }
            (Scope::Resource, resource) => self.windows.add(resource, call.at_us, call.cost),
        };
        let Some(filled) = filled else { return 0.0 };
        if filled.new_keys > 0 {
            *self.new_keys.at(call.at_us) += filled.new_keys;
        }
        filled.cost as f64 / self.limit.limit
    }
}
