//! How often something took how long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::snapshot::RoundTrips;

/// The upper bounds of the buckets, in microseconds: from a server on this machine to one that is given up.
const BOUNDS: [u64; 14] =
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

    pub(super) fn snapshot(&self) -> RoundTrips {
        let mut count = 0;
        let mut up_to = |bucket: usize| {
            count += self.counts[bucket].load(Ordering::Relaxed);
            count
        };
        let bounds = BOUNDS.iter().enumerate();
        let buckets = bounds.map(|(at, bound)| (Duration::from_micros(*bound), up_to(at))).collect();
        let sum = Duration::from_micros(self.sum_us.load(Ordering::Relaxed));
        RoundTrips { count: up_to(BOUNDS.len()), sum, buckets }
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
        let RoundTrips { count, sum, buckets } = histogram.snapshot();
        let up_to: Vec<_> = buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!((up_to[0], up_to[1], up_to[12], up_to[13], count), (2, 3, 3, 4, 5));
        assert_eq!(sum, Duration::from_micros(2_000_102));
    }
}
