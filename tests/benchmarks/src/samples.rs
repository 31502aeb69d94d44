//! What was measured, one value a round.

use std::fmt;

/// The values of one contender, in order of rounds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.as_slice() {
            [] => f64::NAN,
            sorted => (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0,
        }
    }

    /// How many times `other` this is, round by round: what slows the machine slows both.
    pub(crate) fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(own, other)| own / other).collect())
    }

    fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Median, then least and most in brackets.
impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        let (median, least, most) = (self.median(), self.least(), self.most());
        write!(f, "{median:.digits$} ({least:.digits$}..{most:.digits$})")
    }
}

/// A value out of sorted ones: `part` 0.5 is the middle.
pub(crate) fn percentile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}

/// Whether a ratio is within its target, to two digits as it is printed.
pub(crate) fn verdict(ratio: f64, target: f64) -> String {
    let met = (ratio * 100.0).round() <= (target * 100.0).round();
    format!("{target:.2} {}", if met { "met" } else { "NOT MET" })
}
