//! One attempt of a waiter: which states it is about, and its result.

use std::time::Duration;

use super::memory::InMemory;
use super::queue::{AttemptResult, Claim, Retryable, WaitQueue};
use crate::decision::{Decision, Origin, Source};
use crate::error::Result;
use crate::plan::{Charge, ENFORCED, Forecast, Form, Op, Outcome, Plan, SmallList, answer};
use crate::reservation::Reservation;

impl WaitQueue {
    /// One claim in each state that can deny.
    pub(super) fn claims(&self, plan: &Plan<'_>) -> SmallList<Claim> {
        let enforced = plan.charges.iter().filter(|charge| charge.group == ENFORCED);
        let claims = enforced.map(|charge| Claim {
            lane: self.lane_of(charge),
            cost: charge.amount.is_none().then_some(charge.cost),
        });
        claims.collect()
    }

    /// The lane of the state that a charge is about.
    pub(super) fn lane_of(&self, charge: &Charge<'_>) -> u64 {
        self.lane((charge.limit.number, &charge.tag, &charge.member))
    }
}

impl Retryable for Decision {
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

pub(super) fn attempt_in_memory(
    memory: &InMemory,
    plan: &Plan<'_>,
    op: Op,
    form: Form,
) -> Result<AttemptResult<Decision>> {
    Ok(attempt_result(plan, &memory.outcomes(plan, op)?, None, Source::Memory.into(), form))
}

impl Retryable for Reservation {
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
pub(super) fn attempt_result(
    plan: &Plan<'_>,
    outcomes: &[Outcome],
    forecast: Option<Forecast>,
    origin: Origin,
    form: Form,
) -> AttemptResult<Decision> {
    let enforced = plan.charges.iter().zip(outcomes).filter(|(charge, _)| charge.group == ENFORCED);
    let waits = enforced.map(|(_, outcome)| match outcome.retry_after() {
        Some(wait) => wait.unsigned_abs(),
        None => u64::MAX,
    });
    AttemptResult {
        waits: waits.collect(),
        is_estimate: false,
        forecast,
        answer: answer(plan, outcomes, origin, form),
    }
}

/// The answer to a single check, of which no more is known.
pub(super) fn alone(answer: Decision) -> AttemptResult<Decision> {
    AttemptResult { answer, waits: SmallList::new(), is_estimate: false, forecast: None }
}
