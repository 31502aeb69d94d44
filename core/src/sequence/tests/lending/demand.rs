//! How often callers of a region ask.

#[derive(Debug, Clone, Copy)]
pub(super) enum Demand {
    None,
    /// So many calls a second.
    Steady(f64),
    /// The same in every other second; the number says in which.
    Moving(f64, u64),
    /// So many calls in a tenth of a second, every ten seconds.
    Bursts(f64),
    /// All that there is, at once, every so many microseconds: an adversary.
    Hoards(f64),
}

impl Demand {
    /// Calls per microsecond.
    pub(super) fn at(self, at: f64) -> f64 {
        let per_second = match self {
            Self::None => 0.0,
            Self::Steady(rate) => rate,
            Self::Moving(rate, odd) => {
                if (at / 1e6) as u64 % 2 == odd {
                    rate
                } else {
                    0.0
                }
            }
            Self::Bursts(calls) => {
                if at % 10e6 < 100e3 {
                    calls * 10.0
                } else {
                    0.0
                }
            }
            Self::Hoards(every) => {
                if at % every < 20e3 {
                    20_000.0
                } else {
                    0.0
                }
            }
        };
        per_second / 1e6
    }
}
