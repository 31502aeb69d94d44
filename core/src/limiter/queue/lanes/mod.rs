//! Whose turn it is to ask: bookkeeping alone, without a clock, threads or tasks.
//!
//! There is a lane per state that is waited for. Waiters are ordered by arrival, and one is held up by those before
//! it: by each that asks now for a state of its own, and by each that sleeps because it was denied such a state. A
//! denial by another state holds up nobody: a wait of an hour for one user's limit does not delay others at a limit
//! that all users share. The first of all waiters is never held up, so some waiter always goes on, whatever sets of
//! states overlap.

mod data;
mod memory;

use std::mem::take;

use crate::plan::SmallList;
pub(super) use data::{Arrival, Denial, Lanes, NEVER, Next, Wake};
pub(crate) use data::{Claim, Moment};
use data::{Entry, Lane, Phase};

/// In place of a moment that nobody knows yet.
const UNKNOWN: Moment = 0;

/// An arrival makes the waiter before it ask again whose last answer is older: the limit may have been raised, or
/// another process may have given something back.
const STALE: u64 = 1_000_000;

impl Lanes {
    /// A new waiter, behind all others.
    pub(super) fn enter(&mut self, claims: SmallList<Claim>, deadline: Moment, now: Moment) -> Arrival {
        self.last += 1;
        let ticket = self.last;
        for claim in &claims {
            self.lanes.entry(claim.lane).or_default().members += 1;
        }
        let longest = claims.iter().map(|_| 0).collect();
        let (phase, is_called, wake) = (Phase::Held, false, None);
        let entry = Entry { claims, longest, frees: 0, phase, deadline, is_new: true, is_called, wake };
        self.waiters.insert(ticket, entry);
        if !self.take_turn(ticket) {
            self.hold(ticket);
            if let Some(before) = now.checked_sub(STALE) {
                self.prompt(ticket, before);
            }
        }
        ticket
    }

    /// Takes a waiter out, and lets those go on whom it held up.
    pub(super) fn leave(&mut self, ticket: Arrival) {
        self.withdraw(ticket);
        let Some(entry) = self.waiters.remove(&ticket) else { return };
        for claim in &entry.claims {
            if let Some(lane) = self.lanes.get_mut(&claim.lane) {
                lane.members -= 1;
                if lane.members == 0 {
                    self.lanes.remove(&claim.lane);
                }
            }
        }
        self.promote(&entry.claims);
    }

    /// Lets a waiter that was denied sleep, unless something was given back since it asked.
    pub(super) fn denied(&mut self, ticket: Arrival, denial: &Denial, now: Moment) {
        let &Denial { wait, ref waits, pause, is_estimate } = denial;
        let frees = self.frees(ticket);
        let Some(entry) = self.waiters.get_mut(&ticket) else { return };
        let until = if entry.frees == frees { now.saturating_add(pause) } else { now };
        // What may come sooner says nothing to those behind.
        let shown = if is_estimate { UNKNOWN } else { until };
        entry.phase = Phase::Asleep { asked: now, until };
        entry.is_new = false;
        if waits.len() == entry.longest.len() {
            entry.longest.iter_mut().zip(waits).for_each(|(longest, wait)| *longest = (*wait).max(*longest));
        } else {
            entry.longest.fill(wait);
        }
        // What it was denied it keeps for itself, unless the wait for something else is longer than it waited
        // for this. So two states that others take turns at cannot starve one that needs both.
        let kept = entry.claims.iter().zip(&entry.longest).filter(|(_, longest)| **longest >= wait);
        let kept: SmallList<_> = kept.map(|(claim, _)| claim.lane).collect();
        let claims = entry.claims.clone();
        for claim in &claims {
            let Some(lane) = self.lanes.get_mut(&claim.lane) else { continue };
            if kept.contains(&claim.lane) {
                lane.blockers.insert(ticket, shown);
            } else {
                lane.blockers.remove(&ticket);
            }
            let too_late: Vec<_> = lane.by_deadline.range(..(shown, 0)).map(|&(_, ticket)| ticket).collect();
            too_late.into_iter().for_each(|ticket| self.call(ticket));
        }
        self.promote(&claims);
    }

    /// Lets those ask again, before their time, who hold up a waiter and whose answer came by `before`.
    pub(super) fn prompt(&mut self, ticket: Arrival, before: Moment) {
        let Some(entry) = self.waiters.get(&ticket) else { return };
        let lanes: SmallList<_> = entry.claims.iter().map(|claim| claim.lane).collect();
        for lane in lanes {
            self.prompt_first(lane, before);
        }
    }

    /// The same for the first waiter of a lane.
    pub(super) fn prompt_first(&mut self, lane: u64, before: Moment) {
        let Some(lane) = self.lanes.get(&lane) else { return };
        let Some((&first, _)) = lane.blockers.first_key_value() else { return };
        if let Some(entry) = self.waiters.get(&first)
            && let Phase::Asleep { asked, .. } = entry.phase
            && asked <= before
        {
            self.awake(first);
        }
    }

    /// Lets the first waiter of a lane ask again, now or as soon as its present call is answered: something was given
    /// back.
    pub(super) fn freed(&mut self, lane: u64) {
        if let Some(lane) = self.lanes.get_mut(&lane) {
            lane.frees += 1;
        }
        self.prompt_first(lane, NEVER);
    }

    /// How often something was given back of the states of a waiter.
    fn frees(&self, ticket: Arrival) -> u64 {
        let claims = self.waiters.get(&ticket).into_iter().flat_map(|entry| &entry.claims);
        self.frees_of(claims.map(|claim| claim.lane))
    }

    fn frees_of(&self, lanes: impl Iterator<Item = u64>) -> u64 {
        lanes.filter_map(|lane| self.lanes.get(&lane)).map(|lane| lane.frees).sum()
    }

    /// Ends the sleep of a waiter.
    pub(super) fn awake(&mut self, ticket: Arrival) {
        let Some(entry) = self.waiters.get_mut(&ticket) else { return };
        let Phase::Asleep { asked, .. } = entry.phase else { return };
        entry.phase = Phase::Asleep { asked, until: UNKNOWN };
        for claim in &entry.claims {
            let lane = self.lanes.get_mut(&claim.lane);
            if let Some(until) = lane.and_then(|lane| lane.blockers.get_mut(&ticket)) {
                *until = UNKNOWN;
            }
        }
        self.call(ticket);
    }

    /// What a waiter is to do now.
    pub(super) fn next(&mut self, ticket: Arrival, now: Moment) -> Next {
        let Some(entry) = self.waiters.get_mut(&ticket) else { return Next::Ask };
        entry.is_called = false;
        let (deadline, phase) = (entry.deadline, entry.phase);
        match phase {
            Phase::Asking => return self.ask(ticket, now),
            Phase::Asleep { until, .. } if now < until => return Next::Sleep { until, is_held: false },
            Phase::Asleep { .. } if self.take_turn(ticket) => return self.ask(ticket, now),
            Phase::Asleep { .. } => {
                self.withdraw(ticket);
                self.hold(ticket);
            }
            Phase::Held => {}
        }
        let opens = self.opens(ticket);
        if now >= deadline || opens.is_some_and(|opens| opens > deadline) {
            Next::TooLate { opens }
        } else {
            Next::Sleep { until: deadline, is_held: true }
        }
    }

    /// Whether something has changed for a waiter; if not yet, `wake` is used when it does.
    pub(super) fn is_called(&mut self, ticket: Arrival, wake: impl FnOnce() -> Wake) -> bool {
        let Some(entry) = self.waiters.get_mut(&ticket) else { return true };
        entry.wake = (!entry.is_called).then(wake);
        entry.is_called
    }

    /// Moves the deadline of a waiter.
    pub(super) fn set_deadline(&mut self, ticket: Arrival, deadline: Moment) {
        if let Some(entry) = self.waiters.get_mut(&ticket) {
            entry.deadline = deadline;
        }
    }

    /// When the last of those sleeps ends that hold up a waiter, if that is known.
    pub(super) fn opens(&self, ticket: Arrival) -> Option<Moment> {
        let claims = &self.waiters.get(&ticket)?.claims;
        let firsts =
            claims.iter().filter_map(|claim| self.lanes.get(&claim.lane)?.blockers.first_key_value());
        firsts.filter(|(first, until)| **first < ticket && **until != UNKNOWN).map(|(_, until)| *until).max()
    }

    /// Who is to be woken now.
    pub(super) fn take_calls(&mut self) -> Vec<Wake> {
        take(&mut self.calls)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> (usize, usize) {
        (self.waiters.len(), self.lanes.len())
    }

    /// Gives a waiter its turn, unless others come first.
    fn take_turn(&mut self, ticket: Arrival) -> bool {
        let Some(entry) = self.waiters.get(&ticket) else { return false };
        let is_first = |claim: &Claim| {
            let lane = self.lanes.get(&claim.lane);
            lane.and_then(|lane| lane.blockers.first_key_value()).is_none_or(|(&first, _)| first >= ticket)
        };
        if !entry.claims.iter().all(is_first) {
            return false;
        }
        self.withdraw(ticket);
        let Some(entry) = self.waiters.get_mut(&ticket) else { return false };
        entry.phase = Phase::Asking;
        for claim in &entry.claims {
            if let Some(lane) = self.lanes.get_mut(&claim.lane) {
                lane.blockers.insert(ticket, UNKNOWN);
            }
        }
        self.call(ticket);
        true
    }

    fn hold(&mut self, ticket: Arrival) {
        let Some(entry) = self.waiters.get_mut(&ticket) else { return };
        entry.phase = Phase::Held;
        let claims = entry.claims.clone();
        for claim in &claims {
            let Some(lane) = self.lanes.get_mut(&claim.lane) else { continue };
            lane.held.insert(ticket);
            if entry.deadline != NEVER {
                lane.by_deadline.insert((entry.deadline, ticket));
            }
        }
        // Where it blocked, others may go on.
        self.promote(&claims);
    }

    /// Takes a waiter out of the order of every lane.
    fn withdraw(&mut self, ticket: Arrival) {
        let Some(entry) = self.waiters.get(&ticket) else { return };
        for claim in &entry.claims {
            if let Some(lane) = self.lanes.get_mut(&claim.lane) {
                lane.blockers.remove(&ticket);
                lane.held.remove(&ticket);
                lane.by_deadline.remove(&(entry.deadline, ticket));
            }
        }
    }

    /// Gives those their turn who are not held up any more, the first to arrive first.
    fn promote(&mut self, claims: &[Claim]) {
        for claim in claims {
            let mut last = 0;
            while let Some(ticket) = self.lanes.get(&claim.lane).and_then(|lane| lane.waiting_after(last)) {
                self.take_turn(ticket);
                last = ticket;
            }
        }
    }

    fn call(&mut self, ticket: Arrival) {
        if let Some(entry) = self.waiters.get_mut(&ticket) {
            entry.is_called = true;
            self.calls.extend(entry.wake.take());
        }
    }
}

impl Lane {
    /// The first waiter that arrived after `last` and that nobody holds up in this lane.
    fn waiting_after(&self, last: Arrival) -> Option<Arrival> {
        let next = self.held.range(last + 1..).next().copied()?;
        self.blockers.first_key_value().is_none_or(|(&first, _)| next < first).then_some(next)
    }
}
