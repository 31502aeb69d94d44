//! How often something took how long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets, in microseconds: from a server on this machine to one that is given up.
pub(super) const BOUNDS: [u64; 14] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000];

#[derive(Debug, Default)]
pub(super) struct Histogram {
    /// One more than there are bounds: what took longer than all of them.
    counts: [AtomicU64; BOUNDS.len() + 1],
    sum_us: AtomicU64,
}

impl Histogram {
    pub(super) fn add(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < us);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(us, Ordering::Relaxed);
    }

    /// The count of each bucket, and the sum of all times in microseconds.
    pub(super) fn read(&self) -> ([u64; BOUNDS.len() + 1], u64) {
        let counts = std::array::from_fn(|bucket| self.counts[bucket].load(Ordering::Relaxed));
        (counts, self.sum_us.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_bucket() {
        let histogram = Histogram::default();
        for us in [0, 50, 51, 1_000_000, 1_000_001] {
            histogram.add(Duration::from_micros(us));
        }
        let (counts, sum) = histogram.read();
        assert_eq!((counts[0], counts[1], counts[13], counts[14], sum), (2, 1, 1, 1, 2_000_102));
    }
}
