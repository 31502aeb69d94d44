//! What every key got, and what it asked for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::sampled::Sampled;

/// So many of the keys that were denied most are named.
const NAMED: usize = 10;
/// The curve of what keys got has at most so many points.
const POINTS: usize = 120;

/// What one key asked for and got.
#[derive(Debug, Default)]
struct Share {
    name: Box<str>,
    asked: u64,
    admitted: u64,
    denied_calls: u64,
    /// Denials since the last call that was admitted.
    run: u64,
}

/// The shares of all keys.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    shares: Sampled<Share>,
    pub(crate) longest_run: u64,
}

/// Shares in the order of what was asked, the most first, as few points.
#[derive(Debug, Clone, Default)]
pub(crate) struct Profile {
    pub(crate) asked: Vec<f64>,
    pub(crate) admitted: Vec<f64>,
}

impl Keys {
    pub(crate) fn add(&mut self, key: &str, cost: u64, admitted: bool) {
        let Some(share) = self.shares.get(key, || Share { name: key.into(), ..Share::default() }) else {
            return;
        };
        share.asked += cost;
        if admitted {
            share.admitted += cost;
            share.run = 0;
        } else {
            share.denied_calls += 1;
            share.run += 1;
            self.longest_run = self.longest_run.max(share.run);
        }
    }

    /// How many keys there were, nearly.
    pub(crate) fn count(&self) -> u64 {
        self.shares.values().count() as u64 * self.shares.weight()
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.shares.weight() == 1
    }

    /// Jain's index of what keys were admitted: 1 when all got the same, 1/n when one got everything.
    pub(crate) fn jain_admitted(&self) -> Option<f64> {
        jain(self.shares.values().map(|share| share.admitted as f64))
    }

    /// Jain's index of what keys asked for.
    pub(crate) fn jain_asked(&self) -> Option<f64> {
        jain(self.shares.values().map(|share| share.asked as f64))
    }

    /// The keys that were denied most often, with how often.
    pub(crate) fn most_denied(&self) -> Vec<(Box<str>, u64)> {
        let mut heap = BinaryHeap::with_capacity(NAMED + 1);
        for share in self.shares.values().filter(|share| share.denied_calls > 0) {
            heap.push((Reverse(share.denied_calls), &share.name));
            if heap.len() > NAMED {
                heap.pop();
            }
        }
        let sorted = heap.into_sorted_vec().into_iter();
        sorted.map(|(Reverse(denied), name)| (name.clone(), denied)).collect()
    }

    pub(crate) fn profile(&self) -> Profile {
        let mut shares: Vec<_> = self.shares.values().map(|share| (share.asked, share.admitted)).collect();
        shares.sort_unstable_by(|one, other| other.cmp(one));
        let group = shares.len().div_ceil(POINTS).max(1);
        let mean = |of: fn(&(u64, u64)) -> u64| {
            let mean = |group: &[(u64, u64)]| group.iter().map(of).sum::<u64>() as f64 / group.len() as f64;
            shares.chunks(group).map(mean).collect()
        };
        Profile { asked: mean(|share| share.0), admitted: mean(|share| share.1) }
    }
}

fn jain(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum, squares) =
        values.fold((0.0, 0.0, 0.0), |(count, sum, squares), x| (count + 1.0, sum + x, squares + x * x));
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index() {
        assert_eq!(jain([2.0, 2.0, 2.0].into_iter()), Some(1.0));
        assert_eq!(jain([6.0, 0.0, 0.0].into_iter()), Some(1.0 / 3.0));
        assert_eq!(jain([0.0].into_iter()), None);
    }

    #[test]
    fn runs_end_with_an_admitted_call_of_the_same_key() {
        let mut keys = Keys::default();
        for (key, admitted) in [("a", false), ("b", true), ("a", false), ("a", true), ("a", false)] {
            keys.add(key, 1, admitted);
        }
        assert_eq!((keys.longest_run, keys.count()), (2, 2));
        assert_eq!(keys.most_denied(), [("a".into(), 3)]);
        let profile = keys.profile();
        assert_eq!((profile.asked, profile.admitted), (vec![4.0, 1.0], vec![1.0, 1.0]));
    }
}
