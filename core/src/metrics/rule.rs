//! What is counted of one rule.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::waiting::{Waiting, WaitingCall};
use crate::decision::{Decision, Source};

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
    pub(super) const ALL: [(Self, &'static str); 5] = [
        (Self::Admitted, "admitted"),
        (Self::Denied, "denied"),
        (Self::ShadowDenied, "shadow_denied"),
        (Self::Blocked, "blocked"),
        (Self::Error, "error"),
    ];

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

/// What became of units that another region lends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoanUse {
    Asked,
    Granted,
    Spent,
    GivenBack,
}

impl LoanUse {
    pub(super) const ALL: [(Self, &'static str); 4] = [
        (Self::Asked, "asked"),
        (Self::Granted, "granted"),
        (Self::Spent, "spent"),
        (Self::GivenBack, "given_back"),
    ];
}

/// Who may decide, in the order of the counters.
pub(super) const SOURCES: [Source; 6] =
    [Source::Memory, Source::Server, Source::Fallback, Source::Allotment, Source::Share, Source::Cache];

/// So many groups of threads count apart: a counter that two processors write to takes longer than a check in memory.
const STRIPES: usize = 8;

/// Counters of one group of threads, which no other group's share a cache line with.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    /// For each source, for each outcome.
    calls: [[AtomicU64; Outcome::ALL.len()]; SOURCES.len()],
    /// What admitted calls cost beyond 1 each.
    more: AtomicU64,
}

/// The counters of one rule. They stay when the rule is changed.
#[derive(Debug, Default)]
pub(crate) struct RuleCounters {
    stripes: [Stripe; STRIPES],
    /// Units, for each use.
    loans: [AtomicU64; LoanUse::ALL.len()],
    waiting: Waiting,
}

impl RuleCounters {
    /// Counts a call that was decided in memory.
    #[inline(always)]
    pub(crate) fn in_memory(&self, allowed: bool, shadow_denied: bool, blocked: bool, cost: u64) {
        self.add(Source::Memory, Outcome::of(allowed, shadow_denied, blocked), cost);
    }

    /// Counts a call by its decision.
    pub(crate) fn decided(&self, decision: &Decision, cost: u64) {
        let Decision { allowed, shadow_denied, blocked, source, .. } = *decision;
        self.add(source, Outcome::of(allowed, shadow_denied, blocked), cost);
    }

    /// Counts a call that ended with an error.
    #[cold]
    pub(crate) fn failed(&self) {
        self.add(Source::Server, Outcome::Error, 0);
    }

    /// Counts units that another region lends.
    pub(crate) fn lent(&self, what: LoanUse, units: f64) {
        self.loans[what as usize].fetch_add(units as u64, Ordering::Relaxed);
    }

    /// Counts a call as one that waits for room, until what is returned is dropped.
    pub(crate) fn waits(&self) -> WaitingCall {
        self.waiting.enter()
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting.count()
    }

    pub(super) fn loans(&self, what: LoanUse) -> u64 {
        self.loans[what as usize].load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn add(&self, source: Source, outcome: Outcome, cost: u64) {
        let stripe = &self.stripes[stripe()];
        stripe.calls[place(source)][outcome as usize].fetch_add(1, Ordering::Relaxed);
        if cost > 1 && outcome == Outcome::Admitted {
            stripe.more.fetch_add(cost - 1, Ordering::Relaxed);
        }
    }

    /// How many calls ended so.
    pub(super) fn calls(&self, source: Source, outcome: Outcome) -> u64 {
        let count = |stripe: &Stripe| stripe.calls[place(source)][outcome as usize].load(Ordering::Relaxed);
        self.stripes.iter().map(count).sum()
    }

    /// What admitted calls have cost.
    pub(super) fn cost(&self) -> u64 {
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
                    counters.in_memory(true, false, false, 3);
                    counters.in_memory(false, false, false, 3);
                    counters.in_memory(false, false, true, 3);
                    counters.in_memory(true, true, false, 3);
                });
            }
        });
        let calls = Outcome::ALL.map(|(outcome, _)| counters.calls(Source::Memory, outcome));
        assert_eq!((calls, counters.cost()), ([9, 9, 9, 9, 0], 27));
    }
}
