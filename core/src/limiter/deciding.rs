//! Checks, alone and together; looks, refunds and charges.

use std::time::Instant;

use super::backend::{MemoryCalls, ServerCalls};
use super::both::both_limiters;
use super::driver::Driver;
use crate::algorithm::HoldId;
use crate::catalog::Catalog;
use crate::cells::Watch;
use crate::decision::{Decision, Source};
use crate::error::{Error, Result};
use crate::plan::{Charge, Form, Op, Plan, RawDecision, answer};
use crate::redis::CallDeadline;
use crate::request::{Check, CheckAllOptions, CheckOptions};
use crate::sequence::Decided;

both_limiters! {
    /// Admits a cost of 1 for `key` under `rule`, or denies it.
    ///
    /// # Errors
    /// [`UnknownRule`](crate::ErrorKind::UnknownRule), [`InvalidArgument`](crate::ErrorKind::InvalidArgument)
    /// (an empty key, a missing resource), [`Connection`](crate::ErrorKind::Connection),
    /// [`Timeout`](crate::ErrorKind::Timeout) or [`Server`](crate::ErrorKind::Server) when the server
    /// cannot decide, and [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close). A denial is not
    /// an error.
    #[inline(always)]
    pub async fn check(&self, rule: &str, key: &str) -> Result<Decision> {
        self.single(&Check::new(rule, key), Op::Check)
    }

    /// [`check`](Self::check) with a cost, a resource or another limit.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    #[inline(always)]
    pub async fn check_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.single(&Check::new(rule, key).with(options), Op::Check)
    }

    /// Decides several checks together: all of them are charged, or none is.
    ///
    /// The decision is that of the deciding check, and its `parts` hold one decision per item, in order.
    /// On a Redis Cluster, items in different hash slots are looked at and then charged slot by slot in order
    /// of rule priority, and a denial refunds those before it: in between a third caller may be denied
    /// needlessly, and never admitted wrongly.
    ///
    /// # Errors
    /// As [`check`](Self::check); an empty list is an `InvalidArgument`.
    #[inline]
    pub async fn check_all(&self, checks: &[Check<'_>]) -> Result<Decision> {
        self.together(checks, None)
    }

    /// [`check_all`](Self::check_all) that may be repeated, by an id of the call as a whole.
    ///
    /// # Errors
    /// As [`check_all`](Self::check_all); an id that another call had is an `InvalidArgument`, and on a Redis Cluster
    /// one for items in several hash slots.
    #[inline]
    pub async fn check_all_with(&self, checks: &[Check<'_>], options: CheckAllOptions<'_>) -> Result<Decision> {
        self.together(checks, options.request_id)
    }

    /// What [`check`](Self::check) would answer now; changes nothing.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn peek(&self, rule: &str, key: &str) -> Result<Decision> {
        self.single(&Check::new(rule, key), Op::Peek)
    }

    /// What [`check_with`](Self::check_with) would answer now; changes nothing.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn peek_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.single(&Check::new(rule, key).with(options), Op::Peek)
    }

    /// Gives back a cost of 1 that turned out not to be used, the newest first, and answers as
    /// [`peek`](Self::peek) would then. What is no longer counted is not given back.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn refund(&self, rule: &str, key: &str) -> Result<Decision> {
        self.single(&Check::new(rule, key), Op::Refund)
    }

    /// [`refund`](Self::refund) with a cost or a resource.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn refund_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.single(&Check::new(rule, key).with(options), Op::Refund)
    }

    /// Counts a cost of 1 that was used already, also beyond the limit, and answers as [`peek`](Self::peek) would
    /// then: a key that is overdrawn is denied until that has passed by the algorithm's own arithmetic.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn charge(&self, rule: &str, key: &str) -> Result<Decision> {
        self.single(&Check::new(rule, key), Op::Charge)
    }

    /// [`charge`](Self::charge) with a cost, a resource or another limit. A `sliding_log` takes twice its limit at
    /// most of one charge.
    ///
    /// # Errors
    /// As [`check`](Self::check); a charge that would overdraw the limit by more than 2^53 units or microseconds is
    /// an `InvalidArgument`, and nothing is charged.
    pub async fn charge_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.single(&Check::new(rule, key).with(options), Op::Charge)
    }
}

impl MemoryCalls<'_> {
    #[inline(always)]
    pub(super) fn single(self, check: &Check<'_>, op: Op) -> Result<Decision> {
        self.decide(check, op, |raw| raw.into())
    }

    /// Decides a single check, and returns what `make` builds of the raw decision, which may be long: so it is not kept here.
    #[inline(always)]
    pub(super) fn decide<T>(
        self,
        check: &Check<'_>,
        op: Op,
        make: impl FnOnce(RawDecision<'_>) -> T,
    ) -> Result<T> {
        if op == Op::Refund {
            return self.refund(check, make);
        }
        self.memory.decide(&self.shared.rules.snapshot(), check, op, make)
    }

    #[inline(never)]
    fn refund<T>(self, check: &Check<'_>, make: impl FnOnce(RawDecision<'_>) -> T) -> Result<T> {
        let made = self.memory.decide(&self.shared.rules.snapshot(), check, Op::Refund, make);
        self.shared.freed(check);
        made
    }

    /// `Op::Check` decides several checks together; `Op::Peek` looks at each by itself.
    #[inline]
    pub(super) fn together(
        self,
        catalog: &Catalog,
        checks: &[Check<'_>],
        op: Op,
        request_id: Option<&str>,
    ) -> Result<Decision> {
        self.memory.ensure_open()?;
        let plan = Plan::repeatable(catalog, checks, (op, Form::WithParts), request_id)?;
        Ok(answer(&plan, &self.memory.outcomes(&plan, op)?, Source::Memory.into(), Form::WithParts))
    }
}

impl<D: Driver> ServerCalls<'_, D> {
    pub(super) async fn single(self, check: &Check<'_>, op: Op) -> Result<Decision> {
        self.server.ensure_open()?;
        let catalog = self.shared.rules.snapshot();
        if let Some(decision) = self.by_cell(&catalog, check, op)? {
            return Ok(decision);
        }
        let (once, id) = check.split_request_id();
        let mut plan = Plan::repeatable(&catalog, &[once], (op, Form::Single), id)?;
        self.on_terms_in_charge(&mut plan);
        let decided = self.decide(&mut plan, op, HoldId::default(), false).await;
        if op == Op::Refund {
            self.shared.freed(check);
        }
        decided.map(|decided| answer(&plan, &decided.outcomes, decided.origin, Form::Single))
    }

    /// As in memory.
    pub(super) async fn together(
        self,
        catalog: &Catalog,
        checks: &[Check<'_>],
        op: Op,
        request_id: Option<&str>,
    ) -> Result<Decision> {
        self.server.ensure_open()?;
        if let ([check], None) = (checks, request_id)
            && let Some(decision) = self.by_cell(catalog, check, op)?
        {
            return Ok(Decision { parts: vec![decision.clone()], ..decision });
        }
        let mut plan = Plan::repeatable(catalog, checks, (op, Form::WithParts), request_id)?;
        self.on_terms_in_charge(&mut plan);
        if checks.len() > 1
            && let Some(decision) = self.by_cells(catalog, &plan, op)
        {
            return Ok(decision);
        }
        let decided = self.decide(&mut plan, op, HoldId::default(), false).await?;
        Ok(answer(&plan, &decided.outcomes, decided.origin, Form::WithParts))
    }

    /// Carries out an operation on the states of a plan; `id` names what is reserved. All that a server decides passes
    /// here: checks, looks, refunds and charges, also of several items, of requests and of waits; and reservations.
    pub(super) async fn decide(
        self,
        plan: &mut Plan<'_>,
        op: Op,
        id: HoldId,
        wants_forecast: bool,
    ) -> Result<Decided> {
        let deadline = self.server.deadline(plan.timeout);
        let (mut began, mut unheard) = (deadline.began(), None);
        if self.lacks_terms(plan) {
            unheard = D::apart(self.hear_terms(plan, deadline)).await;
            began = Instant::now();
        }
        let plan = &*plan;
        let watch = self.shared.watch(plan, op, self.server.is_tracking());
        let (mut cut_off, mut decided);
        if let Some((regions, error)) = unheard {
            (cut_off, decided) = (regions, Err(error));
        } else if let Some(borrowing) = self.borrowing(plan, op) {
            (cut_off, decided) = D::apart(self.borrow(borrowing, deadline)).await;
        } else if let Some(borrowing) = self.borrowing_together(plan, op) {
            (cut_off, decided) = D::apart(self.borrow_together(borrowing, deadline)).await;
        } else if let Some(asked) = self.asked(plan, op) {
            (cut_off, decided) = (Vec::new(), D::apart(self.lease(plan, asked, deadline)).await);
        } else {
            let mut sequence = self.shared.sequence(plan, op, id);
            if wants_forecast {
                sequence.want_forecast();
            }
            sequence.register(watch.as_ref().and_then(Watch::registration));
            let is_replicated = self.drive_since(began, &mut sequence, deadline).await;
            cut_off = Vec::from_iter(sequence.cut_off());
            decided = sequence.finish(is_replicated);
        }
        if let Err(error) = &decided
            && !cut_off.is_empty()
            && can_be_by_part(plan, op, error)
            && !deadline.is_over()
        {
            let by_part = D::apart(self.by_part(plan, op, std::mem::take(&mut cut_off), deadline)).await;
            // Without time for that, what is known of the region in charge counts: it may have carried the call out.
            if by_part.is_ok() || !deadline.is_over() {
                decided = by_part;
            }
        }
        // Looked at where it is: a decision is some hundred bytes, which nearly every call would move.
        if let Ok(decided) = &decided {
            self.shared.fallback.server_decided();
            if decided.origin.source == Source::Server {
                watch.into_iter().for_each(|watch| self.shared.remember(watch, plan, &decided.outcomes));
                self.borrow_for_each(plan, op, &decided.outcomes);
            }
        }
        decided.or_else(|error| {
            self.shared.fallback.decide(plan, op, id, error).inspect_err(|error| {
                self.shared.counters.failed(error);
                plan.count_failure();
            })
        })
    }

    /// Decides by the part that this region has of limits whose region in charge is cut off.
    async fn by_part(
        self,
        plan: &Plan<'_>,
        op: Op,
        mut cut_off: Vec<usize>,
        deadline: CallDeadline,
    ) -> Result<Decided> {
        let wire = &self.shared.wire;
        let part = wire.regions.as_ref().map_or(1.0, |regions| regions.own_part());
        loop {
            let is_cut_off =
                |charge: &Charge<'_>| wire.region_of(charge).is_some_and(|region| cut_off.contains(&region));
            let parts = plan.by_part(part, is_cut_off);
            let mut sequence = self.shared.sequence(&parts, op, HoldId::default());
            let is_replicated = self.drive(&mut sequence, deadline).await;
            match (sequence.cut_off(), sequence.finish(is_replicated)) {
                (_, Ok(mut decided)) => {
                    (decided.origin.source, decided.forecast) = (Source::Share, None);
                    return Ok(decided);
                }
                // Another one, which was not asked before.
                (Some(next), Err(error)) if can_be_by_part(plan, op, &error) => cut_off.push(next),
                (_, failed) => return failed,
            }
        }
    }
}

/// Whether a region may decide by its part what the region in charge could not.
fn can_be_by_part(plan: &Plan<'_>, op: Op, error: &Error) -> bool {
    matches!(op, Op::Check | Op::Peek) && error.is_undecided() && plan.request.is_none()
}
