//! Reservations: made, committed, released, renewed; for threads and for tasks.

use std::time::Duration;

use super::asynchronous::{self, AsyncRateLimiter};
use super::attempt::attempt_result;
use super::blocking::{self, RateLimiter};
use super::lone::LoneCheck;
use super::memory::InMemory;
use super::queue::{AttemptResult, POLL};
use super::release_guard::ReleaseGuard;
use super::talk::{talk, talk_blocking};
use crate::algorithm::HoldId;
use crate::catalog::Catalog;
use crate::decision::Source;
use crate::error::Result;
use crate::plan::{ENFORCED, End, Forecast, Form, Op, Outcome, Plan, SmallList};
use crate::request::{Check, CheckOptions};
use crate::reservation::{Granted, Reservation, ReservationRef, Ticket, Usage, fresh};
use crate::transaction::Transaction;

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
    fn made(self, found: Found, source: Source, form: Form) -> AttemptResult<Reservation> {
        let Found { outcomes, token, is_beside } = found;
        let lease = self.plan.holders.iter().map(|holder| holder.lease).min().unwrap_or(0);
        let AttemptResult { answer, waits, .. } = attempt_result(&self.plan, &outcomes, None, source, form);
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

/// What a backend has found.
struct Found {
    outcomes: SmallList<Outcome>,
    token: Option<u64>,
    /// Whether something is held that may be given back.
    is_beside: bool,
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

/// What a conversation that reserved says.
fn reserved(transaction: Transaction<'_>) -> Result<Found> {
    let (token, is_beside) = (transaction.token(), transaction.found_held());
    Ok(Found { outcomes: transaction.outcomes()?.0, token, is_beside })
}

#[inline]
fn reserved_in_memory(memory: &InMemory, wanted: &Wanted<'_>) -> Found {
    let (outcomes, token, is_beside) = memory.reserve(&wanted.plan, wanted.ticket.id);
    Found { outcomes, token, is_beside }
}

impl RateLimiter {
    /// Reserves a cost of 1 for `key` under `rule`, or denies it: room is held, and nothing is charged yet.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a rule without
    /// reservations.
    #[inline(always)]
    pub fn reserve(&self, rule: &str, key: &str) -> Result<Reservation> {
        self.reserve_with(rule, key, CheckOptions::new())
    }

    /// [`reserve`](Self::reserve) with a cost, a resource or another limit, with which what is used is charged then.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    #[inline(always)]
    pub fn reserve_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Reservation> {
        self.reserve_within(rule, key, options, Duration::ZERO)
    }

    /// Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at
    /// once.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), if no item's rule has reservations; an empty list is an `InvalidArgument`.
    pub fn reserve_all(&self, checks: &[Check<'_>]) -> Result<Reservation> {
        self.reserve_all_within(checks, Duration::ZERO)
    }

    /// Reserves without waiting.
    #[inline]
    pub(super) fn reserve_now(&self, checks: &[Check<'_>], form: Form) -> Result<Reservation> {
        let catalog = self.centre.rules.snapshot();
        if let (blocking::Backend::Memory(memory), Form::Single, [check]) = (&self.backend, form, checks) {
            memory.ensure_open()?;
            if let Some(check) = LoneCheck::of(&catalog, check, &self.centre.wire.prefix)? {
                return memory.reserve_alone(&check, &self.centre.wire.prefix);
            }
        }
        Ok(self.hold(&catalog, checks, form)?.answer)
    }

    /// Tries to reserve once.
    #[inline]
    pub(super) fn hold(
        &self,
        catalog: &Catalog,
        checks: &[Check<'_>],
        form: Form,
    ) -> Result<AttemptResult<Reservation>> {
        self.ensure_open()?;
        let wanted = Wanted::new(catalog, checks, &self.centre.wire.prefix)?;
        match &self.backend {
            blocking::Backend::Memory(memory) => {
                let found = reserved_in_memory(memory, &wanted);
                Ok(wanted.made(found, Source::Memory, form))
            }
            blocking::Backend::Server(redis) => {
                let guard = ReleaseGuard::new(&**redis, &self.centre, catalog, &wanted.ticket);
                let mut transaction = self.centre.reserving(&wanted.plan, wanted.ticket.id);
                talk_blocking(redis, &mut transaction, wanted.plan.timeout);
                let found = guard.heard(reserved(transaction))?;
                Ok(wanted.made(found, Source::Server, form))
            }
        }
    }

    /// Ends a reservation and charges what was really used, also beyond the limit. Whether it took effect: not where the
    /// reservation had ended, expired or been reset, when nothing is charged.
    ///
    /// # Errors
    /// As [`check`](Self::check); `InvalidArgument` for an id that is none, and for a charge that would overdraw a limit
    /// by more than 2^53 units or microseconds, when nothing is done.
    #[inline]
    pub fn commit<'a>(&self, reservation: impl Into<ReservationRef<'a>>, cost: Usage<'_>) -> Result<bool> {
        self.end(reservation.into(), End::Commit, cost)
    }

    /// Ends a reservation of which nothing was used. Whether it took effect.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    #[inline]
    pub fn release<'a>(&self, reservation: impl Into<ReservationRef<'a>>) -> Result<bool> {
        self.end(reservation.into(), End::Release, Usage::AsReserved)
    }

    /// Lets the lease of a reservation begin anew. Whether it took effect.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    #[inline]
    pub fn renew<'a>(&self, reservation: impl Into<ReservationRef<'a>>) -> Result<bool> {
        self.end(reservation.into(), End::Renew, Usage::AsReserved)
    }

    #[inline]
    pub(crate) fn end(&self, reservation: ReservationRef<'_>, end: End, usage: Usage<'_>) -> Result<bool> {
        self.ensure_open()?;
        let Some(ticket) = reservation.ticket(&self.centre.wire.prefix)? else { return Ok(false) };
        let catalog = self.centre.rules.snapshot();
        let costs = usage.costs(&ticket)?;
        let ended = match &self.backend {
            blocking::Backend::Memory(memory) => {
                self.centre.end_in_memory(memory, &catalog, (&ticket, &costs), end)?
            }
            blocking::Backend::Server(redis) => {
                let (plan, names) = ending(&catalog, &ticket, &costs)?;
                let mut ending = self.centre.ending(&plan, end, names);
                talk_blocking(redis, &mut ending, plan.timeout);
                let ended = ending.finish()?;
                if ended {
                    self.centre.freed_by(&plan, end);
                }
                ended
            }
        };
        if end != End::Renew {
            reservation.note_end();
        }
        Ok(ended)
    }
}

impl AsyncRateLimiter {
    /// Reserves a cost of 1 for `key` under `rule`, or denies it: room is held, and nothing is charged yet.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a rule without
    /// reservations.
    pub async fn reserve(&self, rule: &str, key: &str) -> Result<Reservation> {
        self.reserve_with(rule, key, CheckOptions::new()).await
    }

    /// [`reserve`](Self::reserve) with a cost, a resource or another limit, with which what is used is charged then.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub async fn reserve_with(
        &self,
        rule: &str,
        key: &str,
        options: CheckOptions<'_>,
    ) -> Result<Reservation> {
        self.reserve_within(rule, key, options, Duration::ZERO).await
    }

    /// Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at
    /// once.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), if no item's rule has reservations; an empty list is an `InvalidArgument`.
    pub async fn reserve_all(&self, checks: &[Check<'_>]) -> Result<Reservation> {
        self.reserve_all_within(checks, Duration::ZERO).await
    }

    /// Reserves without waiting.
    #[inline]
    pub(super) async fn reserve_now(&self, checks: &[Check<'_>], form: Form) -> Result<Reservation> {
        let catalog = self.centre.rules.snapshot();
        if let (asynchronous::Backend::Memory(memory), Form::Single, [check]) = (&self.backend, form, checks)
        {
            memory.ensure_open()?;
            if let Some(check) = LoneCheck::of(&catalog, check, &self.centre.wire.prefix)? {
                return memory.reserve_alone(&check, &self.centre.wire.prefix);
            }
        }
        Ok(self.hold(&catalog, checks, form).await?.answer)
    }

    /// Tries to reserve once.
    pub(super) async fn hold(
        &self,
        catalog: &Catalog,
        checks: &[Check<'_>],
        form: Form,
    ) -> Result<AttemptResult<Reservation>> {
        self.ensure_open()?;
        let wanted = Wanted::new(catalog, checks, &self.centre.wire.prefix)?;
        match &self.backend {
            asynchronous::Backend::Memory(memory) => {
                let found = reserved_in_memory(memory, &wanted);
                Ok(wanted.made(found, Source::Memory, form))
            }
            asynchronous::Backend::Server(redis) => {
                let guard = ReleaseGuard::new(&**redis, &self.centre, catalog, &wanted.ticket);
                let mut transaction = self.centre.reserving(&wanted.plan, wanted.ticket.id);
                talk(self.sleeper.as_ref(), redis, &mut transaction, wanted.plan.timeout).await;
                let found = guard.heard(reserved(transaction))?;
                Ok(wanted.made(found, Source::Server, form))
            }
        }
    }

    /// Ends a reservation and charges what was really used, also beyond the limit. Whether it took effect: not where the
    /// reservation had ended, expired or been reset, when nothing is charged.
    ///
    /// # Errors
    /// As [`check`](Self::check); `InvalidArgument` for an id that is none, and for a charge that would overdraw a limit
    /// by more than 2^53 units or microseconds, when nothing is done.
    pub async fn commit<'a>(
        &self,
        reservation: impl Into<ReservationRef<'a>>,
        cost: Usage<'_>,
    ) -> Result<bool> {
        self.end(reservation.into(), End::Commit, cost).await
    }

    /// Ends a reservation of which nothing was used. Whether it took effect.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn release<'a>(&self, reservation: impl Into<ReservationRef<'a>>) -> Result<bool> {
        self.end(reservation.into(), End::Release, Usage::AsReserved).await
    }

    /// Lets the lease of a reservation begin anew. Whether it took effect.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub async fn renew<'a>(&self, reservation: impl Into<ReservationRef<'a>>) -> Result<bool> {
        self.end(reservation.into(), End::Renew, Usage::AsReserved).await
    }

    pub(crate) async fn end(
        &self,
        reservation: ReservationRef<'_>,
        end: End,
        usage: Usage<'_>,
    ) -> Result<bool> {
        self.ensure_open()?;
        let Some(ticket) = reservation.ticket(&self.centre.wire.prefix)? else { return Ok(false) };
        let catalog = self.centre.rules.snapshot();
        let costs = usage.costs(&ticket)?;
        let ended = match &self.backend {
            asynchronous::Backend::Memory(memory) => {
                self.centre.end_in_memory(memory, &catalog, (&ticket, &costs), end)?
            }
            asynchronous::Backend::Server(redis) => {
                let (plan, names) = ending(&catalog, &ticket, &costs)?;
                let mut ending = self.centre.ending(&plan, end, names);
                talk(self.sleeper.as_ref(), redis, &mut ending, plan.timeout).await;
                let ended = ending.finish()?;
                if ended {
                    self.centre.freed_by(&plan, end);
                }
                ended
            }
        };
        if end != End::Renew {
            reservation.note_end();
        }
        Ok(ended)
    }
}
