//! The keys that are denied most, approximately and in bounded memory.
//!
//! Space-Saving: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005.

use hashbrown::HashMap;

use super::snapshot::DeniedKey;

/// So many keys are counted for each that is reported. Of m counted keys, every one with more than an m-th of all denials is one.
const COUNTED_PER_REPORTED: usize = 10;

/// Of a longer key this much is kept.
const LONGEST_KEY: usize = 256;

#[derive(Debug)]
pub(super) struct HeavyKeys {
    reported: usize,
    counts: HashMap<Box<str>, Count>,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    denied: u64,
    /// So many of them may have been those of keys that it took the place of.
    overstated: u64,
}

impl HeavyKeys {
    pub(super) fn new(reported: usize) -> Self {
        Self { reported, counts: HashMap::new() }
    }

    /// Counts a denial. A new key takes the place of the one with the fewest, and its count.
    pub(super) fn add(&mut self, key: &str) {
        let key = &key[..key.floor_char_boundary(LONGEST_KEY)];
        if let Some(count) = self.counts.get_mut(key) {
            count.denied += 1;
            return;
        }
        let overstated =
            if self.counts.len() < self.reported * COUNTED_PER_REPORTED { 0 } else { self.take_least() };
        self.counts.insert(key.into(), Count { denied: overstated + 1, overstated });
    }

    fn take_least(&mut self) -> u64 {
        let least = self.counts.iter().min_by_key(|(_, count)| count.denied).map(|(key, _)| key.clone());
        least.and_then(|key| self.counts.remove(&key)).map_or(0, |count| count.denied)
    }

    /// Those denied most, the most first.
    pub(super) fn heaviest(&self) -> Vec<DeniedKey> {
        let reported = self.counts.iter().map(|(key, Count { denied, overstated })| DeniedKey {
            key: key.to_string(),
            denied: *denied,
            overstated: *overstated,
        });
        let mut keys: Vec<_> = reported.collect();
        keys.sort_by(|a, b| b.denied.cmp(&a.denied).then_with(|| a.key.cmp(&b.key)));
        keys.truncate(self.reported);
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heavy_keys_are_found_among_many_in_bounded_memory() {
        let mut keys = HeavyKeys::new(2);
        for round in 0..10_000 {
            keys.add(&format!("passing {round}"));
            if round % 3 == 0 {
                keys.add("heavy");
            }
            if round % 5 == 0 {
                keys.add("heavier than most");
            }
        }
        let found = keys.heaviest();
        assert_eq!(found.iter().map(|it| &*it.key).collect::<Vec<_>>(), ["heavy", "heavier than most"]);
        for (key, true_count) in found.iter().zip([3_334, 2_000]) {
            assert!((key.denied - key.overstated..=key.denied).contains(&true_count), "{key:?}");
        }
        assert_eq!(keys.counts.len(), 20);
    }

    #[test]
    fn a_long_key_is_cut_between_characters() {
        let mut keys = HeavyKeys::new(1);
        keys.add(&"ä".repeat(1_000));
        keys.add(&format!("x{}", "ä".repeat(1_000)));
        assert!(keys.counts.keys().all(|key| key.len() <= LONGEST_KEY));
    }
}
