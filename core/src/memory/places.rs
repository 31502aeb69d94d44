//! Where states are kept.

use std::hash::{BuildHasher, Hasher, RandomState};

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;

use crate::catalog::LimitNumber;

/// The place of a state.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) hash: u64,
    pub(crate) limit: LimitNumber,
    pub(crate) name: &'a str,
}

/// A hash of names of its own. Both seeds come from the operating system's source of randomness, by way of
/// SipHash: who does not see the hashes cannot choose keys that meet in one place.
#[derive(Debug)]
pub(crate) struct Places {
    seed: u64,
    shared: SharedSeed,
}

impl Places {
    pub(crate) fn new() -> Self {
        let random = || RandomState::new().hash_one(0);
        Self { seed: random(), shared: SharedSeed::from_u64(random()) }
    }

    #[inline(always)]
    pub(crate) fn of<'a>(&self, limit: LimitNumber, name: &'a str) -> Place<'a> {
        let [place] = self.of_each([limit], name);
        place
    }

    /// The places of several states of one name.
    #[inline(always)]
    pub(super) fn of_each<'a, const N: usize>(
        &self,
        limits: [LimitNumber; N],
        name: &'a str,
    ) -> [Place<'a>; N] {
        let mut hasher = FoldHasher::with_seed(self.seed, &self.shared);
        hasher.write(name.as_bytes());
        let hash = hasher.finish();
        // No caller chooses the limit, whose number is a hash itself.
        limits.map(|limit| Place { hash: hash ^ limit, limit, name })
    }
}
