//! What both limiters share: rules in, plans and conversations out. No I/O happens here.

use std::time::Duration;

use crate::algorithm::{HoldId, Micros};
use crate::clock::ManualClock;
use crate::plan::{End, Op, Plan};
use crate::sources::RuleBook;
use crate::transaction::{Ending, Transaction, Wire};

#[derive(Debug)]
pub(super) struct Centre {
    pub(super) rules: RuleBook,
    pub(super) wire: Wire,
    clock: Option<ManualClock>,
}

impl Centre {
    pub(super) fn new(rules: RuleBook, wire: Wire, clock: Option<ManualClock>) -> Self {
        Self { rules, wire, clock }
    }

    /// The conversation that carries out a plan on a server.
    pub(super) fn transaction<'a>(&'a self, plan: &'a Plan<'a>, op: Op) -> Transaction<'a> {
        Transaction::new(plan, &self.wire, op, self.now())
    }

    /// The conversation that reserves what a plan asks for, under this name.
    pub(super) fn reserving<'a>(&'a self, plan: &'a Plan<'a>, id: HoldId) -> Transaction<'a> {
        Transaction::named(plan, &self.wire, Op::Reserve, self.now(), id)
    }

    /// The conversation that ends or renews a reservation; `names` are the reservation's and the call's.
    pub(super) fn ending<'a>(&'a self, plan: &'a Plan<'a>, end: End, names: (HoldId, HoldId)) -> Ending<'a> {
        Ending::new(plan, &self.wire, end, names, self.now())
    }

    /// A manual clock's time.
    pub(super) fn now(&self) -> Option<Micros> {
        self.clock.as_ref().map(ManualClock::now)
    }

    /// Lets a wait pass: a manual clock is moved on. Without one, the caller has to sleep.
    pub(super) fn pass(&self, wait: Duration) -> Passed {
        match &self.clock {
            Some(clock) => {
                clock.advance(wait);
                Passed::Already
            }
            None => Passed::ToSleep,
        }
    }
}

/// Whether time has passed.
pub(super) enum Passed {
    Already,
    ToSleep,
}
