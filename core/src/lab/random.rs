//! Random numbers that a seed fixes for ever: a run is to be the same on every machine and in every release.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    /// A generator of its own for every number of a seed.
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let mut random = Self(seed ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From 0 to 1, without 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 to `below`, without it.
    pub(super) fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(below)) >> 64) as u64
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
            let mut random = Random::new(seed, 3);
            [random.below(1000), random.below(1000), random.below(1000)]
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }

    #[test]
    fn means_are_what_they_should_be() {
        let mut random = Random::new(7, 0);
        let mean = |draw: &mut dyn FnMut() -> f64| (0..100_000).map(|_| draw()).sum::<f64>() / 100_000.0;
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 0.01);
        assert!((mean(&mut || random.exponential(4.0)) - 4.0).abs() < 0.1);
        assert!((mean(&mut || random.below(11) as f64) - 5.0).abs() < 0.1);
    }
}
