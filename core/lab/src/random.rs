//! What traffic draws.

use sluicegate::internal;

/// Random numbers that a seed fixes.
#[derive(Debug, Clone)]
pub(super) struct Random(internal::Random);

impl Random {
    /// A generator of its own for every number of a seed.
    pub(super) fn stream(seed: u64, number: u64) -> Self {
        let mut random = internal::Random::new(seed ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        random.next_u64();
        Self(random)
    }

    /// From 0 to `end`, without it.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// From 0 to 1, without 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed with this mean.
    pub(super) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_numbers() {
        let numbers = |seed| {
            let mut random = Random::stream(seed, 3);
            [random.below(1000), random.below(1000), random.below(1000)]
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }

    #[test]
    fn means_are_what_they_should_be() {
        let mut random = Random::stream(7, 0);
        let mean = |draw: &mut dyn FnMut() -> f64| (0..100_000).map(|_| draw()).sum::<f64>() / 100_000.0;
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 0.01);
        assert!((mean(&mut || random.exponential(4.0)) - 4.0).abs() < 0.1);
    }
}
