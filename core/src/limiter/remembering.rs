//! Checks that are decided without a server: by units that it lent, and by what it said before.

use std::borrow::Cow;
use std::time::Instant;

use super::backend::ServerCalls;
use super::driver::Driver;
use super::shared::Shared;
use crate::algorithm::Micros;
use crate::catalog::Catalog;
use crate::cells::{Now, Watch};
use crate::decision::{Decision, Source};
use crate::error::Result;
use crate::keys::key::is_canonical;
use crate::metrics::LoanUse;
use crate::plan::{Op, Outcome, Plan, answer_of, ruled};
use crate::request::Check;

impl<D: Driver> ServerCalls<'_, D> {
    /// Whether a call may be decided without a server.
    #[inline(always)]
    pub(super) fn uses_cells(self, catalog: &Catalog, op: Op) -> bool {
        op == Op::Check && (self.shared.cells.remembers() | catalog.leases())
    }

    /// The decision about a check for which units were borrowed, or that the server denied before; `None`: the server has to be
    /// asked.
    #[inline(always)]
    pub(super) fn by_cell(self, catalog: &Catalog, check: &Check<'_>, op: Op) -> Result<Option<Decision>> {
        if self.uses_cells(catalog, op) { self.shared.by_cell(catalog, check) } else { Ok(None) }
    }
}

impl<D: Driver> ServerCalls<'_, D> {
    /// The decision about a check of several items for each of which units were borrowed, or of which one was denied before; `None`: the
    /// server has to be asked.
    pub(super) fn by_cells(self, catalog: &Catalog, plan: &Plan<'_>, op: Op) -> Option<Decision> {
        if !self.uses_cells(catalog, op) {
            return None;
        }
        let decision = answer_of(plan, &self.shared.cells.decide(plan, || self.shared.now_of_cells())?);
        let is_spent = |part: &Decision| decision.allowed && part.allowed && part.source == Source::Lease;
        for (item, _) in plan.items.iter().zip(&decision.parts).filter(|(_, part)| is_spent(part)) {
            item.rule.counters.lent(LoanUse::Spent, item.cost as f64);
        }
        Some(decision)
    }
}

impl Shared {
    #[inline]
    fn by_cell(&self, catalog: &Catalog, check: &Check<'_>) -> Result<Option<Decision>> {
        let options = &check.options;
        if options.request_id.is_some() {
            return Ok(None);
        }
        let rule = ruled(catalog, check)?;
        let terms = rule.lease.filter(|_| options.limit.is_none());
        let is_remembered = rule.remembers_denials && self.cells.remembers();
        if !(is_remembered || terms.is_some()) {
            return Ok(None);
        }
        let is_stored = rule.keeps_keys() && is_canonical(check.key);
        let name = if is_stored { Cow::Borrowed(check.key) } else { catalog.key_name(rule, check.key) };
        let cost = options.cost;
        let now = || self.now_of_cells();
        let found = match terms {
            Some(terms) => self.cells.spend(rule, &terms, &name, cost, now),
            None => self.cells.find(rule, &name, (cost, options.limit), now),
        };
        let Some(raw) = found else { return Ok(None) };
        let decision = Decision::from(raw);
        if decision.allowed && decision.source == Source::Lease {
            rule.counters.lent(LoanUse::Spent, cost as f64);
        }
        rule.counters.decided(&decision, &name, cost);
        Ok(Some(decision))
    }

    /// Watches a call that may change what is remembered, while the server carries it out.
    /// `is_tracking`: the server may be asked to watch keys.
    pub(super) fn watch<'a>(&'a self, plan: &'a Plan<'a>, op: Op, is_tracking: bool) -> Option<Watch<'a>> {
        self.cells.watch(plan, op, || self.own_time(), is_tracking)
    }

    /// Remembers what the server has denied. What another region says of a key is not remembered: this one may be lent units of it.
    pub(super) fn remember(&self, watch: Watch<'_>, plan: &Plan<'_>, outcomes: &[Outcome]) {
        if plan.charges.iter().all(|charge| self.wire.region_of(charge).is_none()) {
            watch.decided(outcomes, Instant::now());
        }
    }

    /// The time of cells: that of a manual clock, else what has passed here.
    pub(super) fn own_time(&self) -> Micros {
        self.now().unwrap_or_else(|| self.passed() as Micros)
    }

    #[inline(always)]
    fn now_of_cells(&self) -> Now {
        let truly = Instant::now();
        let passed = || truly.saturating_duration_since(self.began).as_micros() as Micros;
        Now { own: self.now().unwrap_or_else(passed), truly }
    }
}
