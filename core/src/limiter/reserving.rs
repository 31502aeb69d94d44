//! Reservations: made, committed, released, renewed; for threads and for tasks.

use super::asynchronous::{self, AsyncRateLimiter};
use super::blocking::{self, RateLimiter, talk};
use crate::algorithm::HoldId;
use crate::catalog::Catalog;
use crate::decision::Decision;
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{End, Form, Op, Plan};
use crate::request::{Check, CheckOptions};
use crate::reservation::{Reservation, ReservationRef, Ticket, Usage, fresh};
use crate::transaction::Transaction;

/// A reservation that is asked for: its plan, and what its id will state.
struct Wanted<'a> {
    plan: Plan<'a>,
    ticket: Ticket,
}

impl<'a> Wanted<'a> {
    fn new(catalog: &'a Catalog, checks: &[Check<'a>], prefix: &str) -> Result<Self> {
        if checks.is_empty() {
            let what = "there is nothing to reserve: the list is empty";
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        let plan = Plan::new(catalog, checks, Op::Reserve)?;
        let items = Plan::ticket_items(catalog, checks)?;
        let ticket = Ticket { id: fresh()?, prefix: prefix.to_owned(), items };
        ticket.ensure_short()?;
        Ok(Self { plan, ticket })
    }

    fn made(self, decision: Decision, token: Option<u64>) -> Reservation {
        Reservation::new(decision, token.map(|token| (self.ticket, token)))
    }
}

/// A reservation to end: its plan, and the names of the reservation and of this call.
fn ending<'a>(
    catalog: &'a Catalog,
    ticket: &'a Ticket,
    costs: &[u64],
) -> Result<(Plan<'a>, (HoldId, HoldId))> {
    Ok((Plan::of_ticket(catalog, ticket, costs)?, (ticket.id, fresh()?)))
}

/// What a conversation that reserved says: the decision and, where it is granted, the fencing token.
fn reserved(transaction: Transaction<'_>, form: Form) -> Result<(Decision, Option<u64>)> {
    let token = transaction.token();
    let decision = transaction.finish(form)?;
    let token = token.filter(|_| decision.allowed);
    Ok((decision, token))
}

impl RateLimiter {
    /// Reserves a cost of 1 for `key` under `rule`, or denies it: room is held, and nothing is charged yet.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a rule without
    /// reservations.
    pub fn reserve(&self, rule: &str, key: &str) -> Result<Reservation> {
        self.reserve_with(rule, key, CheckOptions::new())
    }

    /// [`reserve`](Self::reserve) with a cost, a resource or another limit, with which what is used is charged then.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    pub fn reserve_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Reservation> {
        self.hold(&self.centre.rules.snapshot(), &[Check::new(rule, key).with(options)], Form::Single)
    }

    /// Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at
    /// once.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), if no item's rule has reservations; an empty list is an `InvalidArgument`.
    pub fn reserve_all(&self, checks: &[Check<'_>]) -> Result<Reservation> {
        self.hold(&self.centre.rules.snapshot(), checks, Form::WithParts)
    }

    fn hold(&self, catalog: &Catalog, checks: &[Check<'_>], form: Form) -> Result<Reservation> {
        self.ensure_open()?;
        let wanted = Wanted::new(catalog, checks, &self.centre.wire.prefix)?;
        let (decision, token) = match &self.backend {
            blocking::Backend::Local(local) => local.reserve(&wanted.plan, wanted.ticket.id, form),
            blocking::Backend::Server(redis) => {
                let mut transaction = self.centre.reserving(&wanted.plan, wanted.ticket.id);
                talk(redis, &mut transaction, wanted.plan.timeout);
                reserved(transaction, form)?
            }
        };
        Ok(wanted.made(decision, token))
    }

    /// Ends a reservation and charges what was really used, also beyond the limit. Whether it took effect: not where the
    /// reservation had ended, expired or been reset, when nothing is charged.
    ///
    /// # Errors
    /// As [`check`](Self::check); `InvalidArgument` for an id that is none, and for a charge that would overdraw a limit
    /// by more than 2^53 units or microseconds, when nothing is done.
    pub fn commit<'a>(&self, reservation: impl Into<ReservationRef<'a>>, cost: Usage<'_>) -> Result<bool> {
        self.end(reservation.into(), End::Commit, cost)
    }

    /// Ends a reservation of which nothing was used. Whether it took effect.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn release<'a>(&self, reservation: impl Into<ReservationRef<'a>>) -> Result<bool> {
        self.end(reservation.into(), End::Release, Usage::AsReserved)
    }

    /// Lets the lease of a reservation begin anew. Whether it took effect.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn renew<'a>(&self, reservation: impl Into<ReservationRef<'a>>) -> Result<bool> {
        self.end(reservation.into(), End::Renew, Usage::AsReserved)
    }

    pub(crate) fn end(&self, reservation: ReservationRef<'_>, end: End, usage: Usage<'_>) -> Result<bool> {
        self.ensure_open()?;
        let Some(ticket) = reservation.ticket(&self.centre.wire.prefix)? else { return Ok(false) };
        let catalog = self.centre.rules.snapshot();
        let (plan, names) = ending(&catalog, &ticket, &usage.costs(&ticket)?)?;
        let ended = match &self.backend {
            blocking::Backend::Local(local) => local.end(&plan, end, &ticket.id)?,
            blocking::Backend::Server(redis) => {
                let mut ending = self.centre.ending(&plan, end, names);
                talk(redis, &mut ending, plan.timeout);
                ending.finish()?
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
        self.hold(&self.centre.rules.snapshot(), &[Check::new(rule, key).with(options)], Form::Single).await
    }

    /// Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at
    /// once.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve), if no item's rule has reservations; an empty list is an `InvalidArgument`.
    pub async fn reserve_all(&self, checks: &[Check<'_>]) -> Result<Reservation> {
        self.hold(&self.centre.rules.snapshot(), checks, Form::WithParts).await
    }

    async fn hold(&self, catalog: &Catalog, checks: &[Check<'_>], form: Form) -> Result<Reservation> {
        self.ensure_open()?;
        let wanted = Wanted::new(catalog, checks, &self.centre.wire.prefix)?;
        let (decision, token) = match &self.backend {
            asynchronous::Backend::Local(local) => local.reserve(&wanted.plan, wanted.ticket.id, form),
            asynchronous::Backend::Server(redis) => {
                let mut transaction = self.centre.reserving(&wanted.plan, wanted.ticket.id);
                asynchronous::talk(self, redis, &mut transaction, wanted.plan.timeout).await;
                reserved(transaction, form)?
            }
        };
        Ok(wanted.made(decision, token))
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
        let (plan, names) = ending(&catalog, &ticket, &usage.costs(&ticket)?)?;
        let ended = match &self.backend {
            asynchronous::Backend::Local(local) => local.end(&plan, end, &ticket.id)?,
            asynchronous::Backend::Server(redis) => {
                let mut ending = self.centre.ending(&plan, end, names);
                asynchronous::talk(self, redis, &mut ending, plan.timeout).await;
                ending.finish()?
            }
        };
        if end != End::Renew {
            reservation.note_end();
        }
        Ok(ended)
    }
}
