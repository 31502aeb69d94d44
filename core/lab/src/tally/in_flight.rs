//! What is under way at once, of rules that limit it.

use std::collections::BTreeMap;

use super::sampled::Sampled;
use super::window::{Filled, Fullest};

/// What every key, or every resource, has under way.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    keys: Sampled<u64>,
    /// How many keys have so much under way.
    levels: BTreeMap<u64, u32>,
    pub(crate) fullest: Fullest,
}

impl InFlight {
    /// Counts what begins; `None` for a key that is not in the sample.
    pub(crate) fn begin(&mut self, key: &str, now_us: u64, cost: u64) -> Option<Filled> {
        let mut new = false;
        let weight = self.keys.weight();
        let level = self.keys.get(key, || {
            new = true;
            0
        });
        let change = level.map(|level| {
            *level += cost;
            (*level - cost, *level)
        });
        if self.keys.weight() != weight {
            // Keys that left the sample took their levels along.
            self.levels.clear();
            self.keys.values().for_each(|level| *self.levels.entry(*level).or_default() += 1);
        } else if let Some((before, after)) = change {
            self.moved(before, after);
        }
        let (_, cost) = change?;
        if cost > self.fullest.cost {
            self.fullest = Fullest { cost, at_us: now_us };
        }
        Some(Filled { cost, new_keys: if new { self.keys.weight() } else { 0 } })
    }

    /// Counts what ends.
    pub(crate) fn end(&mut self, key: &str, cost: u64) {
        if let Some(level) = self.keys.find(key) {
            let before = *level;
            *level -= cost;
            self.moved(before, before - cost);
        }
    }

    /// What the key with the most has under way.
    pub(crate) fn most(&self) -> u64 {
        self.levels.last_key_value().map_or(0, |(level, _)| *level)
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.keys.weight() == 1
    }

    fn moved(&mut self, from: u64, to: u64) {
        if let Some(keys) = self.levels.get_mut(&from) {
            *keys -= 1;
            if *keys == 0 {
                self.levels.remove(&from);
            }
        }
        if to > 0 {
            *self.levels.entry(to).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sampled::MOST_KEYS;
    use super::*;

    #[test]
    fn the_most_of_one_key_counts() {
        let mut in_flight = InFlight::default();
        in_flight.begin("a", 1, 3);
        in_flight.begin("b", 2, 2);
        assert_eq!(in_flight.begin("b", 3, 2).unwrap().cost, 4);
        assert_eq!((in_flight.most(), in_flight.fullest), (4, Fullest { cost: 4, at_us: 3 }));
        in_flight.end("b", 2);
        assert_eq!(in_flight.most(), 3);
        in_flight.end("a", 3);
        in_flight.end("b", 2);
        assert_eq!((in_flight.most(), in_flight.fullest.cost, in_flight.is_exact()), (0, 4, true));
    }

    #[test]
    fn keys_that_leave_the_sample_leave_no_level() {
        let (mut in_flight, keys) = (InFlight::default(), 2 * MOST_KEYS);
        for key in 0..keys {
            let _ = in_flight.begin(&key.to_string(), 0, 1 + key as u64 % 3);
        }
        assert!(!in_flight.is_exact());
        (0..keys).for_each(|key| in_flight.end(&key.to_string(), 1 + key as u64 % 3));
        assert_eq!(in_flight.most(), 0);
    }
}
