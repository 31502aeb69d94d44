//! Several places at once, with all their shards locked.

use smallvec::SmallVec;
use spin::mutex::SpinMutexGuard;

use super::engine::{CALLS_PER_SWEEP, Engine};
use super::places::Place;
use super::shard::Shard;

/// Places whose shards are locked as long as this lives.
pub(super) struct LockedPlaces<'a> {
    places: &'a [Place<'a>],
    /// The shard of each place.
    shard_of: SmallVec<[usize; 2]>,
    /// Each of these once, in their order, and their locks.
    shards: SmallVec<[usize; 2]>,
    locked: SmallVec<[SpinMutexGuard<'a, Shard>; 2]>,
}

impl Engine {
    /// Locks the shards of these places in the order of the shards, so that two calls never wait for each other.
    #[inline]
    pub(super) fn lock<'a>(&'a self, places: &'a [Place<'a>]) -> LockedPlaces<'a> {
        let shard_of: SmallVec<[_; 2]> = places.iter().map(|place| self.shard_of(place)).collect();
        let mut shards = shard_of.clone();
        shards.sort_unstable();
        shards.dedup();
        let locked = shards.iter().map(|&shard| self.shards[shard].lock()).collect();
        LockedPlaces { places, shard_of, shards, locked }
    }
}

impl LockedPlaces<'_> {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Does something with a place in its shard; `None` if there is no such place.
    #[inline]
    pub(super) fn with<T>(
        &mut self,
        index: usize,
        job: impl FnOnce(&mut Shard, &Place<'_>) -> T,
    ) -> Option<T> {
        let lock = self.shards.binary_search(self.shard_of.get(index)?).ok()?;
        Some(job(self.locked.get_mut(lock)?, &self.places[index]))
    }

    /// Counts each place as a call, so that what calls leave behind is swept as fast as they come. Answers whether it is time
    /// to sweep.
    pub(super) fn count_calls(&mut self) -> bool {
        let count = self.places.len() as u32;
        let calls = self.locked.first_mut().map_or(0, |shard| {
            shard.calls = shard.calls.wrapping_add(count);
            shard.calls
        });
        calls % CALLS_PER_SWEEP < count
    }
}
