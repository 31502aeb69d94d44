//! Calls about a rule's only limit, of which something may be held: the state and what is held of it, each where it lies.

use super::engine::{CALLS_PER_SWEEP, Engine};
use super::places::Place;
use super::room::Room;
use super::shard::Shard;
use crate::algorithm::{Leases, Micros, Policy, State};
use crate::catalog::{Holds, ReadyLimit};
use crate::plan::SingleLimit;

/// A limit that is alone in its rule, and the key that a call is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SingleLimitKey<'a> {
    pub(crate) limit: &'a ReadyLimit,
    pub(crate) holds: &'a Holds,
    /// The policy at the limit of the call.
    pub(crate) policy: &'a Policy,
    /// The key as it is stored.
    pub(crate) name: &'a str,
}

impl Engine {
    /// Does some work on the account of a limit: one lock, one hash. The time is read behind the lock, as in
    /// [`one`](Self::one).
    #[inline(always)]
    pub(crate) fn with_single_limit<T>(
        &self,
        lone: SingleLimitKey<'_>,
        clock: impl FnOnce() -> Micros,
        work: impl FnOnce(&mut SingleLimit<'_>) -> T,
    ) -> T {
        let numbers = [lone.limit.number, lone.holds.of_key().unwrap_or_default()];
        let places = self.places.of_each(numbers, lone.name);
        let mut shard = self.shards[self.shard_of(&places[0])].lock();
        let now = clock();
        let done = shard.with_single_limit(&places, lone, (now, &self.room), work);
        // Each place counts as a call, so that what calls leave behind is swept as fast as they come.
        let count = places.len() as u32;
        shard.calls = shard.calls.wrapping_add(count);
        let sweep = shard.calls % CALLS_PER_SWEEP < count;
        drop(shard);
        if sweep {
            self.sweep(now);
        }
        done
    }
}

impl Shard {
    #[inline(always)]
    fn with_single_limit<T>(
        &mut self,
        [own, held]: &[Place<'_>; 2],
        lone: SingleLimitKey<'_>,
        (now, room): (Micros, &Room),
        work: impl FnOnce(&mut SingleLimit<'_>) -> T,
    ) -> T {
        let SingleLimitKey { limit, policy, holds, .. } = lone;
        let (held_at, mut holding) =
            self.take_holding(held).map_or_else(Default::default, |(at, it)| (Some(at), it));
        let kept = if policy.keeps_state() { self.find(own) } else { None };
        let is_new = kept.is_none();
        let (mut fresh, mut fresh_ends) = (State::Leases(Leases::default()), 0);
        let (state, ends) = match kept {
            Some(kept) => kept,
            None => {
                fresh = policy.fresh(now);
                (&mut fresh, &mut fresh_ends)
            }
        };
        let holding_ref = &mut *holding;
        let mut account = SingleLimit {
            policy,
            stated: &limit.policy,
            state,
            is_new,
            holding: holding_ref,
            lease: holds.lease,
            now,
        };
        let done = work(&mut account);
        *ends = account.kept_until().filter(|_| policy.keeps_state()).unwrap_or(0);
        let ends = *ends;
        let held_ends = holding.kept_until;
        match held_at {
            Some(at) => self.put_holding(at, holding, held_ends),
            None if held_ends > now => self.insert(held, State::Holding(holding), (now, held_ends), room),
            None => {}
        }
        match is_new {
            true if ends > now => self.insert(own, fresh, (now, ends), room),
            false if ends <= now => self.remove(own),
            _ => {}
        }
        if held_at.is_some() && held_ends <= now {
            self.remove(held);
        }
        done
    }
}
