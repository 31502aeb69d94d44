//! Who calls, and at what cost.

use crate::random::Random;
use crate::units::duration_us;

/// Which key a call has.
#[derive(Debug, Clone)]
pub(super) enum Pick {
    /// Each as likely as any other.
    Uniform,
    /// One after the other.
    Turn,
    /// By Zipf's law: the shares of the keys, added up.
    Zipf(Vec<f64>),
}

impl Pick {
    pub(super) fn zipf(keys: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let mut shares: Vec<f64> = Vec::with_capacity(keys);
        for rank in 1..=keys {
            sum += (rank as f64).powf(-exponent);
            shares.push(sum);
        }
        shares.iter_mut().for_each(|share| *share /= sum);
        Self::Zipf(shares)
    }

    /// The number of a key; `turn` is that of the call.
    pub(super) fn pick(&self, random: &mut Random, keys: usize, turn: u64) -> usize {
        match self {
            _ if keys == 1 => 0,
            Self::Uniform => random.below(keys as u64) as usize,
            Self::Turn => (turn % keys as u64) as usize,
            Self::Zipf(shares) => {
                let at = random.unit();
                shares.partition_point(|share| *share <= at).min(keys - 1)
            }
        }
    }
}

/// What a call costs, or how long it is under way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Amount {
    Fixed(u64),
    /// Uniform, both ends included.
    Range(u64, u64),
    /// Exponential with this mean, rounded up.
    Exponential(f64),
}

/// The most that a call may cost: sums of costs stay exact.
const DEAREST: u64 = 1_000_000_000;
/// A day: no call is under way for longer on average.
const LONGEST_US: u64 = 86_400_000_000;

impl Amount {
    pub(super) const RIGHT_COST: &'static str =
        "a whole number from 1 to 1000000000, a range such as 1..10, or exp(MEAN)";

    pub(super) fn cost(text: &str) -> Option<Self> {
        let whole = |text: &str| text.parse().ok().filter(|cost| (1..=DEAREST).contains(cost));
        Self::read(text, whole, |mean| mean.parse().ok().filter(|mean| (1.0..=1e6).contains(mean)))
    }

    /// In microseconds.
    pub(crate) fn duration(text: &str) -> Option<Self> {
        let time = |text: &str| duration_us(text).filter(|us| (1..=LONGEST_US).contains(us));
        Self::read(text, time, |mean| time(mean).map(|us| us as f64))
    }

    fn read(
        text: &str,
        one: impl Fn(&str) -> Option<u64>,
        mean: impl Fn(&str) -> Option<f64>,
    ) -> Option<Self> {
        if let Some(inside) = text.strip_prefix("exp(").and_then(|rest| rest.strip_suffix(')')) {
            return mean(inside).map(Self::Exponential);
        }
        match text.split_once("..") {
            Some((low, high)) => {
                let (low, high) = (one(low)?, one(high)?);
                (low <= high).then_some(Self::Range(low, high))
            }
            None => one(text).map(Self::Fixed),
        }
    }

    pub(crate) fn draw(self, random: &mut Random) -> u64 {
        match self {
            Self::Fixed(amount) => amount,
            Self::Range(low, high) => low + random.below(high - low + 1),
            Self::Exponential(mean) => (random.exponential(mean).ceil() as u64).max(1),
        }
    }

    pub(super) fn mean(self) -> f64 {
        match self {
            Self::Fixed(amount) => amount as f64,
            Self::Range(low, high) => (low + high) as f64 / 2.0,
            Self::Exponential(mean) => mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_of_zipf_comes_most_often() {
        let (pick, mut random) = (Pick::zipf(100, 1.0), Random::stream(1, 1));
        let mut counts = [0; 100];
        (0..100_000).for_each(|turn| counts[pick.pick(&mut random, 100, turn)] += 1);
        // 1 / (1 + 1/2 + ... + 1/100) = 0.193.
        assert!((18_500..20_100).contains(&counts[0]), "{}", counts[0]);
        assert!((9_000..10_300).contains(&counts[1]), "{}", counts[1]);
        assert!(counts[99] > 100);
    }

    #[test]
    fn costs_are_read_and_drawn() {
        let mut random = Random::stream(1, 1);
        assert_eq!(Amount::cost("3"), Some(Amount::Fixed(3)));
        let range = Amount::cost("2..4").unwrap();
        assert!((0..100).all(|_| (2..=4).contains(&range.draw(&mut random))));
        let mean = (0..10_000).map(|_| Amount::cost("exp(20)").unwrap().draw(&mut random)).sum::<u64>();
        assert!((190_000..220_000).contains(&mean), "{mean}");
        for wrong in ["0", "4..2", "exp(x)", "exp(0)", "-1", "1.5", "2000000000"] {
            assert_eq!(Amount::cost(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_are_read() {
        assert_eq!(Amount::duration("200ms"), Some(Amount::Fixed(200_000)));
        assert_eq!(Amount::duration("50ms..2s"), Some(Amount::Range(50_000, 2_000_000)));
        assert_eq!(Amount::duration("exp(1.5s)"), Some(Amount::Exponential(1_500_000.0)));
        assert_eq!(Amount::duration("1s..3s").map(Amount::mean), Some(2_000_000.0));
        for wrong in ["0s", "2s..1s", "200", "exp(2)", "-1s", "2d"] {
            assert_eq!(Amount::duration(wrong), None, "{wrong}");
        }
    }
}
