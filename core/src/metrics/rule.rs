//! What is counted of one rule.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::heavy::HeavyKeys;
use super::snapshot::{DecisionCounts, LoanUnits, RuleMetrics};
use super::waiting::{Waiting, WaitingCall};
use crate::decision::{Decision, Source};
use crate::events::{Seldom, event};
use crate::sync::fork::PerProcess;
use crate::sync::lock::Mutex;

/// How a call under a rule ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Admitted,
    Denied,
    ShadowDenied,
    Blocked,
    /// Nobody decided.
    Error,
}

impl Outcome {
    const COUNT: usize = 5;

    #[inline(always)]
    fn of(allowed: bool, shadow_denied: bool, blocked: bool) -> Self {
        match (allowed, shadow_denied, blocked) {
            (_, true, _) => Self::ShadowDenied,
            (true, ..) => Self::Admitted,
            (false, _, true) => Self::Blocked,
            (false, ..) => Self::Denied,
        }
    }
}

/// What became of units that another region, or the server, lends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoanUse {
    Asked,
    Granted,
    Spent,
    GivenBack,
    /// Given up, and not known to have come back.
    Lost,
}

impl LoanUse {
    const COUNT: usize = 5;
}

/// Who may decide, in the order of the counters.
const SOURCES: [Source; 7] = [
    Source::Memory,
    Source::Server,
    Source::Fallback,
    Source::Allotment,
    Source::Share,
    Source::Cache,
    Source::Lease,
];

/// So many groups of threads count apart: a counter that two processors write to takes longer than a check in memory.
const STRIPES: usize = 8;

/// Counters of one group of threads, which no other group's share a cache line with.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    /// For each source, for each outcome.
    calls: [[AtomicU64; Outcome::COUNT]; SOURCES.len()],
    /// What admitted calls cost beyond 1 each.
    more: AtomicU64,
}

/// The keys denied most. A forked child begins with none, and never locks its parent's.
#[derive(Debug)]
struct Heavy {
    reported: usize,
    keys: PerProcess<Mutex<HeavyKeys>>,
}

impl Heavy {
    fn new(reported: usize) -> Self {
        Self { reported, keys: PerProcess::new(Mutex::new(HeavyKeys::new(reported))) }
    }

    fn keys(&self) -> &Mutex<HeavyKeys> {
        self.keys.get(|_| Mutex::new(HeavyKeys::new(self.reported)))
    }
}

/// The counters of one rule. They stay when the rule is changed.
#[derive(Debug, Default)]
pub(crate) struct RuleCounters {
    /// The name of the rule.
    rule: Box<str>,
    stripes: [Stripe; STRIPES],
    /// Units, for each use.
    loans: [AtomicU64; LoanUse::COUNT],
    waiting: Waiting,
    /// Set where the keys denied most are reported.
    heavy: OnceLock<Heavy>,
    /// What the rule, in shadow, would have denied.
    shadow_denials: Seldom,
}

impl RuleCounters {
    pub(crate) fn of(rule: &str) -> Self {
        Self { rule: rule.into(), ..Self::default() }
    }

    /// From now on the keys denied most are counted, of which so many are reported. The first number holds.
    pub(crate) fn report_denied(&self, reported: usize) {
        if reported > 0 {
            self.heavy.get_or_init(|| Heavy::new(reported));
        }
    }

    /// Counts a call that was decided in memory; `key` is the name that it is stored by.
    #[inline(always)]
    pub(crate) fn in_memory(
        &self,
        (allowed, shadow_denied, blocked): (bool, bool, bool),
        key: &str,
        cost: u64,
    ) {
        self.add(Source::Memory, Outcome::of(allowed, shadow_denied, blocked), key, cost);
    }

    /// Counts a call by its decision.
    pub(crate) fn decided(&self, decision: &Decision, key: &str, cost: u64) {
        let Decision { allowed, shadow_denied, blocked, source, .. } = *decision;
        self.add(source, Outcome::of(allowed, shadow_denied, blocked), key, cost);
    }

    /// Counts a call that ended with an error.
    #[cold]
    pub(crate) fn failed(&self) {
        self.add(Source::Server, Outcome::Error, "", 0);
    }

    /// Counts units that another region, or the server, lends.
    pub(crate) fn lent(&self, what: LoanUse, units: f64) {
        self.loans[what as usize].fetch_add(units as u64, Ordering::Relaxed);
    }

    /// Counts a call as one that waits for room, until what is returned is dropped.
    pub(crate) fn waits(&self) -> WaitingCall {
        self.waiting.enter()
    }

    pub(super) fn snapshot(&self) -> RuleMetrics {
        let counts = |source| self.counts(source);
        let decisions = SOURCES.map(|source| (source.name(), counts(source)));
        let loans = |what: LoanUse| self.loans[what as usize].load(Ordering::Relaxed);
        RuleMetrics {
            decisions: decisions
                .into_iter()
                .filter(|(_, counts)| *counts != DecisionCounts::default())
                .collect(),
            cost: self.cost(),
            waiting: self.waiting.count(),
            loans: LoanUnits {
                asked: loans(LoanUse::Asked),
                granted: loans(LoanUse::Granted),
                spent: loans(LoanUse::Spent),
                given_back: loans(LoanUse::GivenBack),
                lost: loans(LoanUse::Lost),
            },
            top_denied: self.heavy.get().map_or_else(Vec::new, |heavy| heavy.keys().lock().heaviest()),
        }
    }

    fn counts(&self, source: Source) -> DecisionCounts {
        let calls = |outcome| self.calls(source, outcome);
        DecisionCounts {
            admitted: calls(Outcome::Admitted),
            denied: calls(Outcome::Denied),
            shadow_denied: calls(Outcome::ShadowDenied),
            blocked: calls(Outcome::Blocked),
            error: calls(Outcome::Error),
        }
    }

    #[inline(always)]
    fn add(&self, source: Source, outcome: Outcome, key: &str, cost: u64) {
        let stripe = &self.stripes[stripe()];
        stripe.calls[place(source)][outcome as usize].fetch_add(1, Ordering::Relaxed);
        if outcome == Outcome::Admitted {
            if cost > 1 {
                stripe.more.fetch_add(cost - 1, Ordering::Relaxed);
            }
        } else if outcome != Outcome::Error
            && let Some(heavy) = self.heavy.get()
        {
            heavy.keys().lock().add(key);
        }
        if outcome == Outcome::ShadowDenied {
            self.tell_shadow_denial();
        }
    }

    #[cold]
    fn tell_shadow_denial(&self) {
        if !log::log_enabled!(target: "sluicegate::events::shadow_denied", log::Level::Debug) {
            return;
        }
        if let Some(times) = self.shadow_denials.due(Instant::now()) {
            let calls = if times == 1 { "1 call".to_owned() } else { format!("{times} calls") };
            event!(Debug, shadow_denied, "rule \"{}\" is in shadow: it would have denied {calls}", self.rule);
        }
    }

    /// How many calls ended so.
    fn calls(&self, source: Source, outcome: Outcome) -> u64 {
        let count = |stripe: &Stripe| stripe.calls[place(source)][outcome as usize].load(Ordering::Relaxed);
        self.stripes.iter().map(count).sum()
    }

    /// What admitted calls have cost.
    fn cost(&self) -> u64 {
        let admitted: u64 = SOURCES.iter().map(|source| self.calls(*source, Outcome::Admitted)).sum();
        let more = |stripe: &Stripe| stripe.more.load(Ordering::Relaxed);
        self.stripes.iter().map(more).fold(admitted, u64::wrapping_add)
    }
}

#[inline(always)]
fn place(source: Source) -> usize {
    match source {
        Source::Memory => 0,
        Source::Server => 1,
        Source::Fallback => 2,
        Source::Allotment => 3,
        Source::Share => 4,
        Source::Cache => 5,
        Source::Lease => 6,
    }
}

/// The stripe of this thread.
#[inline(always)]
fn stripe() -> usize {
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    // While a thread ends it may have none.
    OWN.try_with(|own| {
        if own.get() == usize::MAX {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES);
        }
        own.get()
    })
    .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_threads_count_adds_up() {
        let counters = RuleCounters::default();
        thread::scope(|scope| {
            for _ in 0..STRIPES + 1 {
                scope.spawn(|| {
                    counters.in_memory((true, false, false), "k", 3);
                    counters.in_memory((false, false, false), "k", 3);
                    counters.in_memory((false, false, true), "k", 3);
                    counters.in_memory((true, true, false), "k", 3);
                });
            }
        });
        let counts = counters.counts(Source::Memory).named().map(|(_, count)| count);
        assert_eq!((counts, counters.cost()), ([9, 9, 9, 9, 0], 27));
    }
}
