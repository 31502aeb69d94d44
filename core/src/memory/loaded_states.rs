//! Calls about rules with reservations, blocks or limits of single keys: their states and what is beside them, taken
//! out of their shards, worked on as a whole, and put back.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::engine::Engine;
use super::locked::LockedPlaces;
use crate::algorithm::Micros;
use crate::catalog::LimitNumber;
use crate::plan::{LoadedStates, Plan, RequestRecord};

/// What becomes of what was taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is only looked at.
    Look,
    /// It is put back as the call leaves it.
    Change,
    /// What stands beside the states is put back. The states stay as they were, and what is held: a lease that ended
    /// is yet to be charged.
    ChangeKeyRecords,
}

impl Engine {
    /// Does some work on the loaded states of a plan, with all their shards locked as for several limits.
    pub(super) fn with_states<T: Default>(
        &self,
        plan: &Plan<'_>,
        access: Access,
        clock: impl Fn() -> Micros,
        work: impl FnOnce(&mut LoadedStates<'_>) -> T,
    ) -> T {
        let (mut work, mut done) = (Some(work), T::default());
        self.load_states(plan, access, &clock, &mut |loaded| {
            if let Some(work) = work.take() {
                done = work(loaded);
            }
        });
        done
    }

    /// The same, once in the program and not once for each kind of work.
    fn load_states(
        &self,
        plan: &Plan<'_>,
        access: Access,
        clock: &dyn Fn() -> Micros,
        work: &mut dyn FnMut(&mut LoadedStates<'_>),
    ) {
        let names = names(plan);
        let places: SmallVec<[_; 2]> =
            names.iter().map(|(number, name)| self.places.of(*number, name)).collect();
        let mut locked = self.lock(&places);
        let mut loaded = LoadedStates::new(plan, clock());
        let changed = open(&mut loaded, access, &mut locked);
        let now = loaded.now;
        work(&mut loaded);
        self.put_back(loaded, &changed, &mut locked);
        let is_time_to_sweep = locked.count_calls();
        drop(locked);
        if is_time_to_sweep {
            self.sweep(now);
        }
    }

    /// Keeps the states that a call may have changed as it leaves them.
    fn put_back(&self, loaded: LoadedStates<'_>, changed: &Changed, locked: &mut LockedPlaces<'_>) {
        let (plan, now) = (loaded.plan, loaded.now);
        for (index, kept) in loaded.close().into_iter().enumerate() {
            if !changed.has(index) || !is_kept(plan, index) {
                continue;
            }
            locked.with(index, |shard, place| match kept {
                Some((state, expires_at)) => shard.put(place, state, (now, expires_at), &self.room),
                None => shard.remove(place),
            });
        }
    }
}

/// The numbers and names of all that a plan touches, in the order of its charges, holders and recorded keys, with what is
/// kept for its request at the end.
fn names<'a>(plan: &'a Plan<'_>) -> SmallVec<[(LimitNumber, Cow<'a, str>); 2]> {
    let states = plan.charges.iter().map(|charge| (charge.limit.number, charge.local_name()));
    let holdings = plan.holders.iter().map(|holder| (holder.number, holder.local_name()));
    let key_records = plan.recorded_keys.iter().map(|key| (key.key_records.number, key.local_name()));
    let record = plan.request.as_deref().map(RequestRecord::local_name);
    let record = record.map(|(number, name)| (number, Cow::Owned(name)));
    states.chain(holdings).chain(key_records).chain(record).collect()
}

/// Whether anything is kept at this place of a plan.
fn is_kept(plan: &Plan<'_>, index: usize) -> bool {
    plan.charges.get(index).is_none_or(|charge| charge.policy.keeps_state())
}

/// Which places of a plan are put back.
struct Changed {
    access: Access,
    /// The first place that is of no state and of nothing that is held.
    key_records: usize,
    /// The place of an answer that was kept for too long.
    healed_answer: Option<usize>,
}

impl Changed {
    fn has(&self, index: usize) -> bool {
        match self.access {
            Access::Look => self.healed_answer == Some(index),
            Access::Change => true,
            Access::ChangeKeyRecords => index >= self.key_records,
        }
    }
}

/// Loads what is kept for a plan: out of the shards, as far as it is going to be put back.
fn open(loaded: &mut LoadedStates<'_>, access: Access, locked: &mut LockedPlaces<'_>) -> Changed {
    let plan = loaded.plan;
    let last = locked.len().saturating_sub(1);
    if plan.request.is_some() {
        loaded.open(last, locked.with(last, |shard, place| shard.copy(place)).flatten());
    }
    let changed = Changed {
        // What has ended since the first answer is yet to be charged.
        access: if loaded.answered().is_some() { Access::Look } else { access },
        key_records: plan.charges.len() + plan.holders.len(),
        healed_answer: loaded.is_answer_healed.then_some(last),
    };
    for index in (0..locked.len()).filter(|&index| is_kept(plan, index)) {
        let state = if changed.has(index) {
            locked.with(index, |shard, place| shard.take(place))
        } else {
            locked.with(index, |shard, place| shard.copy(place))
        };
        loaded.open(index, state.flatten());
    }
    changed
}
