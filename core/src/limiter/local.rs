//! The embedded engine with its clock, as both limiters use it.

use std::iter::once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::algorithm::Micros;
use crate::catalog::Catalog;
use crate::clock::{ManualClock, SystemClock};
use crate::decision::{Decision, Source};
use crate::embedded::{Engine, Task};
use crate::error::{Error, Result};
use crate::fork::PerProcess;
use crate::plan::{Form, Op, Plan, Target, answer_one};
use crate::request::Check;

#[derive(Debug)]
pub(super) struct Local {
    engine: PerProcess<Engine>,
    clock: Clock,
    closed: AtomicBool,
}

#[derive(Debug)]
enum Clock {
    System(SystemClock),
    Manual(ManualClock),
}

impl Local {
    pub(super) fn new(clock: Option<ManualClock>) -> Self {
        let clock = clock.map_or_else(|| Clock::System(SystemClock::new()), Clock::Manual);
        Self { engine: PerProcess::new(Engine::new()), clock, closed: AtomicBool::new(false) }
    }

    /// One check. That of a rule with one limit, which is nearly every one, needs no plan.
    pub(super) fn single(&self, catalog: &Catalog, check: &Check<'_>, op: Op) -> Result<Decision> {
        self.ensure_open()?;
        let target = Target::new(catalog, check)?;
        let [limit] = target.rule.limits.as_slice() else {
            let plan = Plan::new(catalog, &[*check])?;
            return Ok(self.engine().run(&plan, op, || self.now(), Form::Single));
        };
        let policy = target.policy(limit)?;
        let task = || Task { policy: &policy, cost: target.cost, now: self.now(), op };
        let outcome = self.engine().one(limit.number, &target.local_name(limit), task);
        Ok(answer_one(target.rule, once((policy.as_ref(), &outcome)), Source::Embedded))
    }

    pub(super) fn all(&self, plan: &Plan<'_>) -> Result<Decision> {
        self.ensure_open()?;
        Ok(self.engine().run(plan, Op::Check, || self.now(), Form::WithParts))
    }

    pub(super) fn reset(&self, plan: &Plan<'_>) -> Result<()> {
        self.ensure_open()?;
        self.engine().reset(plan);
        Ok(())
    }

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
    fn engine(&self) -> &Engine {
        self.engine.get(|_| Engine::new())
    }

    fn now(&self) -> Micros {
        match &self.clock {
            Clock::System(clock) => clock.now(),
            Clock::Manual(clock) => clock.now(),
        }
    }
}
