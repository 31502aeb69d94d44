//! Reservations that wait for room.

use std::time::Duration;

use super::backend::{Limiter, awaited};
use super::both::both_limiters;
use super::driver::Driver;
use super::queue::AttemptResult;
use super::rest::Rest;
use super::shared::Shared;
use super::waiting::Ask;
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::plan::{Charge, End, Form, Op, Plan};
use crate::request::{Check, CheckOptions};
use crate::reservation::Reservation;
use crate::rules::Algorithm;

both_limiters! {
    /// [`reserve_with`](Self::reserve_with) that waits for room, for `wait` at most. That is the time to be admitted:
    /// each try may take as long as any call.
    ///
    /// Waits for the same key take turns, in the order of their arrival, together with those of [`wait`](Self::wait). What
    /// is committed or released through this limiter lets the first of them try again at once; for the sake of other
    /// processes it tries again after `retry_after`, or 100 milliseconds or so where that is longer and something is held.
    /// A future that is dropped leaves the queue, and what it may have reserved is released.
    ///
    /// When the time passes without room the answer is the denied reservation: at once where nothing is held and
    /// `retry_after` is longer than `wait`, or the cost never fits. With a [`ManualClock`](crate::ManualClock) nothing
    /// sleeps: the clock is moved on by `retry_after`, if that is no longer than `wait`.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    #[inline(always)]
    pub async fn reserve_within(
        &self,
        rule: &str,
        key: &str,
        options: CheckOptions<'_>,
        wait: Duration,
    ) -> Result<Reservation> {
        self.reserve_in_turn(&[Check::new(rule, key).with(options)], Form::Single, wait)
    }

    /// [`reserve_all`](Self::reserve_all) that waits for room, as [`reserve_within`](Self::reserve_within) does. It takes
    /// its turn among all waits for any of the keys, and holds up those behind it only where it was denied.
    ///
    /// # Errors
    /// As [`reserve_all`](Self::reserve_all).
    pub async fn reserve_all_within(&self, checks: &[Check<'_>], wait: Duration) -> Result<Reservation> {
        self.reserve_in_turn(checks, Form::WithParts, wait)
    }
}

impl<D: Driver> Limiter<D> {
    /// Waits as `wait` does.
    pub(super) async fn reserve_waiting(
        &self,
        checks: &[Check<'_>],
        form: Form,
        wait: Duration,
        rest: impl Rest,
    ) -> Result<Reservation> {
        if self.is_in_memory() && self.shared.queue.is_idle() {
            let reservation = awaited!(self, reserve(checks, form))?;
            if reservation.allowed {
                return Ok(reservation);
            }
        }
        self.ensure_open()?;
        let entry = self.shared.entry(checks, Op::Reserve)?;
        self.in_turn(entry, wait, None, ReservationAttempt { limiter: self, checks, form }, rest).await
    }
}

/// Whether there is room for a reservation.
struct ReservationAttempt<'a, D> {
    limiter: &'a Limiter<D>,
    checks: &'a [Check<'a>],
    form: Form,
}

impl<D: Driver> Ask<Reservation> for ReservationAttempt<'_, D> {
    async fn ask(&mut self, op: Op) -> Result<AttemptResult<Reservation>> {
        let &mut Self { limiter, checks, form } = self;
        if op == Op::Peek {
            return limiter.ask(checks, op, form).await.map(denied);
        }
        let asked = awaited!(limiter, hold(&limiter.catalog(), checks, form))?;
        Ok(limiter.shared.believed(asked))
    }

    /// Not where something may be reserved of which nobody learns: that would keep the next attempt from its room.
    fn may_go_on(&self, error: &Error) -> bool {
        error.is_undecided() && !error.is_maybe_done()
    }
}

/// What a look has shown: nothing is reserved by it.
fn denied(asked: AttemptResult<Decision>) -> AttemptResult<Reservation> {
    let AttemptResult { answer, waits, is_estimate, forecast } = asked;
    AttemptResult { answer: Reservation::unheld(answer), waits, is_estimate, forecast }
}

impl Shared {
    /// By a manual clock nothing comes sooner than it was said to.
    fn believed<T>(&self, asked: AttemptResult<T>) -> AttemptResult<T> {
        if self.is_manual() { AttemptResult { is_estimate: false, forecast: None, ..asked } } else { asked }
    }

    /// Lets the first waiters ask again for that of which a reservation left more than it was charged.
    #[inline]
    pub(super) fn freed_by(&self, plan: &Plan<'_>, end: End) {
        if end == End::Renew || self.queue.is_idle() {
            return;
        }
        let is_freed = |charge: &&Charge<'_>| {
            let held = charge.holder.map_or(0.0, |holder| plan.holders[holder].weight);
            let is_place = charge.rule.rule.algorithm == Algorithm::Concurrency;
            is_place || end == End::Release || charge.cost < held
        };
        let freed = plan.charges.iter().filter(is_freed).map(|charge| self.queue.lane_of(charge));
        self.queue.freed(freed);
    }
}
