//! What was admitted in any stretch of time as long as the window: the most over all its positions.

use std::collections::VecDeque;

use super::sampled::Sampled;

/// The most entries of all keys together: 16 bytes each.
const MOST_ENTRIES: usize = 1 << 20;
/// A window has at least so many grains.
const GRAINS: u64 = 4096;

/// The fullest window so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fullest {
    pub(crate) cost: u64,
    /// Where it ends, in microseconds since the beginning.
    pub(crate) at_us: u64,
}

/// The windows of every key, or of every resource.
#[derive(Debug)]
pub(crate) struct KeyWindows {
    window_us: u64,
    logs: Sampled<AdmissionLog>,
    entries: usize,
    /// Costs that were admitted so near to each other are one entry. Above 0, counts may be too small by what
    /// was admitted in one grain, and are never too large.
    grain_us: u64,
    pub(crate) fullest: Fullest,
}

/// What was admitted lately to one key: when, and how much.
#[derive(Debug, Default)]
struct AdmissionLog {
    entries: VecDeque<(u64, u64)>,
    sum: u64,
}

/// How an admitted cost changes the windows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filled {
    /// What is in the window that ends now.
    pub(crate) cost: u64,
    /// How many keys were seen for the first time.
    pub(crate) new_keys: u64,
}

impl AdmissionLog {
    fn expire(&mut self, now_us: u64, window_us: u64) {
        while let Some((at, cost)) = self.entries.front().copied() {
            if at + window_us > now_us {
                break;
            }
            self.entries.pop_front();
            self.sum -= cost;
        }
    }

    fn add(&mut self, now_us: u64, cost: u64, grain_us: u64) {
        self.sum += cost;
        match self.entries.back_mut() {
            Some((at, sum)) if now_us - *at <= grain_us => *sum += cost,
            _ => self.entries.push_back((now_us, cost)),
        }
    }

    fn coarsen(&mut self, grain_us: u64) {
        let entries = std::mem::take(&mut self.entries);
        self.sum = 0;
        entries.into_iter().for_each(|(at, cost)| self.add(at, cost, grain_us));
        self.entries.shrink_to_fit();
    }
}

impl KeyWindows {
    pub(crate) fn new(window_us: u64) -> Self {
        let (logs, fullest) = (Sampled::default(), Fullest::default());
        Self { window_us, logs, entries: 0, grain_us: 0, fullest }
    }

    /// Counts what was admitted; `None` for a key that is not in the sample.
    pub(crate) fn add(&mut self, key: &str, now_us: u64, cost: u64) -> Option<Filled> {
        let mut new = false;
        let log = self.logs.get(key, || {
            new = true;
            AdmissionLog::default()
        })?;
        let before = log.entries.len();
        log.expire(now_us, self.window_us);
        log.add(now_us, cost, self.grain_us);
        let sum = log.sum;
        self.entries = self.entries + log.entries.len() - before;
        if sum > self.fullest.cost {
            self.fullest = Fullest { cost: sum, at_us: now_us };
        }
        if self.entries > MOST_ENTRIES {
            self.make_room(now_us);
        }
        Some(Filled { cost: sum, new_keys: if new { self.logs.weight() } else { 0 } })
    }

    /// How many keys each that is followed stands for.
    pub(crate) fn weight(&self) -> u64 {
        self.logs.weight()
    }

    /// Whether every count is exact.
    pub(crate) fn is_exact(&self) -> bool {
        self.grain_us == 0 && self.weight() == 1
    }

    fn make_room(&mut self, now_us: u64) {
        let window = self.window_us;
        self.logs.values_mut().for_each(|log| {
            log.expire(now_us, window);
            log.entries.shrink_to_fit();
        });
        self.entries = self.logs.values().map(|log| log.entries.len()).sum();
        if self.entries > MOST_ENTRIES / 2 {
            self.grain_us = (2 * self.grain_us).max(window / GRAINS).max(1);
            let grain = self.grain_us;
            self.logs.values_mut().for_each(|log| log.coarsen(grain));
            self.entries = self.logs.values().map(|log| log.entries.len()).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_window_is_found_wherever_it_is() {
        let mut windows = KeyWindows::new(100);
        for at in [0, 95, 96, 97, 194, 195] {
            windows.add("k", at, 1);
        }
        // From 95 to 194; the call at 95 is exactly one window old at 195.
        assert_eq!(windows.fullest, Fullest { cost: 4, at_us: 97 });
        windows.add("k", 195, 1);
        windows.add("k", 195, 1);
        assert_eq!(windows.fullest, Fullest { cost: 6, at_us: 195 });
        assert!(windows.is_exact());
    }

    #[test]
    fn keys_are_counted_apart() {
        let mut windows = KeyWindows::new(100);
        assert_eq!(windows.add("a", 0, 3).unwrap().new_keys, 1);
        windows.add("b", 1, 4);
        assert_eq!(windows.add("a", 2, 1).unwrap().new_keys, 0);
        assert_eq!(windows.fullest.cost, 4);
    }

    #[test]
    fn memory_is_bounded_and_counts_are_never_too_large() {
        let (mut windows, calls) = (KeyWindows::new(10_000_000), 3_000_000);
        let most = (0..calls).filter_map(|at| windows.add("k", at, 1)).map(|filled| filled.cost).max();
        assert!(windows.entries <= MOST_ENTRIES && !windows.is_exact());
        assert_eq!(most, Some(calls));
    }
}
