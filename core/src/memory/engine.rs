//! What the engine is made of, and how it forgets what has expired.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use super::lock::Lock;
use super::places::{Place, Places};
use super::room::Room;
use super::shard::Shard;
use crate::algorithm::Micros;
use crate::catalog::SHARD_SHIFT;

/// Shards per core: few threads meet at one lock.
const SHARDS_PER_CORE: usize = 8;
/// Where fewer states may be kept there are fewer shards, so that a shard without room has states to forget.
const STATES_PER_SHARD: usize = 1024;
/// So many can be told apart by the bits in which the numbers of a rule are the same.
const MOST_SHARDS: usize = 1 << 16;
/// Calls to a shard between two sweeps, and the places a sweep looks at: a table is gone through
/// once for every quarter of its size in calls.
pub(super) const CALLS_PER_SWEEP: u32 = 64;
const PLACES_PER_SWEEP: usize = 256;

/// Keeps the states and decides.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(super) shards: Box<[Lock<Shard>]>,
    pub(super) places: Places,
    pub(super) room: Room,
    /// Which shard is swept next.
    hand: AtomicUsize,
}

impl Engine {
    /// An engine that keeps `max_keys` states at most.
    pub(crate) fn new(max_keys: usize) -> Self {
        let shards = available_parallelism().map_or(1, usize::from) * SHARDS_PER_CORE;
        let shards = shards
            .next_power_of_two()
            .min(MOST_SHARDS)
            .min(1 << (max_keys / STATES_PER_SHARD).max(1).ilog2());
        Self {
            shards: (0..shards).map(|_| Lock::default()).collect(),
            places: Places::new(),
            room: Room::new(max_keys),
            hand: AtomicUsize::new(0),
        }
    }

    /// How many states are kept, expired ones included.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// How many places the tables have.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().places()).sum()
    }

    /// The table inside a shard uses the low and the topmost bits of a hash; these are others.
    #[inline(always)]
    pub(super) fn shard_of(&self, place: &Place<'_>) -> usize {
        (place.hash >> SHARD_SHIFT) as usize & (self.shards.len() - 1)
    }

    /// Sweeps a part of some shard, unless another thread has it locked.
    #[inline]
    pub(super) fn sweep(&self, now: Micros) {
        let number = self.hand.fetch_add(1, Ordering::Relaxed) & (self.shards.len() - 1);
        if let Some(mut shard) = self.shards[number].try_lock() {
            shard.sweep(now, PLACES_PER_SWEEP, &self.room);
        }
        self.room.tell();
    }
}
