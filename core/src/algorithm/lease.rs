//! Leases, and lists of them in the order of their ends.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::time::clock::Micros;

/// The random name of a reservation, by which it is found where it is held.
pub(crate) type HoldId = [u8; 16];

/// One reservation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lease {
    pub(crate) weight: f64,
    /// A reservation of a rule in shadow for which there was no room holds nothing.
    pub(crate) counts: bool,
    /// The price of a unit where the call brought a limit of its own.
    pub(crate) price: Option<f64>,
}

/// So many are looked through sooner than a tree is searched, which also takes memory from the system for its first entry.
const FEW: usize = 16;

/// The end of a lease, and the reservation; of one microsecond, by their ids.
type Key = (Micros, HoldId);

/// A sorted list while there are few leases, as nearly always; else a tree.
#[derive(Debug, Clone, Default)]
pub(super) struct LeaseList {
    few: Vec<(Key, Lease)>,
    /// All of them, when they are more.
    many: Option<Box<Tree>>,
}

#[derive(Debug, Clone, Default)]
struct Tree {
    leases: BTreeMap<Key, Lease>,
    /// By a fast hash, since no caller chooses the names of what is held here.
    ends: HashMap<HoldId, Micros>,
}

impl LeaseList {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.few.len() + self.many.as_ref().map_or(0, |tree| tree.leases.len())
    }

    /// Ends and leases, in order.
    #[inline]
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (Micros, &Lease)> {
        let many = self.many.iter().flat_map(|tree| &tree.leases);
        let all = self.few.iter().map(|(key, lease)| (key, lease)).chain(many);
        all.map(|(key, lease)| (key.0, lease))
    }

    #[inline]
    pub(super) fn insert(&mut self, key: Key, lease: Lease) {
        if self.many.is_some() || self.few.len() == FEW {
            return self.insert_in_tree(key, lease);
        }
        // Most end after all others.
        let before = self.few.iter().rev().take_while(|(other, _)| *other > key).count();
        self.few.insert(self.few.len() - before, (key, lease));
    }

    #[cold]
    fn insert_in_tree(&mut self, key: Key, lease: Lease) {
        let tree = self.many.get_or_insert_default();
        for (key, lease) in self.few.drain(..).chain([(key, lease)]) {
            tree.ends.insert(key.1, key.0);
            tree.leases.insert(key, lease);
        }
    }

    /// Lets no lease end later than that.
    #[cold]
    pub(super) fn end_by(&mut self, latest: Micros) {
        let late = |(end, id): Key| (end > latest).then_some(id);
        let tree = self.many.iter().flat_map(|tree| tree.leases.keys().copied());
        let ids: Vec<_> = self.few.iter().map(|(key, _)| *key).chain(tree).filter_map(late).collect();
        for id in ids {
            if let Some((_, lease)) = self.remove(&id) {
                self.insert((latest, id), lease);
            }
        }
    }

    /// Takes out a reservation.
    #[inline]
    pub(super) fn remove(&mut self, id: &HoldId) -> Option<(Micros, Lease)> {
        if let Some(tree) = &self.many {
            let end = *tree.ends.get(id)?;
            return self.remove_from_tree((end, *id));
        }
        let at = self.few.iter().position(|((_, other), _)| other == id)?;
        let ((end, _), lease) = self.few.remove(at);
        Some((end, lease))
    }

    /// Takes out the first whose lease has ended at `now`.
    #[inline]
    pub(super) fn pop_ended(&mut self, now: Micros) -> Option<(Micros, Lease)> {
        let has_ended = |key: &&Key| key.0 <= now;
        if let Some(tree) = &self.many {
            let key = *tree.leases.keys().next().filter(has_ended)?;
            return self.remove_from_tree(key);
        }
        self.few.first().map(|(key, _)| key).filter(has_ended)?;
        let ((end, _), lease) = self.few.remove(0);
        Some((end, lease))
    }

    #[cold]
    fn remove_from_tree(&mut self, key: Key) -> Option<(Micros, Lease)> {
        let tree = self.many.as_mut()?;
        tree.ends.remove(&key.1);
        let lease = tree.leases.remove(&key)?;
        if tree.leases.is_empty() {
            self.many = None;
        }
        Some((key.0, lease))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(weight: usize) -> Lease {
        Lease { weight: weight as f64, counts: true, price: None }
    }

    #[test]
    fn few_and_many_leases_are_in_order() {
        for count in 1..=2 * FEW {
            let mut list = LeaseList::default();
            // Not in order: 7 is no divisor of any power of two or of a sum of such.
            let number = |at: usize| (at * 7) % 64;
            for at in 0..count {
                let number = number(at);
                list.insert((number as Micros / 2, [number as u8; 16]), lease(number));
            }
            let mut numbers: Vec<_> = (0..count).map(number).collect();
            numbers.sort_unstable();
            let listed: Vec<_> = list.iter().map(|(_, lease)| lease.weight as usize).collect();
            assert_eq!((list.len(), listed), (count, numbers.clone()));
            assert_eq!(list.remove(&[99; 16]), None);
            let odd: Vec<_> = numbers.iter().copied().filter(|number| number % 2 == 1).collect();
            for number in odd {
                let removed = list.remove(&[number as u8; 16]);
                assert_eq!(removed, Some((number as Micros / 2, lease(number))));
            }
            for number in numbers.into_iter().filter(|number| number % 2 == 0) {
                let end = number as Micros / 2;
                assert_eq!(list.pop_ended(end - 1), None);
                assert_eq!(list.pop_ended(end), Some((end, lease(number))));
            }
            assert_eq!(list.len(), 0);
        }
    }
}
