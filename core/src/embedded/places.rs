//! Where states are kept.

use std::hash::{BuildHasher, Hasher, RandomState};

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;

/// Spreads small numbers over all bits: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The place of a state.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) hash: u64,
    pub(super) limit: u32,
    pub(super) name: &'a str,
}

/// A hash of names of its own. Both seeds come from the operating system's source of randomness, by way of
/// SipHash: who does not see the hashes cannot choose keys that meet in one place.
#[derive(Debug)]
pub(super) struct Places {
    seed: u64,
    shared: SharedSeed,
}

impl Places {
    pub(super) fn new() -> Self {
        let random = || RandomState::new().hash_one(0);
        Self { seed: random(), shared: SharedSeed::from_u64(random()) }
    }

    #[inline]
    pub(super) fn of<'a>(&self, limit: u32, name: &'a str) -> Place<'a> {
        let mut hasher = FoldHasher::with_seed(self.seed, &self.shared);
        hasher.write(name.as_bytes());
        // No caller chooses the limit, so it need not pass through the hash.
        let hash = hasher.finish() ^ u64::from(limit).wrapping_mul(SPREAD);
        Place { hash, limit, name }
    }
}
