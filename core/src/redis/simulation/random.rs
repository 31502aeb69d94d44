//! A small generator of random numbers: the same seed gives the same numbers on every machine.

/// SplitMix64 (G. Steele, D. Lea, C. Flood, 2014).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end - 1`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((self.next() >> 32) * end) >> 32
    }

    pub(super) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from `first` to `last`.
    pub(super) fn within(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    pub(super) fn percent(&mut self, percentage: u64) -> bool {
        self.below(100) < percentage
    }

    pub(super) fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }
}
