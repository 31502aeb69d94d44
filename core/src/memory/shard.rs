//! A part of the states, for one thread at a time.

use std::mem;

use hashbrown::HashTable;

use super::nearest::Nearest;
use super::places::Place;
use super::room::Room;
use crate::algorithm::{Demand, Holding, Leases, Micros, Op, Outcome, Policy, State};
use crate::catalog::LimitNumber;
use crate::keys::key::is_same;

/// Tables up to this size are left alone: there is nothing to gain.
const SMALL: usize = 64;

/// States by limit and name.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    table: HashTable<Entry>,
    /// How many calls came, so that some of them sweep.
    pub(crate) calls: u32,
    /// Where the next sweep goes on.
    hand: usize,
    /// How many states there may be without asking for more room.
    allowance: usize,
    /// What goes first when there is no more.
    nearest: Nearest,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    expires_at: Micros,
    limit: LimitNumber,
    name: Box<str>,
    state: State,
}

impl Entry {
    #[inline]
    fn is(&self, place: &Place<'_>) -> bool {
        self.limit == place.limit && is_same(self.name.as_bytes(), place.name.as_bytes())
    }
}

/// What is asked of a state, and of which policy it is.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) demand: Demand,
}

/// A peek when the clock has stepped back: what it sees is not kept.
#[cold]
fn peek_ahead(state: &State, task: &Task<'_>, permitted: bool) -> Outcome {
    task.policy.decide(&mut state.clone(), task.demand, permitted)
}

impl Shard {
    /// Whether a state has room, as a check finds it; for a charge, whether it may be overdrawn so far.
    #[inline]
    pub(crate) fn fits(&self, place: &Place<'_>, task: &Task<'_>) -> bool {
        let &Task { policy, demand: Demand { now, cost, op } } = task;
        let fits = |state: &State| match op {
            Op::Charge => policy.bears(state, now, cost),
            Op::Check | Op::Peek | Op::Refund | Op::Reserve => policy.fits(state, now, cost),
        };
        match self.table.find(place.hash, |entry| entry.is(place)) {
            Some(entry) if !policy.is_ahead(&entry.state, now) => fits(&entry.state),
            found => {
                let mut state = found.map_or_else(|| policy.fresh(now), |entry| entry.state.clone());
                policy.advance(&mut state, now);
                fits(&state)
            }
        }
    }

    /// Carries out a task on a state, and keeps it when it changed. Always inline, as what it calls: outcomes are
    /// long, and to hand one over twice takes a twentieth of a check.
    #[inline(always)]
    pub(crate) fn decide(
        &mut self,
        place: &Place<'_>,
        task: &Task<'_>,
        permitted: bool,
        room: &Room,
    ) -> Outcome {
        self.calls = self.calls.wrapping_add(1);
        let &Task { policy, demand } = task;
        let Some(entry) = self.table.find_mut(place.hash, |entry| entry.is(place)) else {
            return self.begin(place, task, permitted, room);
        };
        if demand.op == Op::Peek && policy.is_ahead(&entry.state, demand.now) {
            return peek_ahead(&entry.state, task, permitted);
        }
        let outcome = policy.decide_inline(&mut entry.state, demand, permitted);
        if outcome.changed {
            entry.expires_at = demand.now + outcome.figures.reset_after;
            if outcome.figures.reset_after == 0 {
                self.remove(place);
            }
        }
        outcome
    }

    /// [`decide`](Self::decide) for a key that was never seen.
    #[cold]
    fn begin(&mut self, place: &Place<'_>, task: &Task<'_>, permitted: bool, room: &Room) -> Outcome {
        let &Task { policy, demand } = task;
        let mut state = policy.fresh(demand.now);
        let outcome = policy.decide(&mut state, demand, permitted);
        if outcome.figures.reset_after > 0 {
            let expires_at = demand.now + outcome.figures.reset_after;
            self.insert(place, state, (demand.now, expires_at), room);
        }
        outcome
    }

    /// A copy of a state.
    #[inline]
    pub(crate) fn copy(&self, place: &Place<'_>) -> Option<State> {
        self.table.find(place.hash, |entry| entry.is(place)).map(|entry| entry.state.clone())
    }

    /// Takes a state out of its entry, to be [`put`](Self::put) back or removed.
    #[inline]
    pub(crate) fn take(&mut self, place: &Place<'_>) -> Option<State> {
        let entry = self.table.find_mut(place.hash, |entry| entry.is(place))?;
        Some(mem::replace(&mut entry.state, State::Leases(Leases::default())))
    }

    /// Keeps a state from now on until it expires.
    #[inline]
    pub(crate) fn put(
        &mut self,
        place: &Place<'_>,
        state: State,
        (now, expires_at): (Micros, Micros),
        room: &Room,
    ) {
        match self.table.find_mut(place.hash, |entry| entry.is(place)) {
            Some(entry) => (entry.state, entry.expires_at) = (state, expires_at),
            None => self.insert(place, state, (now, expires_at), room),
        }
    }

    /// A state, with the time until which it is kept.
    #[inline(always)]
    pub(super) fn find(&mut self, place: &Place<'_>) -> Option<(&mut State, &mut Micros)> {
        let entry = self.table.find_mut(place.hash, |entry| entry.is(place))?;
        Some((&mut entry.state, &mut entry.expires_at))
    }

    /// Takes what is held out of its entry, of which this is the number until the table changes.
    #[inline(always)]
    pub(super) fn take_holding(&mut self, place: &Place<'_>) -> Option<(usize, Box<Holding>)> {
        let at = self.table.find_bucket_index(place.hash, |entry| entry.is(place))?;
        let entry = self.table.get_bucket_mut(at)?;
        match mem::replace(&mut entry.state, State::Leases(Leases::default())) {
            State::Holding(holding) => Some((at, holding)),
            _ => None,
        }
    }

    /// Puts it back.
    #[inline(always)]
    pub(super) fn put_holding(&mut self, at: usize, holding: Box<Holding>, ends: Micros) {
        if let Some(entry) = self.table.get_bucket_mut(at) {
            (entry.state, entry.expires_at) = (State::Holding(holding), ends);
        }
    }

    #[inline]
    pub(crate) fn insert(
        &mut self,
        place: &Place<'_>,
        state: State,
        (now, expires_at): (Micros, Micros),
        room: &Room,
    ) {
        self.make_room(now, room);
        let (hash, limit, name) = (place.hash, place.limit, place.name.into());
        let entry = Entry { hash, expires_at, limit, name, state };
        self.table.insert_unique(hash, entry, |entry| entry.hash);
        self.nearest.add((expires_at, hash));
    }

    #[inline]
    pub(crate) fn remove(&mut self, place: &Place<'_>) {
        if let Ok(found) = self.table.find_entry(place.hash, |entry| entry.is(place)) {
            found.remove();
        }
    }

    /// Before a table grows, what has expired leaves it; when there is no room for more states, the one nearest to
    /// its reset does.
    #[inline]
    fn make_room(&mut self, now: Micros, room: &Room) {
        if self.table.len() >= self.allowance {
            self.allowance += room.take();
            if self.table.len() >= self.allowance {
                self.evict(now, room);
            }
        }
        if self.table.len() == self.table.capacity() && self.table.len() > SMALL {
            self.table.retain(|entry| entry.expires_at > now);
            // Where that made little room the table grows, or it would soon be gone through again.
            self.table.reserve(self.table.capacity() / 8 + 1, |entry| entry.hash);
        }
    }

    /// Forgets the state nearest to its reset.
    #[cold]
    fn evict(&mut self, now: Micros, room: &Room) {
        while !self.table.is_empty() {
            let Some((due, hash)) = self.nearest.pop() else {
                let all = self.table.iter().map(|entry| (entry.expires_at, entry.hash));
                self.nearest.refill(all, self.table.len());
                continue;
            };
            let Ok(found) = self.table.find_entry(hash, |entry| entry.hash == hash) else { continue };
            let expires_at = found.get().expires_at;
            if expires_at > due {
                self.nearest.add((expires_at, hash));
                continue;
            }
            found.remove();
            if expires_at > now {
                room.note_eviction();
            }
            return;
        }
    }

    /// Looks at the next `places` places; at the end of a round an all but empty table shrinks.
    #[inline]
    pub(crate) fn sweep(&mut self, now: Micros, places: usize, room: &Room) {
        let size = self.table.num_buckets();
        if size <= SMALL {
            return;
        }
        let end = self.hand.saturating_add(places).min(size);
        for index in self.hand..end {
            if let Ok(found) = self.table.get_bucket_entry(index)
                && found.get().expires_at <= now
            {
                found.remove();
            }
        }
        self.hand = if end == size { 0 } else { end };
        if self.hand == 0 {
            self.allowance = room.trim(self.allowance, self.table.len());
        }
        if self.hand == 0 && self.table.len() < size / 8 {
            self.table.shrink_to(self.table.len() * 2, |entry| entry.hash);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.table.num_buckets()
    }
}
