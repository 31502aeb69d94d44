//! What waiters ask of the states, and what they are told.

use std::time::Duration;

use super::memory::InMemory;
use super::queue::{Answer, Asked, Stake, WaitQueue};
use crate::decision::{Decision, Source};
use crate::error::Result;
use crate::plan::{Charge, ENFORCED, Few, Forecast, Form, Op, Outcome, Plan, answer};
use crate::reservation::Reservation;

impl WaitQueue {
    /// One stake in each state that can deny.
    pub(super) fn stakes(&self, plan: &Plan<'_>) -> Few<Stake> {
        let enforced = plan.charges.iter().filter(|charge| charge.group == ENFORCED);
        let stakes = enforced.map(|charge| Stake {
            lane: self.lane_of(charge),
            cost: charge.amount.is_none().then_some(charge.cost),
        });
        stakes.collect()
    }

    /// The lane of the state that a charge is about.
    pub(super) fn lane_of(&self, charge: &Charge<'_>) -> u64 {
        self.lane((charge.limit.number, &charge.tag, &charge.member))
    }
}

impl Answer for Decision {
    fn is_admitted(&self) -> bool {
        self.allowed
    }

    fn retry_after(&self) -> Duration {
        self.retry_after
    }

    fn refused(self, retry_after: Duration) -> Self {
        Self { allowed: false, retry_after, ..self }
    }
}

pub(super) fn asked_in_memory(
    memory: &InMemory,
    plan: &Plan<'_>,
    op: Op,
    form: Form,
) -> Result<Asked<Decision>> {
    Ok(asked(plan, &memory.outcomes(plan, op)?, None, Source::Memory, form))
}

impl Answer for Reservation {
    fn is_admitted(&self) -> bool {
        self.allowed
    }

    fn retry_after(&self) -> Duration {
        self.retry_after
    }

    fn refused(self, retry_after: Duration) -> Self {
        Self::unheld(self.decision().clone().refused(retry_after))
    }
}

/// The answer to a plan.
#[inline]
pub(super) fn asked(
    plan: &Plan<'_>,
    outcomes: &[Outcome],
    forecast: Option<Forecast>,
    source: Source,
    form: Form,
) -> Asked<Decision> {
    let enforced = plan.charges.iter().zip(outcomes).filter(|(charge, _)| charge.group == ENFORCED);
    let waits = enforced.map(|(_, outcome)| match outcome.retry_after() {
        Some(wait) => wait.unsigned_abs(),
        None => u64::MAX,
    });
    Asked {
        waits: waits.collect(),
        is_estimate: false,
        forecast,
        answer: answer(plan, outcomes, source, form),
    }
}

/// The answer to a single check, of which no more is known.
pub(super) fn alone(answer: Decision) -> Asked<Decision> {
    Asked { answer, waits: Few::new(), is_estimate: false, forecast: None }
}
