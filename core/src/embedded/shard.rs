//! A part of the states, for one thread at a time.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;

use crate::algorithm::{Micros, Policy, State};
use crate::plan::{Op, Outcome, settle_up};

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
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    expires_at: Micros,
    limit: u32,
    name: Box<str>,
    state: State,
}

/// Where a state is kept.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) hash: u64,
    pub(crate) limit: u32,
    pub(crate) name: &'a str,
}

impl Place<'_> {
    fn is(&self, entry: &Entry) -> bool {
        entry.limit == self.limit && *entry.name == *self.name
    }
}

/// What is asked of a state.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) cost: f64,
    pub(crate) now: Micros,
    pub(crate) op: Op,
}

impl Task<'_> {
    fn settle_up(&self, state: &mut State, permitted: bool) -> Outcome {
        settle_up(self.policy, state, self.now, self.cost, self.op, permitted)
    }
}

impl Shard {
    /// Whether a state has room, as a check finds it.
    pub(crate) fn fits(&self, place: &Place<'_>, task: &Task<'_>) -> bool {
        match self.table.find(place.hash, |entry| place.is(entry)) {
            Some(entry) if !task.policy.is_ahead(&entry.state, task.now) => {
                task.policy.fits(&entry.state, task.now, task.cost)
            }
            found => {
                let fresh = || task.policy.fresh(task.now);
                let mut state = found.map_or_else(fresh, |entry| entry.state.clone());
                task.policy.settle(&mut state, task.now);
                task.policy.fits(&state, task.now, task.cost)
            }
        }
    }

    /// Carries out a task on a state, and keeps it when it changed.
    pub(crate) fn settle_up(&mut self, place: &Place<'_>, task: &Task<'_>, permitted: bool) -> Outcome {
        self.calls = self.calls.wrapping_add(1);
        self.make_room(task.now);
        match self.table.entry(place.hash, |entry| place.is(entry), |entry| entry.hash) {
            Slot::Occupied(mut found) => {
                let entry = found.get_mut();
                if task.op == Op::Peek && task.policy.is_ahead(&entry.state, task.now) {
                    return task.settle_up(&mut entry.state.clone(), permitted);
                }
                let outcome = task.settle_up(&mut entry.state, permitted);
                if outcome.changed {
                    entry.expires_at = task.now + outcome.figures.reset_after;
                    if outcome.figures.reset_after == 0 {
                        found.remove();
                    }
                }
                outcome
            }
            Slot::Vacant(free) => {
                let mut state = task.policy.fresh(task.now);
                let outcome = task.settle_up(&mut state, permitted);
                let expires_at = task.now + outcome.figures.reset_after;
                if expires_at > task.now {
                    let (limit, name) = (place.limit, place.name.into());
                    free.insert(Entry { hash: place.hash, expires_at, limit, name, state });
                }
                outcome
            }
        }
    }

    pub(crate) fn remove(&mut self, place: &Place<'_>) {
        if let Ok(found) = self.table.find_entry(place.hash, |entry| place.is(entry)) {
            found.remove();
        }
    }

    /// Before a table grows, what has expired leaves it.
    fn make_room(&mut self, now: Micros) {
        if self.table.len() == self.table.capacity() && self.table.len() > SMALL {
            self.table.retain(|entry| entry.expires_at > now);
            // Where that made little room the table grows, or it would soon be gone through again.
            self.table.reserve(self.table.capacity() / 8 + 1, |entry| entry.hash);
        }
    }

    /// Looks at the next `places` places; at the end of a round an all but empty table shrinks.
    pub(crate) fn sweep(&mut self, now: Micros, places: usize) {
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
