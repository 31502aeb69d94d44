//! The in-memory engine: the same decisions as on a server, for one process alone.
//!
//! States are spread over shards, each behind a lock of its own. What has expired is swept by the
//! calls themselves, a few places each, so memory follows the keys that are alive without a thread
//! in the background.

mod engine;
mod loaded_states;
mod lock;
mod locked;
mod nearest;
mod places;
mod room;
mod shard;
mod single_limit;

use smallvec::{SmallVec, smallvec};

use crate::algorithm::{Demand, HoldId, Micros};
use crate::catalog::LimitNumber;
use crate::plan::{Charge, End, Fingerprint, KeyRecordChange, Op, Outcome, Plan, SmallList};
use engine::CALLS_PER_SWEEP;
pub(crate) use engine::Engine;
use loaded_states::Access;
pub(crate) use lock::Lock;
pub(crate) use places::{Place, Places};
pub(crate) use shard::Task;
pub(crate) use single_limit::SingleLimitKey;

impl Engine {
    /// Decides a plan as a whole: one outcome per charge.
    #[inline]
    pub(crate) fn run(&self, plan: &Plan<'_>, op: Op, clock: impl Fn() -> Micros) -> SmallList<Outcome> {
        match &*plan.charges {
            _ if plan.is_beside() => self.decide_beside(plan, op, clock),
            [charge] if op != Op::Charge => {
                let task = || task(charge, op, clock());
                smallvec![self.one(charge.limit.number, &charge.local_name(), task)]
            }
            charges => self.several(plan, charges, op, clock),
        }
    }

    /// Decides one limit: one lock, one lookup. The task, and with it the time, is made behind the lock: a
    /// thread that waited, or was made to wait, would otherwise come with a time before that of the state,
    /// and the state would be taken for one of a clock that stepped back.
    #[inline(always)]
    pub(crate) fn one<'a>(&self, limit: LimitNumber, name: &str, task: impl FnOnce() -> Task<'a>) -> Outcome {
        let place = self.places.of(limit, name);
        let mut shard = self.shards[self.shard_of(&place)].lock();
        let task = task();
        let outcome = shard.decide(&place, &task, true, &self.room);
        let sweep = shard.calls.is_multiple_of(CALLS_PER_SWEEP);
        drop(shard);
        if sweep {
            self.sweep(task.demand.now);
        }
        outcome
    }

    /// Decides several limits with all their shards locked. The time is read behind the locks, as in [`one`](Self::one).
    #[inline]
    fn several(
        &self,
        plan: &Plan<'_>,
        charges: &[Charge<'_>],
        op: Op,
        clock: impl Fn() -> Micros,
    ) -> SmallList<Outcome> {
        let names: SmallList<_> = charges.iter().map(Charge::local_name).collect();
        let places: SmallVec<[_; 2]> = charges
            .iter()
            .zip(&names)
            .map(|(charge, name)| self.places.of(charge.limit.number, name))
            .collect();
        let mut locked = self.lock(&places);
        let now = clock();
        let tasks: SmallList<_> = charges.iter().map(|charge| task(charge, op, now)).collect();
        let mut fits = SmallList::with_capacity(charges.len());
        for (index, task) in tasks.iter().enumerate() {
            fits.extend(locked.with(index, |shard, place| shard.fits(place, task)));
        }
        if op == Op::Charge && fits.contains(&false) {
            return smallvec![Outcome::NONE; charges.len()];
        }
        let indices: SmallList<_> = (0..charges.len()).collect();
        let mut outcomes = SmallList::with_capacity(charges.len());
        for ((index, permitted), task) in plan.permitted(&indices, &fits).into_iter().enumerate().zip(&tasks)
        {
            let decided = locked.with(index, |shard, place| shard.decide(place, task, permitted, &self.room));
            outcomes.extend(decided);
        }
        drop(locked);
        self.sweep(now);
        outcomes
    }

    /// Changes what stands beside the states of a plan's one key: whether that took effect.
    pub(crate) fn change(
        &self,
        plan: &Plan<'_>,
        change: KeyRecordChange,
        clock: impl Fn() -> Micros,
    ) -> bool {
        self.with_states(plan, Access::ChangeKeyRecords, clock, |loaded| loaded.change(change))
    }

    /// Decides a plan beside which something may be held: one outcome per charge.
    #[inline]
    fn decide_beside(&self, plan: &Plan<'_>, op: Op, clock: impl Fn() -> Micros) -> SmallList<Outcome> {
        let access = if op == Op::Peek { Access::Look } else { Access::Change };
        self.with_states(plan, access, clock, |loaded| loaded.decide(op, HoldId::default()).0)
    }

    /// Reserves what a plan asks for: one outcome per charge, the fencing token of what was reserved, and whether
    /// something is held.
    #[inline]
    pub(crate) fn reserve(
        &self,
        plan: &Plan<'_>,
        id: HoldId,
        clock: impl Fn() -> Micros,
    ) -> (SmallList<Outcome>, Option<u64>, bool) {
        self.with_states(plan, Access::Change, clock, |loaded| {
            let (outcomes, token) = loaded.decide(Op::Reserve, id);
            (outcomes, token, loaded.holds())
        })
    }

    /// Decides a plan that has a request id: once, and later calls get the same answer for `lifetime`. `None`: the id is
    /// of another call.
    pub(crate) fn run_once(
        &self,
        plan: &Plan<'_>,
        op: Op,
        (fingerprint, lifetime): (Fingerprint, Micros),
        clock: impl Fn() -> Micros,
    ) -> Option<SmallList<Outcome>> {
        self.with_states(plan, Access::Change, clock, |loaded| loaded.decide_once(op, fingerprint, lifetime))
    }

    /// Ends or renews a reservation: whether it was held; `None`: its charge could not be counted.
    #[inline]
    pub(crate) fn end(
        &self,
        plan: &Plan<'_>,
        end: End,
        id: &HoldId,
        clock: impl Fn() -> Micros,
    ) -> Option<bool> {
        self.with_states(plan, Access::Change, clock, |loaded| loaded.end(end, id))
    }

    /// Forgets what a reset of the plan is to forget.
    pub(crate) fn reset(&self, plan: &Plan<'_>, clock: impl Fn() -> Micros) {
        if let Some(stranded) = plan.stranded() {
            self.remove(stranded.local_name());
        }
        if plan.is_beside() {
            return self.with_states(plan, Access::Change, clock, |loaded| loaded.forget());
        }
        for charge in plan.to_reset() {
            self.remove((charge.limit.number, &charge.local_name()));
        }
    }

    fn remove(&self, (number, name): (LimitNumber, &str)) {
        let place = self.places.of(number, name);
        self.shards[self.shard_of(&place)].lock().remove(&place);
    }
}

#[inline]
fn task<'a>(charge: &'a Charge<'_>, op: Op, now: Micros) -> Task<'a> {
    Task { policy: &charge.policy, demand: Demand { op, cost: charge.cost, now } }
}

#[cfg(test)]
mod tests;
