//! What is held beside the states of a call: begun, renewed and ended.

use super::held::{End, used};
use super::{ENFORCED, LoadedStates, SmallList};
use crate::algorithm::{HoldId, Lease, Micros};

/// What was taken out of a holding, and when its lease would have ended.
type Ended = Option<(Micros, Lease)>;

impl LoadedStates<'_> {
    /// Ends or renews a reservation: whether it was held wherever it should be. `None`: a charge could not be
    /// counted, and nothing was done.
    #[inline]
    pub(crate) fn end(&mut self, end: End, id: &HoldId) -> Option<bool> {
        self.advance();
        match end {
            End::Renew => Some(self.renew(id)),
            End::Commit | End::Release => self.finish(id, end == End::Commit),
        }
    }

    /// Holds the weight wherever there is a holder, when all that is enforced has room.
    #[inline]
    pub(super) fn reserve(&mut self, id: HoldId, fits: &[bool]) -> Option<u64> {
        let group_fits = |group| {
            let charges = self.plan.charges.iter().zip(fits);
            charges.filter(|(charge, _)| charge.group == group).all(|(_, fits)| *fits)
        };
        if !group_fits(ENFORCED) {
            return None;
        }
        let counts: SmallList<_> = self.plan.holders.iter().map(|holder| group_fits(holder.group)).collect();
        let token = self.holdings.iter().map(|holding| holding.next_token(self.now)).max()?;
        for (number, counts) in counts.into_iter().enumerate() {
            self.hold(number, id, counts);
            self.holdings[number].set_token(token);
        }
        Some(token.unsigned_abs())
    }

    #[inline]
    fn hold(&mut self, number: usize, id: HoldId, counts: bool) {
        let holder = &self.plan.holders[number];
        let lease = Lease { weight: holder.weight, counts, price: self.plan.own_price(number) };
        let end = self.holdings[number].begin(id, (self.now, holder.lease), lease);
        self.keep(number, end);
    }

    /// Keeps a holding until what is charged at the end of a lease would be gone.
    #[inline]
    fn keep(&mut self, number: usize, end: Micros) {
        let until = end + self.lasts(number);
        self.holdings[number].keep(until);
    }

    /// How long a charge counts at most that is made when a lease of a holder ends.
    #[inline]
    fn lasts(&self, number: usize) -> Micros {
        let lasts = |index: usize| {
            let by_own = self.limit(index).lasts(&self.states[index]);
            by_own.max(self.plan.charges[index].longest())
        };
        self.own(number).map(lasts).max().unwrap_or(0)
    }

    #[inline]
    fn renew(&mut self, id: &HoldId) -> bool {
        let mut renewed = true;
        for number in 0..self.holdings.len() {
            let length = self.plan.holders[number].lease;
            if self.holdings[number].renew(id, self.now, length) {
                self.keep(number, self.now + length);
            } else {
                renewed = false;
            }
        }
        renewed
    }

    #[inline]
    fn finish(&mut self, id: &HoldId, charges: bool) -> Option<bool> {
        let ended: SmallList<_> = self.holdings.iter_mut().map(|holding| holding.end(id)).collect();
        let used = |index| if charges { self.used(index, &ended) } else { 0.0 };
        let costs: SmallList<_> = (0..self.states.len()).map(used).collect();
        // Where nothing is charged, it does not matter what was before.
        let bears = |(index, &cost): (usize, &f64)| {
            cost == 0.0 || self.policy(index).bears(&self.states[index], self.now, cost)
        };
        if !costs.iter().enumerate().all(bears) {
            for (holding, ended) in self.holdings.iter_mut().zip(ended) {
                if let Some((end, lease)) = ended {
                    holding.hold(*id, end, lease);
                }
            }
            return None;
        }
        for (index, cost) in costs.into_iter().enumerate().filter(|(_, cost)| *cost > 0.0) {
            self.with_state(index, |loaded, policy, state| policy.charge(state, loaded.now, cost));
        }
        for number in 0..self.holdings.len() {
            self.keep_on(number);
        }
        Some(ended.iter().all(Option::is_some))
    }

    /// What a commit charges to a limit: nothing where the reservation is not held.
    #[inline]
    fn used(&self, index: usize, ended: &[Ended]) -> f64 {
        let charge = &self.plan.charges[index];
        let lease = charge.holder.and_then(|holder| ended[holder]);
        let room = || self.room_of_group(charge.group, ended);
        lease.map_or(0.0, |(_, lease)| used(&lease, charge.cost, room))
    }

    /// What all limits of a rule in shadow have room for.
    fn room_of_group(&self, group: usize, ended: &[Ended]) -> f64 {
        let own = self.plan.charges.iter().enumerate().filter(|(_, charge)| {
            let lease = charge.holder.and_then(|holder| ended[holder]);
            charge.group == group && lease.is_some_and(|(_, lease)| !lease.counts)
        });
        let room = own.map(|(index, _)| self.limit(index).room(&self.states[index]));
        room.fold(f64::INFINITY, f64::min)
    }

    /// After something was charged.
    #[inline]
    pub(super) fn keep_on(&mut self, number: usize) {
        let end = self.now + self.plan.holders[number].lease;
        let lasts = self.is_overdrawn(number).then(|| self.lasts(number));
        self.holdings[number].keep_on(end, lasts);
    }

    #[inline]
    fn is_overdrawn(&self, number: usize) -> bool {
        self.own(number).any(|index| self.limit(index).overdraft(&self.states[index]) > 0)
    }

    /// The charges of a holder, as indices.
    #[inline]
    fn own(&self, number: usize) -> impl Iterator<Item = usize> {
        let charges = self.plan.charges.iter().enumerate();
        charges.filter(move |(_, charge)| charge.holder == Some(number)).map(|(index, _)| index)
    }
}
