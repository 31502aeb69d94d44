//! How long calls waited, within 3 percent.

/// Buckets per doubling: each is 1/32 of its lower end wide.
const STEPS: u64 = 32;

/// Waits, counted by their size.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits {
    counts: Vec<u64>,
    total: u64,
    longest_us: u64,
}

impl Waits {
    pub(crate) fn add(&mut self, wait_us: u64) {
        let bucket = bucket(wait_us);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.longest_us = self.longest_us.max(wait_us);
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn longest_us(&self) -> u64 {
        self.longest_us
    }

    /// The wait that a share of the calls did not exceed.
    pub(crate) fn quantile_us(&self, share: f64) -> u64 {
        let rank = ((self.total as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return upper_end(bucket).min(self.longest_us);
            }
        }
        self.longest_us
    }
}

fn bucket(wait: u64) -> usize {
    if wait < STEPS {
        return wait as usize;
    }
    let doubling = u64::from(wait.ilog2()) - u64::from(STEPS.ilog2());
    (doubling * STEPS + (wait >> doubling)) as usize
}

/// The largest wait of a bucket.
fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let doubling = bucket / STEPS - 1;
    ((bucket % STEPS + STEPS + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_narrow_and_leave_no_gap() {
        for wait in (0..10_000).chain([1 << 40, (1 << 40) + 12345]) {
            let end = upper_end(bucket(wait));
            assert!(end >= wait && end - wait <= wait / 32, "{wait} in a bucket up to {end}");
        }
    }

    #[test]
    fn quantiles_are_near() {
        let mut waits = Waits::default();
        (1..=1000).for_each(|wait| waits.add(wait * 1000));
        assert!((500_000..516_000).contains(&waits.quantile_us(0.5)));
        assert!((990_000..=1_000_000).contains(&waits.quantile_us(0.99)));
        assert_eq!((waits.quantile_us(1.0), waits.longest_us(), waits.total()), (1_000_000, 1_000_000, 1000));
    }
}
