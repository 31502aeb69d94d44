//! What may change about a limit while the states of its keys stay what they are.

use super::applying::Terms;
use super::concurrency::Concurrency;
use super::decay::Decay;
use super::fixed_window::FixedWindow;
use super::gcra::Gcra;
use super::policy::Policy;
use super::sliding_buckets::SlidingBuckets;
use super::sliding_log::SlidingLog;
use super::sliding_window::SlidingWindow;
use crate::time::clock::{LATEST, Micros};

/// A limit and its burst, as a rule states them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Amounts {
    pub(crate) limit: f64,
    /// `None`: as much as the limit.
    pub(crate) burst: Option<u64>,
}

impl Policy {
    /// The same limit with another amount; `None` where that is cheap to make anew.
    pub(crate) fn with_limit(&self, amount: u64) -> Option<Self> {
        let Self::FixedWindow(algorithm) = self else { return None };
        Some(Self::FixedWindow(FixedWindow { limit: amount as f64, ..algorithm.clone() }))
    }

    /// What a change of the rule changes of a limit whose state stays what it is.
    pub(crate) fn terms(&self) -> Terms {
        let counts = |count_denied: bool| f64::from(u8::from(count_denied));
        match self {
            Self::FixedWindow(FixedWindow { limit, count_denied, .. })
            | Self::SlidingWindow(SlidingWindow { limit, count_denied, .. })
            | Self::SlidingBuckets(SlidingBuckets { limit, count_denied, .. }) => {
                [*limit, 0.0, counts(*count_denied)]
            }
            Self::SlidingLog(SlidingLog { limit, .. }) | Self::Concurrency(Concurrency { limit }) => {
                [*limit, 0.0, 0.0]
            }
            Self::Gcra(gcra) => [gcra.unit, gcra.burst, 0.0],
            Self::Decay(decay) => [decay.limit, decay.factor, counts(decay.count_denied)],
        }
    }

    /// The same limit on other terms; `None` where those are of no limit.
    pub(crate) fn on_terms(&self, terms: Terms) -> Option<Self> {
        let [amount, shape, denied] = terms;
        let is_sound = amount > 0.0 && amount <= f64::MAX && (0.0..=f64::MAX).contains(&shape);
        let mut policy = self.clone();
        match &mut policy {
            Self::FixedWindow(FixedWindow { limit, count_denied, .. })
            | Self::SlidingWindow(SlidingWindow { limit, count_denied, .. })
            | Self::SlidingBuckets(SlidingBuckets { limit, count_denied, .. }) => {
                (*limit, *count_denied) = (amount, denied != 0.0);
            }
            Self::SlidingLog(SlidingLog { limit, .. }) | Self::Concurrency(Concurrency { limit }) => {
                *limit = amount;
            }
            Self::Gcra(gcra) => *gcra = Gcra::of_units(amount, shape),
            Self::Decay(decay) => *decay = Decay::new(amount, decay.resolution, shape, denied != 0.0),
        }
        is_sound.then_some(policy)
    }

    /// The same limit on the terms that a rule of another process has; `None` where no rule can have them.
    pub(crate) fn on_terms_of_rule(&self, terms: Terms) -> Option<Self> {
        let policy = self.on_terms(terms)?;
        // Whoever may write keys could have stated it: a state by it must stay one that can be read.
        let largest = if let Self::Gcra(gcra) = &policy { gcra.unit * gcra.burst } else { terms[0] };
        (largest <= LATEST as f64 && policy.most() > 0 && terms[2] == self.terms()[2]).then_some(policy)
    }

    /// What a rule states that lets so much through in this window; `None` for limits that are not lent.
    pub(crate) fn amounts(&self, window: Micros) -> Option<Amounts> {
        match self {
            Self::FixedWindow(FixedWindow { limit, .. }) => Some(Amounts { limit: *limit, burst: None }),
            // The interval of a unit is rounded, the more the larger the burst is.
            Self::Gcra(Gcra { unit, burst, .. }) if Gcra::new(*burst, window, *burst).unit == *unit => {
                Some(Amounts { limit: *burst, burst: None })
            }
            Self::Gcra(Gcra { unit, burst, .. }) => {
                Some(Amounts { limit: (window as f64 / unit).round().max(1.0), burst: Some(*burst as u64) })
            }
            _ => None,
        }
    }

    /// The same limit, except that denied costs are not charged.
    pub(crate) fn sparing_denied(&self) -> Self {
        let mut policy = self.clone();
        match &mut policy {
            Self::FixedWindow(FixedWindow { count_denied, .. })
            | Self::SlidingWindow(SlidingWindow { count_denied, .. })
            | Self::SlidingBuckets(SlidingBuckets { count_denied, .. })
            | Self::Decay(Decay { count_denied, .. }) => *count_denied = false,
            Self::SlidingLog(_) | Self::Gcra(_) | Self::Concurrency(_) => {}
        }
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_rule_can_have_is_on_no_terms() {
        let own = Policy::Gcra(Gcra::of_units(100.0, 5.0));
        assert_eq!(
            own.on_terms_of_rule([50.0, 9.0, 0.0]).map(|policy| policy.terms()),
            Some([50.0, 9.0, 0.0])
        );
        let wrong = [
            [f64::NAN, 5.0, 0.0],
            [100.0, f64::NAN, 0.0],
            [-1.0, 5.0, 0.0],
            [100.0, 0.5, 0.0],
            [100.0, 5.0, 1.0],
            [1e308, 1e10, 0.0],
            [f64::INFINITY, 5.0, 0.0],
        ];
        for terms in wrong {
            assert!(own.on_terms_of_rule(terms).is_none(), "{terms:?}");
        }
    }
}
