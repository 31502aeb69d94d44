//! What is counted of a run.

mod bound;
mod excess;
mod in_flight;
mod keys;
mod sampled;
mod series;
mod waits;
mod window;

use std::borrow::Cow;
use std::ops::AddAssign;
use std::sync::Arc;

pub(crate) use bound::Bound;
pub(crate) use excess::{Excess, Most};
use in_flight::InFlight;
pub(crate) use keys::Keys;
pub(crate) use series::Series;
use sluicegate::rules::{Algorithm, Limit, Rule, Scope};
pub(crate) use waits::Waits;
use window::{Filled, Fullest, KeyWindows};

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
    pub(crate) load: LimitLoad,
    /// Keys, or resources, to which something was admitted for the first time.
    pub(crate) new_keys: Series<u64>,
    /// Of a limit whose units can be borrowed.
    pub(crate) excess: Option<ExcessTally>,
}

/// What was admitted beyond a limit and its burst, of a limit whose units can be borrowed.
#[derive(Debug)]
pub(crate) struct ExcessTally {
    intervals: Excess,
    pub(crate) most: Most,
    /// The most that was admitted beyond what was allowed then.
    pub(crate) beyond: f64,
    pub(crate) bins: Series<Most>,
}

impl ExcessTally {
    fn new(rule: &Rule, limit: &Limit, bins: Series<Most>) -> Option<Self> {
        Some(Self {
            intervals: Excess::new(rule, limit)?,
            most: Most::default(),
            beyond: f64::NEG_INFINITY,
            bins,
        })
    }

    fn add(&mut self, call: &CountedCall<'_>) {
        let most = self.intervals.add(call.key, call.at_us, call.cost, call.borrowed);
        let Some(most) = most else { return };
        self.most += most;
        self.beyond = self.beyond.max(most.excess - most.allowed);
        *self.bins.at(call.at_us) += most;
    }

    pub(crate) fn most_borrowed(&self) -> f64 {
        self.intervals.most_borrowed()
    }
}

/// What a limit is held to.
#[derive(Debug)]
pub(crate) enum LimitLoad {
    /// What is admitted in any window.
    KeyWindows(KeyWindows),
    /// What is under way at once.
    InFlight(InFlight),
}

impl LimitLoad {
    fn add(&mut self, key: &str, now_us: u64, cost: u64) -> Option<Filled> {
        match self {
            Self::KeyWindows(windows) => windows.add(key, now_us, cost),
            Self::InFlight(in_flight) => in_flight.begin(key, now_us, cost),
        }
    }

    pub(crate) fn fullest(&self) -> Fullest {
        match self {
            Self::KeyWindows(windows) => windows.fullest,
            Self::InFlight(in_flight) => in_flight.fullest,
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        match self {
            Self::KeyWindows(windows) => windows.is_exact(),
            Self::InFlight(in_flight) => in_flight.is_exact(),
        }
    }
}

/// One call, as it is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountedCall<'a> {
    /// Since the beginning of the run.
    pub(crate) at_us: u64,
    pub(crate) key: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) cost: u64,
    pub(crate) admitted: bool,
    /// By this rule itself; where several decide together another one may have denied.
    pub(crate) denied: bool,
    /// What was lent of the key, and not yet spent, before the call.
    pub(crate) borrowed: u64,
}

/// What is counted of one strategy.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) name: String,
    pub(crate) rule: Arc<Rule>,
    /// How many processes decide by borrowed units, and how many calls the server decided for them.
    pub(crate) borrowing: Option<(u64, u64)>,
    pub(crate) limits: Vec<LimitTally>,
    pub(crate) counts: Series<Counts>,
    pub(crate) total: Counts,
    /// Calls that this rule would have admitted, and another denied.
    pub(crate) denied_by_others: u64,
    pub(crate) keys: Keys,
    pub(crate) waits: Waits,
    /// Until when the bins tell what is under way.
    binned_until_us: u64,
}

impl Tally {
    pub(crate) fn new(rule: &Arc<Rule>, width_us: u64, most_bins: usize) -> Self {
        let limit = |limit: &Limit| {
            // `decay` has no window: what it admits in a slot is looked at. `concurrency` has neither.
            let window_us = if limit.window_us > 0 { limit.window_us } else { limit.resolution_us };
            let load = match rule.algorithm {
                Algorithm::Concurrency => LimitLoad::InFlight(InFlight::default()),
                _ => LimitLoad::KeyWindows(KeyWindows::new(window_us)),
            };
            LimitTally {
                limit: *limit,
                window_us,
                bound: Bound::new(rule, limit),
                load,
                new_keys: Series::new(width_us, most_bins),
                excess: ExcessTally::new(rule, limit, Series::new(width_us, most_bins)),
            }
        };
        Self {
            limits: rule.limits.iter().map(limit).collect(),
            name: rule.id.to_string(),
            rule: rule.clone(),
            borrowing: None,
            counts: Series::new(width_us, most_bins),
            total: Counts::default(),
            denied_by_others: 0,
            keys: Keys::default(),
            waits: Waits::default(),
            binned_until_us: 0,
        }
    }

    pub(crate) fn add(&mut self, call: &CountedCall<'_>) {
        self.tell_in_flight(call.at_us);
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

    /// Counts that an admitted call is under way no longer.
    pub(crate) fn end(&mut self, at_us: u64, key: &str, resource: &str, cost: u64) {
        self.tell_in_flight(at_us);
        for limit in &mut self.limits {
            if let LimitLoad::InFlight(in_flight) = &mut limit.load {
                in_flight.end(&counted_under(limit.limit.scope, key, resource), cost);
            }
        }
    }

    /// Records in the bins up to a time what has been under way since the last one: it changes only with calls.
    pub(crate) fn tell_in_flight(&mut self, to_us: u64) {
        let share = |limit: &LimitTally| match &limit.load {
            LimitLoad::InFlight(in_flight) => in_flight.most() as f64 / limit.limit.limit,
            LimitLoad::KeyWindows(_) => 0.0,
        };
        let share = self.limits.iter().map(share).fold(0.0, f64::max);
        let mut at_us = std::mem::replace(&mut self.binned_until_us, to_us);
        while share > 0.0 && at_us <= to_us {
            let bin = self.counts.at(at_us);
            bin.fullest = bin.fullest.max(share);
            let width_us = self.counts.width_us();
            at_us = (at_us / width_us + 1) * width_us;
        }
    }
}

/// What a limit counts by: a limit of a key, in a rule that limits a resource too, counts each key on each resource.
fn counted_under<'a>(scope: Scope, key: &'a str, resource: &'a str) -> Cow<'a, str> {
    match (scope, resource) {
        (Scope::Key, "") => Cow::Borrowed(key),
        (Scope::Key, resource) => Cow::Owned(format!("{resource}\0{key}")),
        (Scope::Resource, resource) => Cow::Borrowed(resource),
    }
}

impl LimitTally {
    /// How full the window is that ends with a call, or what is under way with it, as a share of the limit.
    fn fill(&mut self, call: &CountedCall<'_>) -> f64 {
        let of = counted_under(self.limit.scope, call.key, call.resource);
        let Some(filled) = self.load.add(&of, call.at_us, call.cost) else { return 0.0 };
        if filled.new_keys > 0 {
            *self.new_keys.at(call.at_us) += filled.new_keys;
        }
        if let Some(excess) = &mut self.excess {
            excess.add(call);
        }
        filled.cost as f64 / self.limit.limit
    }
}
