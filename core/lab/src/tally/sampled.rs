//! A table of keys whose size is bounded.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The most keys that are followed; of more, a sample is.
pub(crate) const MOST_KEYS: usize = 1 << 17;

/// Values by key. Beyond [`MOST_KEYS`] keys, those whose hash ends with zeros are kept: half of them, then a
/// quarter, and so on, which is a sample whatever the keys are.
#[derive(Debug)]
pub(crate) struct Sampled<T> {
    values: HashMap<u64, T, FixedState>,
    mask: u64,
}

impl<T> Default for Sampled<T> {
    fn default() -> Self {
        Self { values: HashMap::default(), mask: 0 }
    }
}

impl<T> Sampled<T> {
    /// The value of a key, made if it is new and in the sample.
    pub(crate) fn get(&mut self, key: &str, make: impl FnOnce() -> T) -> Option<&mut T> {
        let hash = FixedState::with_seed(0).hash_one(key);
        if hash & self.mask != 0 {
            return None;
        }
        if self.values.len() == MOST_KEYS && !self.values.contains_key(&hash) {
            self.thin();
            if hash & self.mask != 0 {
                return None;
            }
        }
        Some(self.values.entry(hash).or_insert_with(make))
    }

    /// The value of a key that has one.
    pub(crate) fn find(&mut self, key: &str) -> Option<&mut T> {
        self.values.get_mut(&FixedState::with_seed(0).hash_one(key))
    }

    fn thin(&mut self) {
        self.mask = self.mask << 1 | 1;
        let mask = self.mask;
        self.values.retain(|hash, _| hash & mask == 0);
    }

    /// How many keys each that is followed stands for.
    pub(crate) fn weight(&self) -> u64 {
        self.mask + 1
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.values.values()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.values_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_keys_a_sample_is_kept() {
        let mut table = Sampled::<u64>::default();
        const KEYS: usize = 3 * MOST_KEYS;
        for key in 0..KEYS {
            if let Some(count) = table.get(&key.to_string(), || 0) {
                *count += 1;
            }
        }
        assert_eq!(table.weight(), 4);
        let estimate = table.values().count() * 4;
        assert!(estimate.abs_diff(KEYS) < KEYS / 50, "{estimate}");
    }
}
