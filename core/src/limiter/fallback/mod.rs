//! What calls answer that no server can decide.

mod empty_shares;
mod outage;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use self::empty_shares::EmptyShares;
use self::outage::Outage;
use super::memory::InMemory;
use crate::algorithm::{Figures, HoldId, Micros, Policy};
use crate::catalog::Catalog;
use crate::decision::Source;
use crate::error::{Error, Result};
use crate::events::event;
use crate::plan::{Charge, ENFORCED, End, Op, Outcome, Plan};
use crate::regions::RegionMap;
use crate::reservation::Ticket;
use crate::rules::{Fallback, Rule};
use crate::sequence::Decided;
use crate::text::words::quote;

/// What to answer, and what `local` has counted.
#[derive(Debug)]
pub(super) struct FallbackState {
    /// For rules that say nothing themselves.
    default: Fallback,
    /// How many processes share the limits.
    instances: AtomicU32,
    /// After how long the server is tried again, about.
    probe: Micros,
    /// Of whose limits only the own part counts here.
    regions: Option<Arc<RegionMap>>,
    local: InMemory,
    outage: Outage,
    empty: EmptyShares,
}

impl FallbackState {
    pub(super) fn new(
        default: Fallback,
        instances: u32,
        probe: Micros,
        regions: Option<Arc<RegionMap>>,
        local: InMemory,
    ) -> Self {
        let instances = AtomicU32::new(instances);
        let (outage, empty) = (Outage::default(), EmptyShares::default());
        Self { default, instances, probe, regions, local, outage, empty }
    }

    /// Changes how many processes share the limits.
    pub(super) fn set_instances(&self, instances: u32) {
        self.instances.store(instances, Ordering::Relaxed);
    }

    /// After how long the server is tried again, about, in microseconds.
    pub(super) fn probe(&self) -> u64 {
        self.probe.unsigned_abs()
    }

    /// Logs which rules `local` denies everything of, as there are too many processes to share them.
    pub(super) fn warn_of_empty_shares(&self, catalog: &Catalog) {
        let instances = f64::from(self.instances.load(Ordering::Relaxed));
        let is_local = |rule: &Rule| rule.fallback.unwrap_or(self.default) == Fallback::Local;
        let is_empty = |rule: &Rule| rule.limits.iter().any(|limit| limit.limit < instances);
        let rules = catalog.in_force().filter(|rule| is_local(rule) && is_empty(rule));
        let names: Vec<_> = rules.map(|rule| quote(&rule.id)).collect();
        let names = names.join(", ");
        if !names.is_empty() && self.empty.is_due(&names, Instant::now()) {
            event!(
                Warn,
                fallback_empty,
                "fallback local: {instances} instances leave nothing of a limit of {names}: denied in an outage"
            );
        }
    }

    /// Whether calls of every rule end with an error.
    pub(super) fn is_error(&self, catalog: &Catalog) -> bool {
        let is_error = |fallback| fallback == Fallback::Error;
        is_error(self.default) && catalog.rules().iter().all(|rule| rule.fallback.is_none_or(is_error))
    }

    /// Takes note that a server has decided.
    #[inline]
    pub(super) fn server_decided(&self) {
        if self.outage.is_on() {
            self.outage.decided();
        }
    }

    /// Decides what no server could, for which it gave this error.
    #[cold]
    pub(super) fn decide(&self, plan: &Plan<'_>, op: Op, id: HoldId, error: Error) -> Result<Decided> {
        if !matches!(op, Op::Check | Op::Peek | Op::Reserve) || !error.is_undecided() {
            return Err(error);
        }
        let stated = |charge: &Charge<'_>| charge.rule.rule.fallback.unwrap_or(self.default);
        if plan.charges.iter().any(|charge| stated(charge) == Fallback::Error) {
            return Err(error);
        }
        let shares = plan.by(|charge| self.share(charge).filter(|_| stated(charge) == Fallback::Local));
        let is_local = |at: usize| shares.charges[at].group == plan.charges[at].group;
        let is_allowed = |charge: &Charge<'_>| stated(charge) == Fallback::Allow;
        // One that denies lets nothing be charged.
        let denies = |(at, charge): (usize, &Charge<'_>)| {
            charge.group == ENFORCED && !is_local(at) && !is_allowed(charge)
        };
        let is_denied = plan.charges.iter().enumerate().any(denies);
        let mut decided = self.by_shares(&shares, if is_denied { Op::Peek } else { op }, id)?;
        for (at, charge) in plan.charges.iter().enumerate().filter(|(at, _)| !is_local(*at)) {
            decided.outcomes[at] = if is_allowed(charge) { allowed(charge) } else { self.denied() };
        }
        self.outage.note(&error);
        Ok(decided)
    }

    /// What the shares of this process admit.
    fn by_shares(&self, shares: &Plan<'_>, op: Op, id: HoldId) -> Result<Decided> {
        let (outcomes, token, is_beside) = match op {
            Op::Reserve => self.local.reserve(shares, id),
            op => (self.local.outcomes(shares, op)?, None, false),
        };
        Ok(Decided { outcomes, forecast: None, token, is_beside, origin: Source::Fallback.into() })
    }

    /// Ends a reservation that was made here. Answers whether it was.
    pub(super) fn end(&self, catalog: &Catalog, ticket: &Ticket, costs: &[u64], end: End) -> Result<bool> {
        if !self.outage.has_been() {
            return Ok(false);
        }
        let plan = Plan::of_ticket(catalog, ticket, costs)?;
        self.local.end(&plan.by(|charge| self.share(charge)), end, &ticket.id)
    }

    fn share(&self, charge: &Charge<'_>) -> Option<Policy> {
        let part = self.regions.as_ref().filter(|_| charge.rule.rule.global_us.is_some());
        charge.share(
            part.map_or(1.0, |regions| regions.own_part())
                / f64::from(self.instances.load(Ordering::Relaxed)),
        )
    }

    fn denied(&self) -> Outcome {
        let figures = Figures { remaining: 0, retry_after: Some(self.probe), reset_after: self.probe };
        Outcome { figures, ..Outcome::NONE }
    }
}

fn allowed(charge: &Charge<'_>) -> Outcome {
    let figures = Figures { remaining: charge.policy.most(), retry_after: Some(0), reset_after: 0 };
    Outcome { fits: true, figures, ..Outcome::NONE }
}
