//! Sliding buckets: a count per slot of the window.

use std::collections::VecDeque;

use super::interface::Algorithm;
use super::numbers::{Numbers, count, flag, micros};
use crate::time::clock::Micros;

#[derive(Debug, Clone)]
pub(crate) struct SlidingBuckets {
    pub(crate) limit: f64,
    pub(crate) window: Micros,
    /// Length of a slot.
    pub(crate) resolution: Micros,
    pub(crate) count_denied: bool,
}

/// The newest slot, and the others that are not empty, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buckets {
    slot: i64,
    current: f64,
    past: f64,
    pairs: VecDeque<(i64, f64)>,
}

impl SlidingBuckets {
    #[inline(always)]
    fn slot(&self, at: Micros) -> i64 {
        at.div_euclid(self.resolution)
    }

    #[inline(always)]
    fn is_live(&self, slot: i64, now: Micros) -> bool {
        self.gone_at(slot) > now
    }

    #[inline(always)]
    fn sum(&self, state: &Buckets, now: Micros) -> f64 {
        if !self.is_live(state.slot, now) {
            return 0.0;
        }
        let counted = state.past + state.current;
        match state.pairs.front() {
            Some(oldest) if !self.is_live(oldest.0, now) => counted - self.gone(state, now),
            _ => counted,
        }
    }

    /// What was counted in slots that are gone.
    #[cold]
    fn gone(&self, state: &Buckets, now: Micros) -> f64 {
        let gone = state.pairs.iter().take_while(|pair| !self.is_live(pair.0, now));
        gone.map(|pair| pair.1).sum()
    }

    /// The instant at which a slot is gone.
    #[inline(always)]
    fn gone_at(&self, slot: i64) -> Micros {
        slot * self.resolution + self.window
    }
}

impl Algorithm for SlidingBuckets {
    type State = Buckets;

    fn fresh(&self, now: Micros) -> Buckets {
        Buckets { slot: self.slot(now), ..Buckets::default() }
    }

    fn is_ahead(&self, state: &Buckets, now: Micros) -> bool {
        state.slot > self.slot(now)
    }

    fn advance(&self, state: &mut Buckets, now: Micros) {
        let slot = self.slot(now);
        if state.slot < slot && state.current > 0.0 {
            state.pairs.push_back((state.slot, state.current));
            state.past += state.current;
            state.current = 0.0;
        }
        while let Some((_, ahead)) = state.pairs.pop_back_if(|pair| pair.0 >= slot) {
            state.current += ahead;
            state.past -= ahead;
        }
        state.slot = slot;
        while let Some((_, old)) = state.pairs.pop_front_if(|pair| !self.is_live(pair.0, now)) {
            state.past -= old;
        }
    }

    fn price(&self, cost: f64) -> f64 {
        cost
    }

    fn room(&self, state: &Buckets, now: Micros) -> f64 {
        self.limit - self.sum(state, now)
    }

    fn charge(&self, state: &mut Buckets, _now: Micros, amount: f64) {
        state.current += amount;
    }

    fn refund(&self, state: &mut Buckets, _now: Micros, mut amount: f64, charged_at: Option<Micros>) {
        let due = |slot| charged_at.is_none_or(|at| self.slot(at) == slot);
        if due(state.slot) {
            let taken = amount.min(state.current);
            state.current -= taken;
            amount -= taken;
        }
        for (_, count) in state.pairs.iter_mut().rev().filter(|pair| due(pair.0)) {
            let taken = amount.min(*count);
            *count -= taken;
            amount -= taken;
            state.past -= taken;
        }
        state.pairs.retain(|pair| pair.1 > 0.0);
    }

    fn retry_after(&self, state: &Buckets, now: Micros, cost: f64) -> Micros {
        let mut surplus = self.sum(state, now) + cost - self.limit;
        for &(slot, count) in state.pairs.iter().skip_while(|pair| !self.is_live(pair.0, now)) {
            surplus -= count;
            if surplus <= 0.0 {
                return self.gone_at(slot) - now;
            }
        }
        self.gone_at(state.slot) - now
    }

    #[inline(always)]
    fn reset_after(&self, state: &Buckets, now: Micros) -> Micros {
        let newest = match state.pairs.back() {
            _ if state.current > 0.0 => state.slot,
            Some(&(slot, _)) => slot,
            None => return 0,
        };
        (self.gone_at(newest) - now).max(0)
    }

    fn most(&self) -> f64 {
        self.limit
    }

    fn counts_denied(&self) -> bool {
        self.count_denied
    }

    fn numbers(&self, cost: f64, out: &mut Numbers) {
        out.extend([cost, self.limit, self.window as f64, self.resolution as f64, flag(self.count_denied)]);
    }

    /// The reply is a summary: the head, the newest slot of the past, and the slot that must go before
    /// `cost` fits. Buckets with the same summary answer every question about this cost alike.
    fn parse(&self, numbers: &[f64], cost: f64) -> Option<Buckets> {
        let &[_now, slot, current, past, newest, pivot] = numbers else { return None };
        let slot = micros(slot)?;
        let (newest, pivot) = (micros(newest)?.min(slot), micros(pivot)?.min(slot));
        let (current, past) = (count(current)?, count(past)?);
        let mut buckets = Buckets { slot, current, past, pairs: VecDeque::new() };
        let mut surplus = past + current + cost - self.limit;
        if surplus > 0.0 && self.count_denied {
            surplus += cost;
        }
        // Where even the whole past would not free enough, the slot named is the current one.
        let leaving = if pivot < slot { surplus.clamp(0.0, past) } else { 0.0 };
        if leaving > 0.0 {
            buckets.pairs.push_back((pivot, leaving));
        }
        if past > leaving || newest > pivot {
            buckets.pairs.push_back((newest, past - leaving));
        }
        Some(buckets)
    }
}
