//! Reservations: made, committed, released, renewed.

use std::time::Duration;

use super::attempt::attempt_result;
use super::backend::{MemoryCalls, ServerCalls};
use super::both::both_limiters;
use super::driver::Driver;
use super::lone::LoneCheck;
use super::queue::{AttemptResult, POLL};
use super::release_guard::ReleaseGuard;
use crate::algorithm::HoldId;
use crate::catalog::Catalog;
use crate::decision::Source;
use crate::error::Result;
use crate::plan::{ENFORCED, End, Forecast, Form, Op, Plan};
use crate::request::{Check, CheckOptions};
use crate::reservation::{Granted, Reservation, ReservationRef, Ticket, Usage, fresh};
use crate::sequence::Decided;

/// A reservation that is asked for: its plan, and what its id will state.
struct Wanted<'a> {
    plan: Plan<'a>,
    ticket: Ticket,
}

impl<'a> Wanted<'a> {
    #[inline]
    fn new(catalog: &'a Catalog, checks: &[Check<'a>], prefix: &str) -> Result<Self> {
        let plan = Plan::new(catalog, checks, Op::Reserve)?;
        let items = Plan::ticket_items(catalog, checks)?;
        let ticket = Ticket { id: fresh()?, prefix: prefix.into(), items };
        ticket.ensure_short()?;
        Ok(Self { plan, ticket })
    }

    /// The result of the reservation.
    #[inline]
    fn made(self, found: Decided, form: Form) -> AttemptResult<Reservation> {
        let Decided { outcomes, token, is_beside, origin, .. } = found;
        let lease = self.plan.holders.iter().map(|holder| holder.lease).min().unwrap_or(0);
        let AttemptResult { answer, waits, .. } = attempt_result(&self.plan, &outcomes, None, origin, form);
        let enforced = self.plan.charges.iter().zip(&outcomes).filter(|(charge, _)| charge.group == ENFORCED);
        let left = enforced.map(|(_, outcome)| outcome.figures.remaining).collect();
        let granted = token.filter(|_| answer.allowed).map(|token| Granted {
            ticket: self.ticket,
            token,
            lease: Duration::from_micros(lease.unsigned_abs()),
        });
        AttemptResult {
            answer: Reservation::new(answer, granted),
            waits,
            is_estimate: is_beside,
            forecast: Some(Forecast::Room { left, for_us: POLL }),
        }
    }
}

/// A reservation to end: its plan, and the names of the reservation and of this call.
#[inline]
fn ending<'a>(
    catalog: &'a Catalog,
    ticket: &'a Ticket,
    costs: &[u64],
) -> Result<(Plan<'a>, (HoldId, HoldId))> {
    Ok((Plan::of_ticket(catalog, ticket, costs)?, (ticket.id, fresh()?)))
}

/// Notes that the caller has ended a reservation.
#[inline]
fn note_end(reservation: &ReservationRef<'_>, end: End) {
    if end != End::Renew {
        reservation.note_end();
    }
}

both_limiters! {
    /// Reserves a cost of 1 for `key` under `rule`, or denies it: room is held, and nothing is charged yet.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a rule without
    /// reservations.
    #[inline(always)]
    pub async fn reserve(&self, rule: &str, key: &str) -> Result<Reservation> {
        self.reserve_with(rule, key, CheckOptions::new())
    }

    /// [`reserve`](Self::reserve) with a cost, a resource or another limit, with which what is used is charged then.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    #[inline(always)]
    pub async fn reserve_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Reservation> {
        self.reserve_within(rule, key, options, Duration::ZERO)
    }

    /// Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at
    /// once.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), if no item's rule has reservations; an empty list is an `InvalidArgument`.
    pub async fn reserve_all(&self, checks: &[Check<'_>]) -> Result<Reservation> {
        self.reserve_all_within(checks, Duration::ZERO)
    }

    /// Ends a reservation and charges what was really used, also beyond the limit. Whether it took effect: not where the
    /// reservation had ended, expired or been reset, when nothing is charged.
    ///
    /// # Errors
    /// As [`check`](Self::check); `InvalidArgument` for an id that is none, and for a charge that would overdraw a limit
    /// by more than 2^53 units or microseconds, when nothing is done.
    #[inline]
    pub async fn commit<'a>(&self, reservation: impl Into<ReservationRef<'a>>, cost: Usage<'_>) -> Result<bool> {
        self.end(reservation.into(), End::Commit, cost)
    }

    /// Ends a reservation of which nothing was used. Whether it took effect.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    #[inline]
    pub async fn release<'a>(&self, reservation: impl Into<ReservationRef<'a>>) -> Result<bool> {
        self.end(reservation.into(), End::Release, Usage::AsReserved)
    }

    /// Renews the lease of a reservation. Returns whether it took effect.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    #[inline]
    pub async fn renew<'a>(&self, reservation: impl Into<ReservationRef<'a>>) -> Result<bool> {
        self.end(reservation.into(), End::Renew, Usage::AsReserved)
    }
}

impl MemoryCalls<'_> {
    /// Reserves without waiting.
    #[inline]
    pub(super) fn reserve(self, checks: &[Check<'_>], form: Form) -> Result<Reservation> {
        let catalog = self.shared.rules.snapshot();
        if let (Form::Single, [check]) = (form, checks) {
            self.memory.ensure_open()?;
            if let Some(check) = LoneCheck::of(&catalog, check, &self.shared.wire.prefix)? {
                return self.memory.reserve_alone(&check, &self.shared.wire.prefix);
            }
        }
        Ok(self.hold(&catalog, checks, form)?.answer)
    }

    /// Tries to reserve once.
    #[inline]
    pub(super) fn hold(
        self,
        catalog: &Catalog,
        checks: &[Check<'_>],
        form: Form,
    ) -> Result<AttemptResult<Reservation>> {
        self.memory.ensure_open()?;
        let wanted = Wanted::new(catalog, checks, &self.shared.wire.prefix)?;
        let (outcomes, token, is_beside) = self.memory.reserve(&wanted.plan, wanted.ticket.id);
        let origin = Source::Memory.into();
        Ok(wanted.made(Decided { outcomes, forecast: None, token, is_beside, origin }, form))
    }

    #[inline]
    pub(super) fn end(self, reservation: ReservationRef<'_>, end: End, usage: Usage<'_>) -> Result<bool> {
        self.memory.ensure_open()?;
        let Some(ticket) = reservation.ticket(&self.shared.wire.prefix)? else { return Ok(false) };
        let catalog = self.shared.rules.snapshot();
        let costs = usage.costs(&ticket)?;
        let ended = self.shared.end_in_memory(self.memory, &catalog, (&ticket, &costs), end)?;
        note_end(&reservation, end);
        Ok(ended)
    }
}

impl<D: Driver> ServerCalls<'_, D> {
    /// Reserves without waiting.
    pub(super) async fn reserve(self, checks: &[Check<'_>], form: Form) -> Result<Reservation> {
        Ok(self.hold(&self.shared.rules.snapshot(), checks, form).await?.answer)
    }

    /// Tries to reserve once.
    pub(super) async fn hold(
        self,
        catalog: &Catalog,
        checks: &[Check<'_>],
        form: Form,
    ) -> Result<AttemptResult<Reservation>> {
        self.server.ensure_open()?;
        let mut wanted = Wanted::new(catalog, checks, &self.shared.wire.prefix)?;
        self.on_terms_in_charge(&mut wanted.plan);
        let guard = ReleaseGuard::new(self, catalog, &wanted.ticket);
        let found = self.decide(&mut wanted.plan, Op::Reserve, wanted.ticket.id, false).await;
        if found.as_ref().is_ok_and(|found| found.origin.source == Source::Fallback) {
            guard.undecided();
            return Ok(wanted.made(found?, form));
        }
        let found = guard.heard(found)?;
        Ok(wanted.made(found, form))
    }

    pub(super) async fn end(
        self,
        reservation: ReservationRef<'_>,
        end: End,
        usage: Usage<'_>,
    ) -> Result<bool> {
        self.server.ensure_open()?;
        let Some(ticket) = reservation.ticket(&self.shared.wire.prefix)? else { return Ok(false) };
        let catalog = self.shared.rules.snapshot();
        if self.shared.fallback.end(&catalog, &ticket, &usage.costs(&ticket)?, end)? {
            note_end(&reservation, end);
            return Ok(true);
        }
        let (mut plan, names) = ending(&catalog, &ticket, &usage.costs(&ticket)?)?;
        self.on_terms_in_charge(&mut plan);
        let deadline = self.server.deadline(plan.timeout);
        if self.lacks_terms(&plan)
            && let Some((_, error)) = D::apart(self.hear_terms(&mut plan, deadline)).await
        {
            return Err(error);
        }
        let mut ending = self.shared.ending(&plan, end, names);
        self.drive(&mut ending, deadline).await;
        let ended = ending.finish()?;
        if ended {
            self.shared.freed_by(&plan, end);
        }
        note_end(&reservation, end);
        Ok(ended)
    }
}
