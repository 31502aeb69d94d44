//! Counts per stretch of time.

use std::ops::AddAssign;

/// Bins of equal width from the beginning of a run on. When there would be too many, two become one each.
#[derive(Debug, Clone)]
pub(crate) struct Series<T> {
    width_us: u64,
    most: usize,
    bins: Vec<T>,
}

impl<T: Default + AddAssign + Copy> Series<T> {
    pub(crate) fn new(width_us: u64, most: usize) -> Self {
        Self { width_us: width_us.max(1), most, bins: Vec::new() }
    }

    /// The bin of a time since the beginning.
    pub(crate) fn at(&mut self, at_us: u64) -> &mut T {
        let mut place = (at_us / self.width_us) as usize;
        while place >= self.most {
            self.halve();
            place = (at_us / self.width_us) as usize;
        }
        if place >= self.bins.len() {
            self.bins.resize(place + 1, T::default());
        }
        &mut self.bins[place]
    }

    fn halve(&mut self) {
        self.width_us *= 2;
        let merged = self.bins.chunks(2).map(|pair| {
            let mut sum = pair[0];
            pair.iter().skip(1).for_each(|bin| sum += *bin);
            sum
        });
        self.bins = merged.collect();
    }

    /// Makes the bins at least so wide.
    pub(crate) fn widen(&mut self, width_us: u64) {
        while self.width_us < width_us {
            self.halve();
        }
    }

    pub(crate) fn width_us(&self) -> u64 {
        self.width_us
    }

    pub(crate) fn bins(&self) -> &[T] {
        &self.bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_become_wider_rather_than_more() {
        let mut series = Series::<u64>::new(10, 4);
        (0..100).for_each(|at| *series.at(at) += 1);
        assert_eq!((series.width_us(), series.bins()), (40, &[40, 40, 20][..]));
    }
}
