//! What a run showed.

mod borrowing;

use std::mem::take;

use sluicegate::rules::Scope;

pub use borrowing::{BorrowingReport, ExcessReport};

use super::tally::{Bound, Counts, Keys, LimitTally, Series, Tally, Waits};

/// Curves have at most so many points.
const POINTS: usize = 720;

/// The results of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The specs of the traffic; empty for calls that were given, and for a replay.
    pub specs: Vec<String>,
    /// What fixes what is random in the traffic; `None` without specs.
    pub seed: Option<u64>,
    /// When it begins, in microseconds since 1970.
    pub start_us: u64,
    /// How long it is.
    pub length_us: u64,
    /// How long each bin is.
    pub bin_us: u64,
    /// Whether it was ended before its time.
    pub interrupted: bool,
    /// One for each rule, in order.
    pub strategies: Vec<StrategyReport>,
    /// Of a replay: the totals over all requests.
    pub requests: Option<Requests>,
}

/// The totals of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Requests {
    /// All of them.
    pub total: u64,
    /// To which no rule applied.
    pub unmatched: u64,
    /// Which every rule that applied admitted.
    pub admitted: u64,
    /// Which some rule denied.
    pub denied: u64,
    /// Which were logged after a later one, and are taken to have come with it.
    pub late: u64,
    /// Whether each rule decided alone, to be compared with the others; then none denied a request for all of them.
    pub apart: bool,
}

/// What one rule admitted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StrategyReport {
    /// Name of the rule.
    pub name: String,
    /// Its algorithm.
    pub algorithm: &'static str,
    /// Its limits.
    pub limits: Vec<LimitReport>,
    /// Calls that were admitted.
    pub admitted: u64,
    /// Calls that it denied.
    pub denied: u64,
    /// Calls that it would have admitted, and another rule that decided with it denied.
    pub denied_by_others: u64,
    /// The sum of the costs that were admitted.
    pub cost: u64,
    /// The most denials in a row of one key.
    pub longest_denial_run: u64,
    /// How evenly keys were treated.
    pub fairness: Fairness,
    /// How long calls waited, of clients that wait.
    pub waits: Option<WaitReport>,
    /// Counts per stretch of time.
    pub bins: Vec<Bin>,
    /// At the end of bins, in microseconds since the beginning: the most that the algorithm may have admitted to
    /// the keys seen so far. Infinite under `concurrency`, where it depends on how soon calls end.
    pub bound: Vec<(u64, f64)>,
    /// The keys that were denied most often.
    pub most_denied: Vec<DeniedKey>,
    /// What was admitted beyond limit and burst, of a rule with `lease` that leaks.
    pub excess: Option<ExcessReport>,
    /// How processes borrowed that decided by this rule.
    pub borrowing: Option<BorrowingReport>,
}

/// How close admissions came to one limit.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LimitReport {
    /// How much cost may be admitted per window.
    pub limit: f64,
    /// The window; for `decay`, which has none, a slot; 0 for `concurrency`, which limits what is under way.
    pub window_us: u64,
    /// Whether it counts keys or resources.
    pub scope: Scope,
    /// The fullest window over all its positions.
    pub worst: Worst,
}

/// The fullest window.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Worst {
    /// What was admitted in it; under `concurrency`, the most that was under way at once.
    pub count: u64,
    /// That, divided by the limit.
    pub ratio: f64,
    /// Where it ends, or when that was, in microseconds since the beginning.
    pub at_us: u64,
    /// Whether every key and every position was looked at; otherwise there may be a fuller one.
    pub exact: bool,
}

/// How evenly keys were treated.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Fairness {
    /// How many keys called.
    pub keys: u64,
    /// Whether all of them were looked at, or a sample.
    pub exact: bool,
    /// Jain's index of what was admitted per key: from 1/keys, one got everything, to 1, all got the same.
    pub jain: Option<f64>,
    /// Jain's index of what keys asked for.
    pub jain_asked: Option<f64>,
    /// What keys asked for, the most first; means of neighbours where there are many.
    pub asked: Vec<f64>,
    /// What the same keys got.
    pub admitted: Vec<f64>,
}

/// How long calls waited until they were admitted, within 3 percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitReport {
    /// Calls that were admitted in the end.
    pub calls: u64,
    /// The median.
    pub p50_us: u64,
    /// What 9 of 10 did not exceed.
    pub p90_us: u64,
    /// What 99 of 100 did not exceed.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// Counts of one stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Bin {
    /// Calls that were admitted.
    pub admitted: u64,
    /// Calls that were denied.
    pub denied: u64,
    /// The sum of the costs that were admitted.
    pub cost: u64,
    /// The fullest window that ended in it, or the most that was under way in it, divided by the limit.
    pub fullest: f64,
}

/// A key that was denied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeniedKey {
    /// Who called.
    pub key: String,
    /// How often it was denied.
    pub denied: u64,
}

/// What is known of a run when it ends.
#[derive(Debug, Default)]
pub(super) struct RunEnd {
    pub(super) specs: Vec<String>,
    pub(super) seed: u64,
    pub(super) start_us: u64,
    pub(super) length_us: u64,
    pub(super) interrupted: bool,
    pub(super) requests: Option<Requests>,
}

impl Report {
    pub(super) fn new(mut tallies: Vec<Tally>, ending: RunEnd) -> Self {
        let end_us = ending.length_us.saturating_sub(1);
        tallies.iter_mut().for_each(|tally| tally.tell_in_flight(end_us));
        let bin_us = tallies.iter().map(|tally| tally.counts.width_us()).max().unwrap_or(1);
        tallies.iter_mut().for_each(|tally| tally.widen(bin_us));
        let bins = tallies.iter().map(|tally| tally.counts.bins().len()).max().unwrap_or(0);
        let bins = bins.max(ending.length_us.div_ceil(bin_us) as usize);
        let strategy = |tally| StrategyReport::new(tally, ending.start_us, bins);
        Self {
            strategies: tallies.into_iter().map(strategy).collect(),
            seed: (!ending.specs.is_empty()).then_some(ending.seed),
            specs: ending.specs,
            start_us: ending.start_us,
            length_us: ending.length_us,
            bin_us,
            interrupted: ending.interrupted,
            requests: ending.requests,
        }
    }

    /// Whether there was no call at all.
    pub fn is_empty(&self) -> bool {
        self.strategies.iter().all(|strategy| strategy.calls() == 0)
    }

    /// Whether anything came, even if no rule matched it.
    pub fn has_traffic(&self) -> bool {
        self.requests.map_or(!self.is_empty(), |requests| requests.total > 0)
    }
}

impl Tally {
    fn widen(&mut self, width_us: u64) {
        self.counts.widen(width_us);
        for limit in &mut self.limits {
            limit.new_keys.widen(width_us);
            limit.excess.iter_mut().for_each(|excess| excess.bins.widen(width_us));
        }
    }
}

impl StrategyReport {
    fn new(mut tally: Tally, start_us: u64, bins: usize) -> Self {
        let bound = bound(&tally.limits, start_us, tally.counts.width_us(), bins);
        let mut counted: Vec<Bin> = tally.counts.bins().iter().map(Bin::from).collect();
        counted.resize(bins, Bin::default());
        let excess = tally.limits.first().and_then(|limit| limit.excess.as_ref());
        Self {
            excess: excess.map(|excess| ExcessReport::new(excess, bins)),
            borrowing: tally.borrowing.map(|(processes, requests)| BorrowingReport { processes, requests }),
            name: take(&mut tally.name),
            algorithm: tally.rule.algorithm.name(),
            limits: tally.limits.iter().map(LimitReport::from).collect(),
            admitted: tally.total.admitted,
            denied: tally.total.denied,
            denied_by_others: tally.denied_by_others,
            cost: tally.total.cost,
            longest_denial_run: tally.keys.longest_run,
            fairness: Fairness::from(&tally.keys),
            waits: WaitReport::of(&take(&mut tally.waits)),
            bins: counted,
            bound,
            most_denied: most_denied(&tally.keys),
        }
    }

    /// All calls that it decided.
    pub fn calls(&self) -> u64 {
        self.admitted + self.denied + self.denied_by_others
    }

    /// The window that was fullest in comparison with its limit.
    pub fn worst(&self) -> Worst {
        let none = Worst { count: 0, ratio: 0.0, at_us: 0, exact: true };
        let worst = self.limits.iter().map(|limit| limit.worst);
        worst.fold(none, |one, other| if other.ratio > one.ratio { other } else { one })
    }
}

/// The least of what the limits may have admitted, each to the keys or resources that it has seen.
fn bound(limits: &[LimitTally], start_us: u64, width_us: u64, bins: usize) -> Vec<(u64, f64)> {
    let group = bins.div_ceil(POINTS).max(1);
    let ends = (1..=bins).filter(|bin| bin % group == 0 || *bin == bins);
    let at = |end: usize| {
        let end_us = end as u64 * width_us;
        let of = |limit: &LimitTally| of_keys(&limit.bound, &limit.new_keys, start_us, end_us);
        (end_us, limits.iter().map(of).fold(f64::INFINITY, f64::min))
    };
    ends.map(at).collect()
}

fn of_keys(bound: &Bound, new_keys: &Series<u64>, start_us: u64, end_us: u64) -> f64 {
    let width = new_keys.width_us();
    let begins = new_keys.bins().iter().zip(0..).map(|(keys, bin)| (*keys, bin * width));
    let counted = begins.filter(|(keys, begin)| *keys > 0 && *begin < end_us);
    counted.map(|(keys, begin)| keys as f64 * bound.between(start_us + begin, start_us + end_us - 1)).sum()
}

fn most_denied(keys: &Keys) -> Vec<DeniedKey> {
    let named = |(key, denied): (Box<str>, u64)| DeniedKey { key: key.into(), denied };
    keys.most_denied().into_iter().map(named).collect()
}

impl LimitReport {
    /// Whether it limits what is under way at once, rather than what is admitted in a time.
    pub fn is_of_concurrency(&self) -> bool {
        self.window_us == 0
    }
}

impl From<&Counts> for Bin {
    fn from(counts: &Counts) -> Self {
        let Counts { admitted, denied, cost, fullest } = *counts;
        Self { admitted, denied, cost, fullest }
    }
}

impl From<&LimitTally> for LimitReport {
    fn from(tally: &LimitTally) -> Self {
        let fullest = tally.load.fullest();
        Self {
            limit: tally.limit.limit,
            window_us: tally.window_us,
            scope: tally.limit.scope,
            worst: Worst {
                count: fullest.cost,
                ratio: fullest.cost as f64 / tally.limit.limit,
                at_us: fullest.at_us,
                exact: tally.load.is_exact(),
            },
        }
    }
}

impl From<&Keys> for Fairness {
    fn from(keys: &Keys) -> Self {
        let profile = keys.profile();
        Self {
            keys: keys.count(),
            exact: keys.is_exact(),
            jain: keys.jain_admitted(),
            jain_asked: keys.jain_asked(),
            asked: profile.asked,
            admitted: profile.admitted,
        }
    }
}

impl WaitReport {
    fn of(waits: &Waits) -> Option<Self> {
        (waits.total() > 0).then(|| Self {
            calls: waits.total(),
            p50_us: waits.quantile_us(0.5),
            p90_us: waits.quantile_us(0.9),
            p99_us: waits.quantile_us(0.99),
            max_us: waits.longest_us(),
        })
    }
}
