//! Calls about rules with reservations, blocks or limits of single keys: their states and what is beside them, taken
//! out of their shards, worked on as a whole, and put back.

use smallvec::SmallVec;

use super::engine::{CALLS_PER_SWEEP, Engine};
use super::places::Place;
use super::shard::Shard;
use crate::algorithm::Micros;
use crate::plan::{Charge, LoadedStates, Plan, RequestRecord, SmallList};

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
        let names: SmallList<_> = plan.charges.iter().map(|charge| charge.local_name()).collect();
        let holders: SmallList<_> = plan.holders.iter().map(|holder| holder.local_name()).collect();
        let recorded_keys: SmallList<_> =
            plan.recorded_keys.iter().map(|recorded_key| recorded_key.local_name()).collect();
        let states =
            plan.charges.iter().zip(&names).map(|(charge, name)| self.places.of(charge.limit.number, name));
        let holdings =
            plan.holders.iter().zip(&holders).map(|(holder, name)| self.places.of(holder.number, name));
        let key_records = plan
            .recorded_keys
            .iter()
            .zip(&recorded_keys)
            .map(|(recorded_key, name)| self.places.of(recorded_key.key_records.number, name));
        let record = plan.request.as_deref().map(RequestRecord::local_name);
        let record = record.iter().map(|(number, name)| self.places.of(*number, name));
        let places: SmallVec<[_; 2]> = states.chain(holdings).chain(key_records).chain(record).collect();
        let mut shards: SmallVec<[_; 2]> = places.iter().map(|place| self.shard_of(place)).collect();
        let shard_of = shards.clone();
        shards.sort_unstable();
        shards.dedup();
        let mut locked: SmallVec<[_; 2]> = shards.iter().map(|&shard| self.shards[shard].lock()).collect();
        let keeps =
            |index| plan.charges.get(index).is_none_or(|charge: &Charge<'_>| charge.policy.keeps_state());
        let mut with = |index: usize, job: &mut dyn FnMut(&mut Shard, &Place<'_>)| {
            if keeps(index)
                && let Ok(lock) = shards.binary_search(&shard_of[index])
            {
                job(&mut locked[lock], &places[index]);
            }
        };
        let mut loaded = LoadedStates::new(plan, clock());
        if plan.request.is_some() {
            let last = places.len() - 1;
            with(last, &mut |shard, place| loaded.open(last, shard.copy(place)));
        }
        // What has ended since the first answer is yet to be charged.
        let access = if loaded.answered().is_some() { Access::Look } else { access };
        let before = names.len() + holders.len();
        let healed_answer = loaded.is_answer_healed.then(|| places.len() - 1);
        let is_changed = |index: usize| match access {
            Access::Look => healed_answer == Some(index),
            Access::Change => true,
            Access::ChangeKeyRecords => index >= before,
        };
        for index in 0..places.len() {
            with(index, &mut |shard, place| {
                loaded.open(index, if is_changed(index) { shard.take(place) } else { shard.copy(place) });
            });
        }
        let now = loaded.now;
        work(&mut loaded);
        for (index, kept) in loaded.close().into_iter().enumerate().filter(|(index, _)| is_changed(*index)) {
            let mut kept = kept;
            with(index, &mut |shard, place| match kept.take() {
                Some((state, expires_at)) => shard.put(place, state, (now, expires_at), &self.room),
                None => shard.remove(place),
            });
        }
        // Each place counts as a call, so that what calls leave behind is swept as fast as they come.
        let count = places.len() as u32;
        let calls = locked.first_mut().map_or(0, |shard| {
            shard.calls = shard.calls.wrapping_add(count);
            shard.calls
        });
        drop(locked);
        if calls % CALLS_PER_SWEEP < count {
            self.sweep(now);
        }
    }
}
