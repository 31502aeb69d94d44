//! Random numbers that a seed fixes for ever: a run is to be the same on every machine and in every release.

/// SplitMix64 (G. Steele, D. Lea and C. Flood, 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From 0 to `end`, without it.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_paper() {
        // The first ones of the reference implementation for seed 0.
        let mut random = Random::new(0);
        assert_eq!([random.next_u64(), random.next_u64()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
    }

    #[test]
    fn every_number_below_the_end_is_drawn() {
        let mut random = Random::new(7);
        let mut drawn = [0; 11];
        (0..11_000).for_each(|_| drawn[random.below(11) as usize] += 1);
        assert!(drawn.iter().all(|count| (850..1150).contains(count)), "{drawn:?}");
    }
}
