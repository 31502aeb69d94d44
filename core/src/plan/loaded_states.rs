//! What a call does to states beside which something is held, or stands: the twin of the scripts with `holdings.lua`
//! and `key_records.lua`.

use smallvec::{SmallVec, smallvec};

use super::held::{HeldLimit, charge_ended};
use super::{Charge, Fingerprint, Op, Outcome, Plan, SmallList};
use crate::algorithm::{Answered, HoldId, Holding, KeyRecord, Micros, Policy, State};
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
    pub(super) fn advance(&mut self) {
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
    pub(super) fn limit(&self, index: usize) -> HeldLimit<'_> {
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

    #[inline]
    fn apply(&mut self, index: usize, op: Op, fits: bool, permitted: bool) -> Outcome {
        let charge = &self.plan.charges[index];
        // What has nothing to hold is charged at once.
        let op = if op == Op::Reserve && charge.holder.is_none() { Op::Check } else { op };
        self.with_state(index, |loaded, _, state| {
            loaded.limit(index).apply(state, (op, charge.cost), (fits, permitted))
        })
    }
}
