//! When calls come that no answer holds up.

use std::f64::consts::TAU;

use crate::random::Random;

const DAY_US: f64 = 86_400e6;
/// At the peak of a day there are so many times as many calls as on average, and as many fewer at night.
const SWING: f64 = 0.9;

/// The law of arrivals.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ArrivalProcess {
    /// At equal distances.
    Steady { gap_us: f64 },
    /// Independent of each other.
    Poisson { gap_us: f64 },
    /// Poisson by the time of the day.
    Day { gap_us: f64, peak_us: f64 },
    /// `size` calls evenly over `spread_us`, every `every_us`.
    Batches { size: u64, every_us: u64, spread_us: u64, begin: Begin },
}

/// Where batches stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    /// The first at the beginning of the traffic.
    WithTraffic,
    /// Half before and half after each multiple of their distance since 1970.
    AroundEdges,
}

/// The times of one source's calls, in microseconds since its beginning.
#[derive(Debug, Clone)]
pub(super) struct Arrivals<'a> {
    pattern: &'a ArrivalProcess,
    /// The time since 1970 at which the traffic begins.
    origin_us: u64,
    number: u64,
    clock_us: f64,
}

impl<'a> Arrivals<'a> {
    pub(super) fn new(pattern: &'a ArrivalProcess, origin_us: u64) -> Self {
        Self { pattern, origin_us, number: 0, clock_us: 0.0 }
    }

    /// The time of the next call.
    pub(super) fn next(&mut self, random: &mut Random) -> u64 {
        let number = self.number;
        self.number += 1;
        match *self.pattern {
            ArrivalProcess::Steady { gap_us } => (number as f64 * gap_us) as u64,
            ArrivalProcess::Poisson { gap_us } => {
                self.clock_us += random.exponential(gap_us);
                self.clock_us as u64
            }
            ArrivalProcess::Day { gap_us, peak_us } => self.next_of_day(random, gap_us, peak_us),
            ArrivalProcess::Batches { size, every_us, spread_us, begin } => {
                self.in_batch(number / size, number % size, size, every_us, spread_us, begin)
            }
        }
    }

    /// Poisson at the rate of the peak, thinned (Lewis and Shedler 1979).
    fn next_of_day(&mut self, random: &mut Random, gap_us: f64, peak_us: f64) -> u64 {
        loop {
            self.clock_us += random.exponential(gap_us / (1.0 + SWING));
            let hour = (self.origin_us as f64 + self.clock_us - peak_us) / DAY_US;
            let rate = 1.0 + SWING * (hour * TAU).cos();
            if random.unit() * (1.0 + SWING) < rate {
                return self.clock_us as u64;
            }
        }
    }

    fn in_batch(&self, batch: u64, place: u64, size: u64, every: u64, spread: u64, begin: Begin) -> u64 {
        // The middle of each share of the spread, so that as many are before its middle as after it.
        let within = (2 * place + 1) * spread / (2 * size);
        let start = match begin {
            Begin::WithTraffic => batch * every,
            Begin::AroundEdges => {
                let edge = (self.origin_us / every + 1 + batch) * every;
                (edge - self.origin_us).saturating_sub(spread / 2)
            }
        };
        start + within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(pattern: &ArrivalProcess, count: usize) -> Vec<u64> {
        let (mut arrivals, mut random) = (Arrivals::new(pattern, 0), Random::stream(1, 1));
        (0..count).map(|_| arrivals.next(&mut random)).collect()
    }

    #[test]
    fn steady_calls_keep_their_distance() {
        assert_eq!(times(&ArrivalProcess::Steady { gap_us: 2.5 }, 4), [0, 2, 5, 7]);
    }

    #[test]
    fn poisson_keeps_its_rate() {
        let last = times(&ArrivalProcess::Poisson { gap_us: 1000.0 }, 100_000)[99_999];
        assert!((99_000_000..101_000_000).contains(&last), "{last}");
    }

    #[test]
    fn a_day_has_a_peak_and_a_night() {
        let pattern = ArrivalProcess::Day { gap_us: 1e6, peak_us: 20.0 * 3600e6 };
        let day = times(&pattern, 90_000);
        let of_hour = |hour: u64| day.iter().filter(|at| *at / 3_600_000_000 == hour).count();
        assert!((6_300..7_300).contains(&of_hour(20)), "{}", of_hour(20));
        assert!(of_hour(8) < 700, "{}", of_hour(8));
    }

    #[test]
    fn batches_stand_around_edges() {
        let pattern =
            ArrivalProcess::Batches { size: 4, every_us: 1000, spread_us: 80, begin: Begin::AroundEdges };
        assert_eq!(times(&pattern, 5), [970, 990, 1010, 1030, 1970]);
        let pattern =
            ArrivalProcess::Batches { size: 2, every_us: 1000, spread_us: 0, begin: Begin::WithTraffic };
        assert_eq!(times(&pattern, 4), [0, 0, 1000, 1000]);
    }
}
