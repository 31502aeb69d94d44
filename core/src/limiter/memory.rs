//! The in-memory engine with its clock, as both limiters use it.

use std::iter::once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::algorithm::{Demand, HoldId, Micros, Policy};
use crate::catalog::{Catalog, ReadyLimit, ReadyRule};
use crate::decision::{Decision, Source};
use crate::error::{Error, Result};
use crate::keys::key::is_canonical;
use crate::memory::{Engine, SingleLimitKey, Task};
use crate::plan::{
    End, Form, KeyRecordChange, Op, Outcome, Plan, RawDecision, SingleLimit, SmallList, ruled,
};
use crate::request::Check;
use crate::sync::fork::PerProcess;
use crate::time::clock::{ManualClock, SystemClock};

/// How many states are kept, unless another number is chosen: some 200 MB.
const MAX_KEYS: usize = 1_000_000;

#[derive(Debug)]
pub(super) struct InMemory {
    engine: PerProcess<Engine>,
    clock: Clock,
    max_keys: usize,
    /// How long the answer to a request is kept.
    request_lifetime: Micros,
    closed: AtomicBool,
}

#[derive(Debug)]
enum Clock {
    System(SystemClock),
    Manual(ManualClock),
}

impl InMemory {
    pub(super) fn new(clock: Option<ManualClock>, max_keys: Option<usize>, request_lifetime: Micros) -> Self {
        let clock = clock.map_or_else(|| Clock::System(SystemClock::new()), Clock::Manual);
        let max_keys = max_keys.unwrap_or(MAX_KEYS);
        let engine = PerProcess::new(Engine::new(max_keys));
        Self { engine, clock, max_keys, request_lifetime, closed: AtomicBool::new(false) }
    }

    /// One check.
    #[inline(always)]
    pub(super) fn single(&self, catalog: &Catalog, check: &Check<'_>, op: Op) -> Result<Decision> {
        self.decide(catalog, check, op, |raw| raw.into())
    }

    /// Decides one check, and returns what `make` builds of the raw decision. Nearly every check is of a rule with one limit
    /// and a key that is stored as it is, and needs no plan.
    #[inline]
    pub(super) fn decide<T>(
        &self,
        catalog: &Catalog,
        check: &Check<'_>,
        op: Op,
        make: impl FnOnce(RawDecision<'_>) -> T,
    ) -> Result<T> {
        self.ensure_open()?;
        if check.options.request_id.is_some() {
            let (check, id) = check.split_request_id();
            return self.planned(&Plan::repeatable(catalog, &[check], (op, Form::Single), id)?, op, make);
        }
        let rule = ruled(catalog, check)?;
        match rule.limits.as_slice() {
            [limit] if op != Op::Charge && rule.is_plain() => {
                let is_stored = rule.keeps_keys() && is_canonical(check.key);
                let name;
                let key = if is_stored {
                    check.key
                } else {
                    name = catalog.key_name(rule, check.key);
                    &name
                };
                let demand = (op, check.options.cost as f64);
                match check.options.limit {
                    None => self.one((rule, limit), &limit.policy, key, demand, make),
                    Some(amount) => self.one((rule, limit), &rule.with_limit(amount)?, key, demand, make),
                }
            }
            _ => self.planned(&Plan::new(catalog, &[*check], op)?, op, make),
        }
    }

    /// The same by a plan, which holds one check.
    fn planned<T>(&self, plan: &Plan<'_>, op: Op, make: impl FnOnce(RawDecision<'_>) -> T) -> Result<T> {
        let raw = plan.raw_decision(&plan.items[0], &self.outcomes(plan, op)?, Source::Memory);
        let item = &plan.items[0];
        count(item.rule, op, &raw, (plan.key_of(item), item.cost as f64));
        Ok(make(raw))
    }

    /// Makes the result itself, so that what is made, which may be long, need not be copied into one.
    fn one<T>(
        &self,
        (rule, limit): (&ReadyRule, &ReadyLimit),
        policy: &Policy,
        key: &str,
        (op, cost): (Op, f64),
        make: impl FnOnce(RawDecision<'_>) -> T,
    ) -> Result<T> {
        let task = || Task { policy, demand: Demand { op, cost, now: self.now() } };
        let outcome = self.engine().one(limit.number, key, task);
        let raw = RawDecision::of(rule, once((policy, &outcome)), Source::Memory);
        count(rule, op, &raw, (key, cost));
        Ok(make(raw))
    }

    /// What an operation on the states of a plan has come to, one outcome per charge.
    #[inline]
    pub(super) fn outcomes(&self, plan: &Plan<'_>, op: Op) -> Result<SmallList<Outcome>> {
        let outcomes = match &plan.request {
            None => self.engine().run(plan, op, || self.now()),
            Some(request) => {
                let known_by = (request.fingerprint, self.request_lifetime);
                let outcomes = self.engine().run_once(plan, op, known_by, || self.now());
                outcomes.ok_or_else(|| request.of_another())?
            }
        };
        if op == Op::Charge && outcomes.iter().any(|outcome| !outcome.changed) {
            return Err(plan.items[0].rule.overdrawn(plan.charges[0].cost));
        }
        Ok(outcomes)
    }

    pub(super) fn reset(&self, plan: &Plan<'_>) {
        self.engine().reset(plan, || self.now());
    }

    /// Reserves what a plan asks for: one outcome per charge, the fencing token where it is granted, and whether
    /// something is held.
    #[inline]
    pub(super) fn reserve(&self, plan: &Plan<'_>, id: HoldId) -> (SmallList<Outcome>, Option<u64>, bool) {
        self.engine().reserve(plan, id, || self.now())
    }

    /// Changes what stands beside the states of a plan's one key: whether that took effect.
    pub(super) fn change(&self, plan: &Plan<'_>, change: KeyRecordChange) -> bool {
        self.engine().change(plan, change, || self.now())
    }

    /// Ends or renews a reservation: whether it was held.
    #[inline]
    pub(super) fn end(&self, plan: &Plan<'_>, end: End, id: &HoldId) -> Result<bool> {
        let ended = self.engine().end(plan, end, id, || self.now());
        ended.ok_or_else(|| {
            let cost = plan.charges.iter().map(|charge| charge.cost).fold(0.0, f64::max);
            plan.items[0].rule.overdrawn(cost)
        })
    }

    /// Does some work on the account of a limit that is alone in its rule.
    #[inline(always)]
    pub(super) fn with_single_limit<T>(
        &self,
        lone: SingleLimitKey<'_>,
        work: impl FnOnce(&mut SingleLimit<'_>) -> T,
    ) -> T {
        self.engine().with_single_limit(lone, || self.now(), work)
    }

    #[inline(always)]
    pub(super) fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(Error::closed());
        }
        Ok(())
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// This process's engine. A forked child begins with nothing counted: the parent's states may have been
    /// in the hands of a thread that does not exist in the child.
    #[inline(always)]
    fn engine(&self) -> &Engine {
        self.engine.get(|_| Engine::new(self.max_keys))
    }

    #[inline(always)]
    fn now(&self) -> Micros {
        match &self.clock {
            Clock::System(clock) => clock.now(),
            Clock::Manual(clock) => clock.now(),
        }
    }
}

/// Counts a check.
#[inline(always)]
fn count(rule: &ReadyRule, op: Op, raw: &RawDecision<'_>, (key, cost): (&str, f64)) {
    if op == Op::Check {
        rule.counters.in_memory((raw.allowed, raw.shadow_denied, raw.blocked), key, cost as u64);
    }
}
