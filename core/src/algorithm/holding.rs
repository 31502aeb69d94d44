//! What is held for one key, or one resource, of a rule: reservations, by the ends of their leases.
//!
//! The twin of `holdings.lua` of the crate `sluicegate-lua`.

use super::concurrency::Leases;
use super::lease::{HoldId, Lease, LeaseList};
use crate::time::clock::Micros;

/// One key holds no more reservations.
pub(crate) const MOST_HELD: usize = 10_000;

/// Reservations in the order in which their leases end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Holding {
    leases: LeaseList,
    /// How long the longest of them lasts.
    longest_lease: Micros,
    held: f64,
    /// The last fencing token that was given.
    token: Micros,
    /// Until when this must not be forgotten.
    pub(crate) kept_until: Micros,
}

impl Holding {
    /// The weight that counts.
    #[inline]
    pub(crate) fn held(&self) -> f64 {
        self.held
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.leases.len() >= MOST_HELD
    }

    /// The end of the first lease.
    #[inline]
    pub(crate) fn first_end(&self) -> Option<Micros> {
        self.leases.iter().next().map(|(end, _)| end)
    }

    /// The end of the last lease that counts.
    #[inline]
    pub(crate) fn last_end(&self) -> Option<Micros> {
        self.leases.iter().rev().find_map(|(end, lease)| lease.counts.then_some(end))
    }

    /// The end of the lease by which `weight` is free.
    fn frees_at(&self, mut weight: f64) -> Option<Micros> {
        self.leases.iter().find_map(|(end, lease)| {
            weight -= if lease.counts { lease.weight } else { 0.0 };
            (weight <= 0.0).then_some(end)
        })
    }

    /// When places become free: enough of them for a cost, and all.
    #[inline]
    pub(crate) fn leases(&self, limit: f64, cost: f64) -> Leases {
        let over = self.held() + cost - limit;
        let enough_at = if over > 0.0 { self.frees_at(over).unwrap_or(0) } else { 0 };
        Leases { enough_at, last_at: self.last_end().unwrap_or(0) }
    }

    /// Takes out the first reservation whose lease has ended at `now`.
    #[inline]
    pub(crate) fn pop_ended(&mut self, now: Micros) -> Option<(Micros, Lease)> {
        let (end, lease) = self.leases.pop_ended(now)?;
        self.let_go(&lease);
        Some((end, lease))
    }

    /// After a step of the clock back, no lease ends later than the longest one that begins now.
    #[inline]
    pub(crate) fn heal(&mut self, now: Micros) {
        let latest = now + self.longest_lease;
        let last = self.leases.iter().next_back().map_or(0, |(end, _)| end);
        if last > latest {
            self.leases.end_by(latest);
            self.kept_until -= last - latest;
        }
    }

    /// Holds a reservation whose lease of `length` begins now, and says when it ends.
    #[inline]
    pub(crate) fn begin(&mut self, id: HoldId, (now, length): (Micros, Micros), lease: Lease) -> Micros {
        self.longest_lease = if self.is_empty() { length } else { self.longest_lease.max(length) };
        self.hold(id, now + length, lease);
        now + length
    }

    #[inline]
    pub(crate) fn hold(&mut self, id: HoldId, end: Micros, lease: Lease) {
        self.leases.insert((end, id), lease);
        self.held += if lease.counts { lease.weight } else { 0.0 };
    }

    /// Takes out a reservation, and says when its lease would have ended.
    #[inline]
    pub(crate) fn end(&mut self, id: &HoldId) -> Option<(Micros, Lease)> {
        let (end, lease) = self.leases.remove(id)?;
        self.let_go(&lease);
        Some((end, lease))
    }

    /// Renews a reservation's lease for `length`; whether there is one.
    #[inline]
    pub(crate) fn renew(&mut self, id: &HoldId, now: Micros, length: Micros) -> bool {
        let ended = self.end(id);
        ended.map(|(_, lease)| self.begin(*id, (now, length), lease)).is_some()
    }

    /// Lets go of every reservation. The token stays.
    pub(crate) fn clear(&mut self) {
        *self = Self { token: self.token, kept_until: self.kept_until, ..Self::default() };
    }

    /// Keeps this until then, at least.
    #[inline]
    pub(crate) fn keep(&mut self, until: Micros) {
        self.kept_until = self.kept_until.max(until);
    }

    /// After something was charged, when a lease that begins now ends at `end`: an overdraft, whose charges count for
    /// `overdrawn` then, makes what is still held count longer; where nothing is, the token is kept for a lease.
    #[inline]
    pub(crate) fn keep_on(&mut self, end: Micros, overdrawn: Option<Micros>) {
        if self.is_empty() && self.kept_until > 0 {
            self.kept_until = end;
        } else if let Some(lasts) = overdrawn {
            self.keep(end + lasts);
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.leases.len() == 0
    }

    /// The next fencing token.
    #[inline]
    pub(crate) fn next_token(&self, now: Micros) -> Micros {
        now.max(self.token + 1)
    }

    #[inline]
    pub(crate) fn set_token(&mut self, token: Micros) {
        self.token = token;
    }

    #[inline]
    fn let_go(&mut self, lease: &Lease) {
        if lease.counts {
            self.held -= lease.weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Lease = Lease { weight: 2.0, counts: true, price: None };

    #[test]
    fn leases_end_in_order() {
        let mut holding = Holding::default();
        for (id, end) in [(3, 20), (2, 10), (1, 10)] {
            holding.hold([id; 16], end, LEASE);
        }
        assert_eq!((holding.held(), holding.frees_at(3.0), holding.frees_at(7.0)), (6.0, Some(10), None));
        assert!(holding.renew(&[2; 16], 0, 30));
        assert_eq!((holding.pop_ended(10), holding.pop_ended(19)), (Some((10, LEASE)), None));
        assert_eq!((holding.first_end(), holding.last_end()), (Some(20), Some(30)));
        assert_eq!(
            (holding.end(&[3; 16]), holding.end(&[3; 16]), holding.held()),
            (Some((20, LEASE)), None, 2.0)
        );
    }

    #[test]
    fn what_does_not_count_holds_nothing() {
        let mut holding = Holding::default();
        holding.hold([1; 16], 5, Lease { counts: false, ..LEASE });
        assert_eq!(holding.held(), 0.0);
        assert!(holding.pop_ended(5).is_some_and(|(_, lease)| !lease.counts));
        assert!(holding.is_empty() && holding.held() == 0.0);
    }

    #[test]
    fn tokens_grow_whatever_the_clock_says() {
        let mut holding = Holding::default();
        holding.set_token(holding.next_token(7));
        assert_eq!((holding.next_token(3), holding.next_token(100)), (8, 100));
        holding.clear();
        assert_eq!(holding.next_token(7), 8);
    }
}
