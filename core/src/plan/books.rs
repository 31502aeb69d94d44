//! What a call does to states beside which something is held: the twin of the scripts with `holdings.lua`.

use std::mem;

use super::{Charge, ENFORCED, Fingerprint, Op, Outcome, Plan};
use crate::algorithm::{Answered, Demand, HoldId, Holding, Lease, Micros, State};
use crate::rules::Scope;

/// The states and holdings that a call touches, in the order of the plan's charges and holders.
#[derive(Debug)]
pub(crate) struct Books<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) now: Micros,
    pub(crate) states: Vec<State>,
    /// Which of them were never seen: they have no time yet.
    is_new: Vec<bool>,
    pub(crate) holdings: Vec<Holding>,
    /// What was answered to the request, if the plan has one.
    answered: Option<Box<Answered>>,
}

/// How a reservation is ended, or kept alive.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Ends it, and charges the plan's costs.
    Commit,
    /// Ends it, and charges nothing.
    Release,
    /// Lets its lease begin anew.
    Renew,
}

impl<'a> Books<'a> {
    /// The books of keys never seen.
    pub(crate) fn new(plan: &'a Plan<'a>, now: Micros) -> Self {
        let states = plan.charges.iter().map(|charge| charge.policy.fresh(now)).collect();
        let (is_new, holdings) =
            (vec![true; plan.charges.len()], vec![Holding::default(); plan.holders.len()]);
        Self { plan, now, states, is_new, holdings, answered: None }
    }

    /// Enters what is kept: for a charge or, after them, for a holder or, after these, for the request. (`concurrency`
    /// keeps nothing else than what is held.)
    pub(crate) fn open(&mut self, index: usize, kept: Option<State>) {
        match kept {
            Some(State::Holding(holding)) => {
                if let Some(own) =
                    index.checked_sub(self.states.len()).and_then(|at| self.holdings.get_mut(at))
                {
                    *own = *holding;
                }
            }
            Some(State::Answered(answered)) => self.answered = Some(answered),
            Some(state) => {
                if let (Some(own), Some(is_new)) = (self.states.get_mut(index), self.is_new.get_mut(index)) {
                    (*own, *is_new) = (state, false);
                }
            }
            None => {}
        }
    }

    /// What is to be kept, in the same order, each with the time until which; `None`: nothing. What is held may be
    /// charged to a state long after it ended, to the state as it was then: it is kept for that long.
    pub(crate) fn close(self) -> Vec<Option<(State, Micros)>> {
        let Self { plan, now, states, holdings, answered, .. } = self;
        let held = |number: usize| Some(&holdings[number]).filter(|holding| !holding.is_empty());
        let kept_until =
            |charge: &Charge<'_>| charge.holder.and_then(held).map_or(0, |holding| holding.kept_until);
        let states: Vec<_> = plan
            .charges
            .iter()
            .zip(states)
            .map(|(charge, state)| {
                let ends = now + charge.policy.reset_after(&state, now);
                (ends > now).then(|| (state, ends.max(kept_until(charge))))
            })
            .collect();
        let holdings = holdings.into_iter().map(|holding| {
            let ends = holding.kept_until;
            (ends > now).then(|| (State::Holding(Box::new(holding)), ends))
        });
        let answered = plan.request.iter().zip([answered]).map(|(_, answered)| {
            let ends = answered.as_ref().map_or(0, |answered| answered.ends);
            answered.map(|answered| (State::Answered(answered), ends))
        });
        states.into_iter().chain(holdings).chain(answered).collect()
    }
}

impl Books<'_> {
    /// Decides: one outcome per charge, and the fencing token of what was reserved.
    pub(crate) fn decide(&mut self, op: Op, id: HoldId) -> (Vec<Outcome>, Option<u64>) {
        self.settle();
        if op == Op::Charge && !self.bears_all() {
            return (vec![Outcome::NONE; self.plan.charges.len()], None);
        }
        if op == Op::Refund {
            self.refund();
        }
        let indices: Vec<_> = (0..self.states.len()).collect();
        let fits: Vec<_> = indices.iter().map(|&index| self.fits(index, op)).collect();
        let permitted = self.plan.permitted(&indices, &fits);
        let token = if op == Op::Reserve { self.reserve(id, &fits) } else { None };
        let conclude = |index: usize| self.conclude(index, op, fits[index], permitted[index]);
        let outcomes = indices.into_iter().map(conclude).collect();
        if op == Op::Charge {
            (0..self.holdings.len()).for_each(|number| self.keep_on(number));
        }
        (outcomes, token)
    }

    /// Decides what has a request id once, and keeps the answer for `lifetime`. `None`: the id is of another call.
    pub(crate) fn decide_once(
        &mut self,
        op: Op,
        fingerprint: Fingerprint,
        lifetime: Micros,
    ) -> Option<Vec<Outcome>> {
        if let Some(answered) = self.answered.as_ref().filter(|answered| answered.ends > self.now) {
            return (answered.fingerprint == fingerprint).then(|| answered.outcomes.clone());
        }
        let outcomes = self.decide(op, HoldId::default()).0;
        // What is refused is no answer.
        let is_answer = op != Op::Charge || outcomes.iter().all(|outcome| outcome.changed);
        self.answered = is_answer.then(|| {
            let ends = self.now + lifetime;
            Box::new(Answered { fingerprint, ends, outcomes: outcomes.clone() })
        });
        Some(outcomes)
    }

    /// Whether something is held.
    pub(crate) fn holds(&self) -> bool {
        self.holdings.iter().any(|holding| holding.held() > 0.0)
    }

    /// Ends or renews a reservation: whether it was held wherever it should be. `None`: a charge could not be
    /// counted, and nothing was done.
    pub(crate) fn end(&mut self, end: End, id: &HoldId) -> Option<bool> {
        self.settle();
        match end {
            End::Renew => Some(self.renew(id)),
            End::Commit | End::Release => self.finish(id, end == End::Commit),
        }
    }

    /// Forgets what a reset is to forget. Tokens grow on as long as a lease lasts.
    pub(crate) fn forget(&mut self) {
        let counts_keys = self.plan.counts_keys();
        for (charge, state) in self.plan.charges.iter().zip(&mut self.states) {
            if !counts_keys || charge.limit.scope == Scope::Key {
                *state = charge.policy.fresh(self.now);
            }
        }
        for (holder, holding) in self.plan.holders.iter().zip(&mut self.holdings) {
            if holder.scope == Scope::Key {
                holding.clear();
                holding.kept_until = self.now + holder.lease;
            }
        }
    }

    /// Charges what was held until its lease ended, before anything else.
    fn settle(&mut self) {
        for number in 0..self.holdings.len() {
            while let Some((end, lease)) = self.holdings[number].pop_ended(self.now) {
                for (index, charge) in self.plan.charges.iter().enumerate() {
                    if charge.holder == Some(number) && lease.counts {
                        let state = &mut self.states[index];
                        if mem::take(&mut self.is_new[index]) {
                            *state = charge.policy.fresh(end);
                        }
                        charge.limit.policy.charge_late(state, end, self.now, &lease);
                    }
                }
            }
        }
        for (charge, state) in self.plan.charges.iter().zip(&mut self.states) {
            if charge.policy.is_ahead(state, self.now) {
                charge.policy.settle(state, self.now);
            }
            if let (Some(holder), State::Leases(leases)) = (charge.holder, state) {
                *leases = self.holdings[holder].leases(charge.policy.most() as f64, charge.cost);
            }
        }
    }

    fn held(&self, charge: &Charge<'_>) -> f64 {
        charge.holder.map_or(0.0, |holder| self.holdings[holder].held())
    }

    fn fits(&self, index: usize, op: Op) -> bool {
        let charge = &self.plan.charges[index];
        let is_full = || charge.holder.is_some_and(|holder| self.holdings[holder].is_full());
        charge.policy.fits(&self.states[index], self.now, charge.cost + self.held(charge))
            && !(op == Op::Reserve && is_full())
    }

    fn bears_all(&self) -> bool {
        let bears =
            |(charge, state): (&Charge<'_>, &State)| charge.policy.bears(state, self.now, charge.cost);
        self.plan.charges.iter().zip(&self.states).all(bears)
    }

    fn refund(&mut self) {
        for (charge, state) in self.plan.charges.iter().zip(&mut self.states) {
            charge.policy.refund(state, self.now, charge.cost, None);
            if charge.policy.reset_after(state, self.now) == 0 {
                *state = charge.policy.fresh(self.now);
            }
        }
    }

    /// Holds the weight wherever there is a holder, when all that is enforced has room.
    fn reserve(&mut self, id: HoldId, fits: &[bool]) -> Option<u64> {
        let group_fits = |group| {
            let charges = self.plan.charges.iter().zip(fits);
            charges.filter(|(charge, _)| charge.group == group).all(|(_, fits)| *fits)
        };
        if !group_fits(ENFORCED) {
            return None;
        }
        let counts: Vec<_> = self.plan.holders.iter().map(|holder| group_fits(holder.group)).collect();
        let token = self.holdings.iter().map(|holding| holding.next_token(self.now)).max()?;
        for (number, counts) in counts.into_iter().enumerate() {
            self.hold(number, id, counts);
            self.holdings[number].set_token(token);
        }
        Some(token.unsigned_abs())
    }

    fn hold(&mut self, number: usize, id: HoldId, counts: bool) {
        let (holder, end) = (&self.plan.holders[number], self.now + self.plan.holders[number].lease);
        let lease = Lease { weight: holder.weight, counts, price: self.plan.own_price(number) };
        self.holdings[number].hold(id, end, lease);
        self.keep(number, end);
    }

    /// Keeps a holding until what is charged at the end of a lease would be gone.
    fn keep(&mut self, number: usize, end: Micros) {
        let states = self.plan.charges.iter().zip(&self.states);
        let own = states.filter(|(charge, _)| charge.holder == Some(number));
        let longest =
            own.map(|(charge, state)| charge.policy.longest() + charge.policy.overdraft(state, self.now));
        let until = end + longest.max().unwrap_or(0);
        let holding = &mut self.holdings[number];
        holding.kept_until = holding.kept_until.max(until);
    }

    fn conclude(&mut self, index: usize, op: Op, fits: bool, permitted: bool) -> Outcome {
        let charge = &self.plan.charges[index];
        let holding = charge.holder.map(|holder| &self.holdings[holder]);
        // What has nothing to hold is charged at once.
        let op = if op == Op::Reserve && holding.is_none() { Op::Check } else { op };
        let state = &mut self.states[index];
        let held = holding.map_or(0.0, Holding::held);
        if let (State::Leases(leases), Some(holding)) = (&mut *state, holding) {
            leases.last_at = holding.last_end().unwrap_or(0);
        }
        let demand = Demand { op, cost: charge.cost, now: self.now };
        let outcome = charge.policy.conclude_beside(state, demand, fits, permitted, held);
        match holding.filter(|holding| op == Op::Reserve && !fits && holding.is_full()) {
            Some(full) => outcome.until(full.first_end().map_or(0, |end| end - self.now)),
            None => outcome,
        }
    }

    fn renew(&mut self, id: &HoldId) -> bool {
        let mut renewed = true;
        for number in 0..self.holdings.len() {
            let end = self.now + self.plan.holders[number].lease;
            if self.holdings[number].renew(id, end) {
                self.keep(number, end);
            } else {
                renewed = false;
            }
        }
        renewed
    }

    fn finish(&mut self, id: &HoldId, charges: bool) -> Option<bool> {
        let before = self.holdings.clone();
        let ended: Vec<_> = self.holdings.iter_mut().map(|holding| holding.end(id)).collect();
        let used = |index| if charges { self.used(index, &ended) } else { 0.0 };
        let costs: Vec<_> = (0..self.states.len()).map(used).collect();
        let bears = |(index, cost): (usize, &f64)| {
            self.plan.charges[index].policy.bears(&self.states[index], self.now, *cost)
        };
        if !costs.iter().enumerate().all(bears) {
            self.holdings = before;
            return None;
        }
        for (index, cost) in costs.into_iter().enumerate().filter(|(_, cost)| *cost > 0.0) {
            self.plan.charges[index].policy.charge(&mut self.states[index], self.now, cost);
        }
        for number in 0..self.holdings.len() {
            self.keep_on(number);
        }
        Some(ended.iter().all(Option::is_some))
    }

    /// What a commit charges to a limit: nothing where the reservation is not held and, where it holds nothing, no
    /// more than there is room for.
    fn used(&self, index: usize, ended: &[Option<Lease>]) -> f64 {
        let charge = &self.plan.charges[index];
        let lease = charge.holder.and_then(|holder| ended[holder]);
        match lease {
            None => 0.0,
            Some(lease) if lease.counts => charge.cost,
            Some(_) => charge.cost.min(self.room_of_group(charge.group, ended)),
        }
    }

    /// What all limits of a rule in shadow have room for.
    fn room_of_group(&self, group: usize, ended: &[Option<Lease>]) -> f64 {
        let own = self.plan.charges.iter().zip(&self.states).filter(|(charge, _)| {
            let lease = charge.holder.and_then(|holder| ended[holder]);
            charge.group == group && lease.is_some_and(|lease| !lease.counts)
        });
        let room = own.map(|(charge, state)| charge.policy.room(state, self.now) - self.held(charge));
        room.fold(f64::INFINITY, f64::min).max(0.0)
    }

    /// After something was charged: an overdraft makes what is still held count longer; where nothing is, the token
    /// is kept for a lease.
    fn keep_on(&mut self, number: usize) {
        let end = self.now + self.plan.holders[number].lease;
        if self.holdings[number].is_empty() && self.holdings[number].kept_until > 0 {
            self.holdings[number].kept_until = end;
        } else if self.is_overdrawn(number) {
            self.keep(number, end);
        }
    }

    fn is_overdrawn(&self, number: usize) -> bool {
        let overdraft = |charge: &Charge<'_>, state| charge.policy.overdraft(state, self.now);
        let states = self.plan.charges.iter().zip(&self.states);
        states
            .into_iter()
            .any(|(charge, state)| charge.holder == Some(number) && overdraft(charge, state) > 0)
    }
}
