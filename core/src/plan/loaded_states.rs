//! What a call does to states beside which something is held, or stands: the twin of the scripts with `holdings.lua`
//! and `key_records.lua`.

use smallvec::{SmallVec, smallvec};

use super::held::{End, HeldLimit, charge_ended, used};
use super::{Charge, ENFORCED, Fingerprint, Op, Outcome, Plan, SmallList};
use crate::algorithm::{Answered, HoldId, Holding, KeyRecord, Lease, Micros, Policy, State};
use crate::rules::Scope;

/// The states, holdings and key records that a call touches, in the order of the plan's charges, holders and recorded keys.
#[derive(Debug)]
pub(crate) struct LoadedStates<'a> {
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) now: Micros,
    pub(crate) states: SmallList<State>,
    /// Which of them were never seen: they have no time yet.
    pub(super) is_new: SmallList<bool>,
    /// In the boxes in which they are kept.
    pub(crate) holdings: SmallList<Box<Holding>>,
    pub(super) key_records: SmallList<KeyRecord>,
    /// For each charge, the rule's policy at the limit that is stored for the key, where one is.
    pub(super) stored: SmallList<Option<Policy>>,
    /// What was answered to the request, if the plan has one.
    answered: Option<Box<Answered>>,
    /// Whether the clock has stepped back since, so that the answer ends earlier than is kept.
    pub(crate) is_answer_healed: bool,
}

/// What was taken out of a holding, and when its lease would have ended.
type Ended = Option<(Micros, Lease)>;

impl<'a> LoadedStates<'a> {
    /// The states of keys never seen, in which what is held is yet to be entered.
    #[inline]
    pub(crate) fn new(plan: &'a Plan<'a>, now: Micros) -> Self {
        let states: SmallList<_> = plan.charges.iter().map(|charge| charge.policy.fresh(now)).collect();
        let (is_new, stored) = (smallvec![true; states.len()], states.iter().map(|_| None).collect());
        let key_records = smallvec![KeyRecord::default(); plan.recorded_keys.len()];
        let holdings = SmallList::with_capacity(plan.holders.len());
        Self {
            plan,
            now,
            states,
            is_new,
            holdings,
            key_records,
            stored,
            answered: None,
            is_answer_healed: false,
        }
    }

    /// Enters what is kept: for a charge or, after them, for a holder, a recorded key or, after these, for the request; in
    /// this order. (`concurrency` keeps nothing else than what is held.)
    #[inline]
    pub(crate) fn open(&mut self, index: usize, kept: Option<State>) {
        let charges = self.states.len();
        let held = charges..charges + self.plan.holders.len();
        if held.contains(&index) {
            self.holdings.push(match kept {
                Some(State::Holding(holding)) => holding,
                _ => Box::default(),
            });
            return;
        }
        match kept {
            Some(State::KeyRecord(key_record)) => {
                let before = held.end;
                if let Some(own) = index.checked_sub(before).and_then(|at| self.key_records.get_mut(at)) {
                    *own = *key_record;
                }
            }
            Some(State::Answered(answered)) => self.open_answer(answered),
            Some(state) => {
                if let (Some(own), Some(is_new)) = (self.states.get_mut(index), self.is_new.get_mut(index)) {
                    (*own, *is_new) = (state, false);
                }
            }
            None => {}
        }
    }

    /// After a step of the clock back, the answer is one that was given now.
    fn open_answer(&mut self, mut answered: Box<Answered>) {
        let latest = self.now + answered.length;
        if answered.ends > latest {
            (answered.ends, self.is_answer_healed) = (latest, true);
        }
        self.answered = Some(answered);
    }

    /// What is to be kept, in the same order, each with the time until which; `None`: nothing.
    #[inline]
    pub(crate) fn close(self) -> SmallVec<[Option<(State, Micros)>; 2]> {
        let Self { plan, now, states, is_new, holdings, key_records, stored, answered, .. } = self;
        let states: SmallList<_> = plan
            .charges
            .iter()
            .zip(states.into_iter().zip(is_new))
            .zip(&stored)
            .map(|((charge, (state, is_new)), stored)| {
                let policy = stored.as_ref().filter(|_| charge.amount.is_none()).unwrap_or(&charge.policy);
                let holding = charge.holder.map(|holder| &*holdings[holder]);
                let limit = HeldLimit { policy, holding, now };
                let ends = limit
                    .kept_until(&state)
                    .or_else(|| limit.due_until().filter(|ends| !is_new && *ends > now));
                ends.map(|ends| (state, ends))
            })
            .collect();
        let holdings = holdings.into_iter().map(|holding| {
            let ends = holding.kept_until;
            (ends > now).then(|| (State::Holding(holding), ends))
        });
        let key_records = plan.recorded_keys.iter().zip(key_records).map(|(recorded_key, key_record)| {
            let ends = key_record.kept_until(&recorded_key.blocking());
            (ends > now).then(|| (State::KeyRecord(Box::new(key_record)), ends))
        });
        let answered = plan.request.iter().zip([answered]).map(|(_, answered)| {
            let ends = answered.as_ref().map_or(0, |answered| answered.ends);
            answered.map(|answered| (State::Answered(answered), ends))
        });
        states.into_iter().chain(holdings).chain(key_records).chain(answered).collect()
    }
}

impl LoadedStates<'_> {
    /// Decides: one outcome per charge, and the fencing token of what was reserved.
    #[inline]
    pub(crate) fn decide(&mut self, op: Op, id: HoldId) -> (SmallList<Outcome>, Option<u64>) {
        self.advance();
        if op == Op::Charge && !self.bears_all() {
            return (smallvec![Outcome::NONE; self.plan.charges.len()], None);
        }
        if op == Op::Refund {
            self.refund();
        }
        let indices: SmallList<_> = (0..self.states.len()).collect();
        let was_blocked: SmallList<_> =
            self.key_records.iter().map(|it| it.blocked_until(self.now).is_some()).collect();
        let is_blocked =
            |index: usize| self.plan.charges[index].recorded_key.is_some_and(|at| was_blocked[at]);
        let fits: SmallList<_> = indices.iter().map(|&index| self.fits(index, op)).collect();
        let has_room: SmallList<_> = indices.iter().map(|&index| fits[index] && !is_blocked(index)).collect();
        let permitted = self.plan.permitted(&indices, &has_room);
        let mut denied = self.denied(op);
        let token = if op == Op::Reserve { self.reserve(id, &has_room) } else { None };
        let mut outcomes = SmallList::with_capacity(indices.len());
        for index in indices {
            // A key that is blocked counts nothing, also where denied costs count. (What has nothing to hold is reserved
            // by a check.)
            let takes = op == Op::Check || op == Op::Reserve && self.plan.charges[index].holder.is_none();
            let op = if takes && is_blocked(index) { Op::Peek } else { op };
            outcomes.push(self.apply(index, op, fits[index], permitted[index]));
        }
        if op == Op::Charge {
            denied = self.overdrawn();
            (0..self.holdings.len()).for_each(|number| self.keep_on(number));
        }
        self.block(&denied);
        (outcomes.into_iter().enumerate().map(|(index, it)| self.beside(index, it)).collect(), token)
    }

    /// What was answered to the request already, if the plan has one: then nothing is changed.
    pub(crate) fn answered(&self) -> Option<&Answered> {
        self.answered.as_deref().filter(|answered| answered.ends > self.now)
    }

    /// Decides what has a request id once, and keeps the answer for `lifetime`. `None`: the id is of another call.
    pub(crate) fn decide_once(
        &mut self,
        op: Op,
        fingerprint: Fingerprint,
        lifetime: Micros,
    ) -> Option<SmallList<Outcome>> {
        if let Some(answered) = self.answered() {
            let repeats = answered.fingerprint == fingerprint && self.plan.answered_on(&answered.terms);
            return repeats.then(|| answered.outcomes.as_slice().into());
        }
        let outcomes = self.decide(op, HoldId::default()).0;
        // What is refused is no answer.
        let is_answer = op != Op::Charge || outcomes.iter().all(|outcome| outcome.changed);
        self.answered = is_answer.then(|| {
            let ends = self.now + lifetime;
            let terms = self.plan.charges.iter().map(|charge| charge.policy.terms()).collect();
            Box::new(Answered { fingerprint, ends, length: lifetime, outcomes: outcomes.to_vec(), terms })
        });
        Some(outcomes)
    }

    /// Whether something is held.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.holdings.iter().any(|holding| holding.held() > 0.0)
    }

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

    /// Forgets what a reset is to forget. Tokens grow on as long as a lease lasts.
    pub(crate) fn forget(&mut self) {
        let counts_keys = self.plan.counts_keys();
        let states = self.states.iter_mut().zip(&mut self.is_new);
        for (charge, (state, is_new)) in self.plan.charges.iter().zip(states) {
            if !counts_keys || charge.limit.scope == Scope::Key {
                (*state, *is_new) = (charge.policy.fresh(self.now), true);
            }
        }
        for (holder, holding) in self.plan.holders.iter().zip(&mut self.holdings) {
            if holder.scope == Scope::Key {
                holding.clear();
                holding.kept_until = self.now + holder.lease;
            }
        }
        for (recorded_key, key_record) in self.plan.recorded_keys.iter().zip(&mut self.key_records) {
            key_record.heal(self.now);
            key_record.forget(recorded_key.key_records.overrides);
        }
    }

    /// Charges what was held until its lease ended, before anything else.
    #[inline]
    fn advance(&mut self) {
        self.take_stored();
        for number in 0..self.holdings.len() {
            self.holdings[number].heal(self.now);
            while let Some((end, lease)) = self.holdings[number].pop_ended(self.now) {
                for (index, charge) in self.plan.charges.iter().enumerate() {
                    if charge.holder == Some(number) && lease.counts {
                        let mut is_new = self.is_new[index];
                        self.with_state(index, |loaded, policy, state| {
                            let stated = loaded.stored[index].as_ref().unwrap_or(&charge.limit.policy);
                            charge_ended((policy, stated), (state, &mut is_new), (end, &lease), loaded.now);
                        });
                        self.is_new[index] = is_new;
                    }
                }
            }
        }
        for (index, charge) in self.plan.charges.iter().enumerate() {
            self.with_state(index, |loaded, _, state| loaded.limit(index).advance(state, charge.cost));
        }
    }

    /// The limit of a charge.
    #[inline]
    fn limit(&self, index: usize) -> HeldLimit<'_> {
        let holding = self.plan.charges[index].holder.map(|holder| &*self.holdings[holder]);
        HeldLimit { policy: self.policy(index), holding, now: self.now }
    }

    #[inline]
    fn fits(&self, index: usize, op: Op) -> bool {
        self.limit(index).fits(&self.states[index], op, self.plan.charges[index].cost)
    }

    fn bears_all(&self) -> bool {
        let bears = |(index, charge): (usize, &Charge<'_>)| {
            self.policy(index).bears(&self.states[index], self.now, charge.cost)
        };
        self.plan.charges.iter().enumerate().all(bears)
    }

    fn refund(&mut self) {
        for (index, charge) in self.plan.charges.iter().enumerate() {
            self.with_state(index, |loaded, policy, state| {
                policy.refund(state, loaded.now, charge.cost, None);
                if policy.reset_after(state, loaded.now) == 0 {
                    *state = policy.fresh(loaded.now);
                }
            });
        }
    }

    /// Holds the weight wherever there is a holder, when all that is enforced has room.
    #[inline]
    fn reserve(&mut self, id: HoldId, fits: &[bool]) -> Option<u64> {
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
    fn apply(&mut self, index: usize, op: Op, fits: bool, permitted: bool) -> Outcome {
        let charge = &self.plan.charges[index];
        // What has nothing to hold is charged at once.
        let op = if op == Op::Reserve && charge.holder.is_none() { Op::Check } else { op };
        self.with_state(index, |loaded, _, state| {
            loaded.limit(index).apply(state, (op, charge.cost), (fits, permitted))
        })
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
    fn keep_on(&mut self, number: usize) {
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
