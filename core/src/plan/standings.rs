//! Blocks, and limits of single keys, in the books of a call: the twin of `standings.lua`.

use std::mem;

use super::{Books, Op, Outcome, SmallList, StandingChange};
use crate::algorithm::{Leases, Policy, Standing, State};

impl Books<'_> {
    /// The policy of a charge: that of a stored limit unless the call brought one.
    #[inline]
    pub(super) fn policy(&self, index: usize) -> &Policy {
        let charge = &self.plan.charges[index];
        let stored = self.stored[index].as_ref().filter(|_| charge.amount.is_none());
        stored.unwrap_or(&charge.policy)
    }

    /// The standing of a charge's key.
    fn standing(&self, index: usize) -> Option<&Standing> {
        self.plan.charges[index].stander.map(|stander| &self.standings[stander])
    }

    /// Puts limits that are stored in the place of the rules'.
    #[inline]
    pub(super) fn take_stored(&mut self) {
        self.standings.iter_mut().for_each(|standing| standing.heal(self.now));
        for (index, charge) in self.plan.charges.iter().enumerate() {
            let stored = charge.stander.and_then(|stander| self.standings[stander].limit(self.now));
            self.stored[index] = stored.and_then(|stored| charge.rule.policy_at(stored));
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
        let Some(standing) = self.standing(index) else { return outcome };
        let stored_limit = standing.limit(self.now).filter(|_| self.plan.charges[index].takes_stored());
        let blocked_for = standing.blocked_until(self.now).map_or(0, |until| until - self.now);
        Outcome { stored_limit: stored_limit.unwrap_or(0), blocked_for, ..outcome }
    }

    /// The keys, as indices of standers, that are denied by limits of their own: not for what is held.
    #[inline]
    pub(super) fn denied(&self, op: Op) -> SmallList<usize> {
        let is_denied = |index: &usize| {
            let cost = self.plan.charges[*index].cost;
            !self.policy(*index).fits(&self.states[*index], self.now, cost)
        };
        let indices = 0..if matches!(op, Op::Check | Op::Reserve) { self.states.len() } else { 0 };
        indices.filter(is_denied).filter_map(|index| self.plan.charges[index].stander).collect()
    }

    /// The keys whose limits have no room for a cost of 1.
    pub(super) fn overdrawn(&self) -> SmallList<usize> {
        let has_no_room = |index: &usize| !self.policy(*index).fits(&self.states[*index], self.now, 1.0);
        let indices = (0..self.states.len()).filter(has_no_room);
        indices.filter_map(|index| self.plan.charges[index].stander).collect()
    }

    /// Begins blocks where none is.
    #[inline]
    pub(super) fn block(&mut self, denied: &[usize]) {
        for &at in denied {
            let (blocking, standing) = (self.plan.standers[at].blocking(), &mut self.standings[at]);
            if blocking.first_block > 0 && standing.blocked_until(self.now).is_none() {
                standing.begin_block(&blocking, self.now);
            }
        }
    }

    /// Changes what stands beside the states of the one key of a plan: whether that took effect.
    pub(crate) fn change(&mut self, change: StandingChange) -> bool {
        let (now, standing) = (self.now, self.standings.first_mut());
        standing.zip(self.plan.standers.first()).is_some_and(|(standing, stander)| {
            standing.heal(now);
            standing.change(change, &stander.blocking(), now)
        })
    }
}
