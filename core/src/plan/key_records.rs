//! Blocks, and limits of single keys, in the loaded states of a call: the twin of `key_records.lua`.

use std::mem;

use super::{KeyRecordChange, LoadedStates, Op, Outcome, SmallList};
use crate::algorithm::{KeyRecord, Leases, Policy, State};

impl LoadedStates<'_> {
    /// The policy of a charge: that of a stored limit unless the call brought one.
    #[inline]
    pub(super) fn policy(&self, index: usize) -> &Policy {
        let charge = &self.plan.charges[index];
        let stored = self.stored[index].as_ref().filter(|_| charge.amount.is_none());
        stored.unwrap_or(&charge.policy)
    }

    /// The record of a charge's key.
    fn key_record(&self, index: usize) -> Option<&KeyRecord> {
        self.plan.charges[index].recorded_key.map(|recorded_key| &self.key_records[recorded_key])
    }

    /// Puts limits that are stored in the place of the rules'.
    #[inline]
    pub(super) fn take_stored(&mut self) {
        self.key_records.iter_mut().for_each(|key_record| key_record.heal(self.now));
        for (index, charge) in self.plan.charges.iter().enumerate() {
            let stored =
                charge.recorded_key.and_then(|recorded_key| self.key_records[recorded_key].limit(self.now));
            self.stored[index] =
                stored.and_then(|stored| charge.rule.policy_at(stored, || charge.rule.burst()));
            if self.is_new[index] {
                self.states[index] = self.policy(index).fresh(self.now);
            }
        }
    }

    /// Does some work on the state of a charge.
    #[inline]
    pub(super) fn with_state<T>(
        &mut self,
        index: usize,
        work: impl FnOnce(&Self, &Policy, &mut State) -> T,
    ) -> T {
        let mut state = mem::replace(&mut self.states[index], State::Leases(Leases::default()));
        let done = work(self, self.policy(index), &mut state);
        self.states[index] = state;
        done
    }

    /// What stands beside a state changes its outcome.
    #[inline]
    pub(super) fn beside(&self, index: usize, outcome: Outcome) -> Outcome {
        let Some(key_record) = self.key_record(index) else { return outcome };
        let stored_limit = key_record.limit(self.now).filter(|_| self.plan.charges[index].takes_stored());
        let blocked_for = key_record.blocked_until(self.now).map_or(0, |until| until - self.now);
        let stored_ends = stored_limit.is_some() && key_record.limit_ends();
        Outcome { stored_limit: stored_limit.unwrap_or(0), stored_ends, blocked_for, ..outcome }
    }

    /// The keys, as indices of `recorded_keys`, that are denied by limits of their own: not for what is held.
    #[inline]
    pub(super) fn denied(&self, op: Op) -> SmallList<usize> {
        let is_denied = |index: &usize| {
            let cost = self.plan.charges[*index].cost;
            !self.policy(*index).fits(&self.states[*index], self.now, cost)
        };
        let indices = 0..if matches!(op, Op::Check | Op::Reserve) { self.states.len() } else { 0 };
        indices.filter(is_denied).filter_map(|index| self.plan.charges[index].recorded_key).collect()
    }

    /// The keys whose limits have no room for a cost of 1.
    pub(super) fn overdrawn(&self) -> SmallList<usize> {
        let has_no_room = |index: &usize| !self.policy(*index).fits(&self.states[*index], self.now, 1.0);
        let indices = (0..self.states.len()).filter(has_no_room);
        indices.filter_map(|index| self.plan.charges[index].recorded_key).collect()
    }

    /// Begins blocks where none is.
    #[inline]
    pub(super) fn block(&mut self, denied: &[usize]) {
        for &at in denied {
            let (blocking, key_record) = (self.plan.recorded_keys[at].blocking(), &mut self.key_records[at]);
            if blocking.first_block > 0 && key_record.blocked_until(self.now).is_none() {
                key_record.begin_block(&blocking, self.now);
            }
        }
    }

    /// Changes what stands beside the states of the one key of a plan: whether that took effect.
    pub(crate) fn change(&mut self, change: KeyRecordChange) -> bool {
        let (now, key_record) = (self.now, self.key_records.first_mut());
        key_record.zip(self.plan.recorded_keys.first()).is_some_and(|(key_record, recorded_key)| {
            key_record.heal(now);
            key_record.change(change, &recorded_key.blocking(), now)
        })
    }
}
