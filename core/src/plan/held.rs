//! One limit and what is held of it. The loaded states of a call use it for each of their limits; a call about one limit alone
//! uses a [`SingleLimit`] in their place.

use std::mem;

use super::{Op, Outcome};
use crate::algorithm::{Demand, HoldId, Holding, Lease, Micros, Policy, State};

/// How a reservation is ended, or kept alive.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Ends it, and charges the plan's costs.
    Commit,
    /// Ends it, and charges nothing.
    Release,
    /// Renews its lease.
    Renew,
}

/// A limit at a time, with what is held of it where its rule has reservations.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeldLimit<'a> {
    pub(super) policy: &'a Policy,
    pub(super) holding: Option<&'a Holding>,
    pub(super) now: Micros,
}

impl HeldLimit<'_> {
    /// The weight that is held of it.
    #[inline(always)]
    pub(super) fn held(self) -> f64 {
        self.holding.map_or(0.0, Holding::held)
    }

    /// Makes a state ready to be asked for `cost`.
    pub(super) fn advance(self, state: &mut State, cost: f64) {
        if self.policy.is_ahead(state, self.now) {
            self.policy.advance(state, self.now);
        }
        if let (State::Leases(leases), Some(holding)) = (state, self.holding) {
            *leases = holding.leases(self.policy.most() as f64, cost);
        }
    }

    /// Whether there is room for `cost` beside what is held.
    pub(super) fn fits(self, state: &State, op: Op, cost: f64) -> bool {
        let is_full = || self.holding.is_some_and(Holding::is_full);
        self.policy.fits(state, self.now, cost + self.held()) && !(op == Op::Reserve && is_full())
    }

    /// Carries out an operation of which it is known whether the cost `fits`.
    pub(super) fn apply(
        self,
        state: &mut State,
        (op, cost): (Op, f64),
        (fits, permitted): (bool, bool),
    ) -> Outcome {
        if let (State::Leases(leases), Some(holding)) = (&mut *state, self.holding) {
            leases.last_at = holding.last_end().unwrap_or(0);
        }
        let demand = Demand { op, cost, now: self.now };
        let full = self.holding.filter(|holding| op == Op::Reserve && !fits && holding.is_full());
        // A limit that has room has nothing to wait for but a lease.
        let has_room = fits || full.is_some() && self.policy.fits(state, self.now, cost + self.held());
        let outcome = self.policy.apply_beside(state, demand, has_room, permitted, self.held());
        match full {
            Some(full) => outcome.until(full.first_end().map_or(0, |end| end - self.now)),
            None => outcome,
        }
    }

    /// What there is room for beside what is held.
    pub(super) fn room(self, state: &State) -> f64 {
        self.policy.room(state, self.now) - self.held()
    }

    /// How long a charge counts at most that is made when a lease ends.
    pub(super) fn lasts(self, state: &State) -> Micros {
        self.policy.longest() + self.overdraft(state)
    }

    /// By how much longer a charge counts because the state is overdrawn, or will be when all that is held is charged.
    pub(super) fn overdraft(self, state: &State) -> Micros {
        self.policy.overdraft(state, self.now, self.held())
    }

    /// Until when a state is to be kept; `None`: it is as if never seen. What is held may be charged to it long after it
    /// ended, as it was then.
    pub(super) fn kept_until(self, state: &State) -> Option<Micros> {
        let ends = self.now + self.policy.reset_after(state, self.now);
        let held = self.holding.filter(|holding| !holding.is_empty());
        (ends > self.now).then(|| ends.max(held.map_or(0, |holding| holding.kept_until)))
    }

    /// Until when a state stays as it is, however long it is over, because a lease that ended is yet to be charged to
    /// it: a reset of a key leaves that to the next call.
    pub(super) fn due_until(self) -> Option<Micros> {
        let due = self.holding.filter(|holding| holding.first_end().is_some_and(|end| end <= self.now));
        due.map(|holding| holding.kept_until)
    }
}

/// What a commit charges for a lease: where that holds nothing, no more than there is `room` for.
#[inline(always)]
pub(super) fn used(lease: &Lease, cost: f64, room: impl FnOnce() -> f64) -> f64 {
    if lease.counts { cost } else { cost.min(room().max(0.0)) }
}

/// Charges a lease that ended: to the limit as the rule states it, or as it is stored for the key.
#[inline(always)]
pub(super) fn charge_ended(
    (policy, stated): (&Policy, &Policy),
    (state, is_new): (&mut State, &mut bool),
    (end, lease): (Micros, &Lease),
    now: Micros,
) {
    if mem::take(is_new) {
        *state = policy.fresh(end);
    }
    stated.charge_late(state, end, now, lease);
}

/// The only limit of a rule, for one key: its policy and state, and what is held of it.
#[derive(Debug)]
pub(crate) struct SingleLimit<'a> {
    pub(crate) policy: &'a Policy,
    /// The policy at the limit that the rule states; a call may bring another.
    pub(crate) stated: &'a Policy,
    pub(crate) state: &'a mut State,
    /// Whether the state was never seen: it has no time yet.
    pub(crate) is_new: bool,
    pub(crate) holding: &'a mut Holding,
    pub(crate) lease: Micros,
    pub(crate) now: Micros,
}

impl SingleLimit<'_> {
    /// Reserves a lease's weight: the outcome, and the fencing token where it is reserved. In shadow what has no room is
    /// reserved too, and holds nothing.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, id: HoldId, lease: Lease, shadow: bool) -> (Outcome, Option<u64>) {
        let cost = lease.weight;
        self.advance(cost);
        let fits = self.limit().fits(self.state, Op::Reserve, cost);
        let token = (fits || shadow).then(|| self.hold(id, Lease { counts: fits, ..lease }));
        let limit = HeldLimit { policy: self.policy, holding: Some(self.holding), now: self.now };
        (limit.apply(self.state, (Op::Reserve, cost), (fits, fits)), token)
    }

    /// Ends or renews a reservation: whether it was held. `None`: the charge could not be counted, and nothing was done.
    #[inline(always)]
    pub(crate) fn end(&mut self, end: End, id: &HoldId, cost: f64) -> Option<bool> {
        self.advance(cost);
        match end {
            End::Renew => Some(self.renew(id)),
            End::Commit => self.finish(id, cost),
            End::Release => self.finish(id, 0.0),
        }
    }

    /// Until when the state is to be kept; `None`: it is as if never seen.
    #[inline(always)]
    pub(crate) fn kept_until(&self) -> Option<Micros> {
        self.limit().kept_until(self.state)
    }

    #[inline(always)]
    fn limit(&self) -> HeldLimit<'_> {
        HeldLimit { policy: self.policy, holding: Some(self.holding), now: self.now }
    }

    /// How long a charge counts at most that is made when a lease ends, by the limit that the rule states too.
    #[inline(always)]
    fn lasts(&self) -> Micros {
        self.limit().lasts(self.state).max(self.policy.longest_by(self.stated))
    }

    /// Charges what was held until its lease ended, before anything else.
    #[inline(always)]
    fn advance(&mut self, cost: f64) {
        self.holding.heal(self.now);
        while let Some((end, lease)) = self.holding.pop_ended(self.now) {
            if lease.counts {
                let policies = (self.policy, self.stated);
                charge_ended(policies, (self.state, &mut self.is_new), (end, &lease), self.now);
            }
        }
        let limit = HeldLimit { policy: self.policy, holding: Some(self.holding), now: self.now };
        limit.advance(self.state, cost);
    }

    #[inline(always)]
    fn hold(&mut self, id: HoldId, lease: Lease) -> u64 {
        let token = self.holding.next_token(self.now);
        let end = self.holding.begin(id, (self.now, self.lease), lease);
        self.holding.keep(end + self.lasts());
        self.holding.set_token(token);
        token.unsigned_abs()
    }

    #[inline(always)]
    fn renew(&mut self, id: &HoldId) -> bool {
        let end = self.now + self.lease;
        let renewed = self.holding.renew(id, self.now, self.lease);
        if renewed {
            self.holding.keep(end + self.lasts());
        }
        renewed
    }

    #[inline(always)]
    fn finish(&mut self, id: &HoldId, cost: f64) -> Option<bool> {
        let ended = self.holding.end(id);
        let used = |(_, lease): &(Micros, Lease)| used(lease, cost, || self.limit().room(self.state));
        let cost = ended.as_ref().map_or(0.0, used);
        if cost > 0.0 && !self.policy.bears(self.state, self.now, cost) {
            if let Some((end, lease)) = ended {
                self.holding.hold(*id, end, lease);
            }
            return None;
        }
        if cost > 0.0 {
            self.policy.charge(self.state, self.now, cost);
        }
        let is_overdrawn = self.limit().overdraft(self.state) > 0;
        let lasts = is_overdrawn.then(|| self.lasts());
        self.holding.keep_on(self.now + self.lease, lasts);
        Some(ended.is_some())
    }
}
