//! What an admission shows of the states, so that the next waiter does not ask before there is room.

use super::data::{Arrival, Denial, Entry, Lanes, Memory, Moment, Next};
use crate::plan::{Forecast, SmallList};

impl Lanes {
    /// Notes what an admission has shown of the states, for the next waiter that asks for the same ones.
    pub(in crate::limiter::queue) fn remember(&mut self, ticket: Arrival, forecast: Forecast, now: Moment) {
        let Some(Entry { claims, frees, .. }) = self.waiters.get(&ticket) else { return };
        let lanes: SmallList<_> = claims.iter().map(|claim| claim.lane).collect();
        if let Some(lane) = lanes.first().and_then(|first| self.lanes.get_mut(first)) {
            lane.memory = Some(Memory { at: now, lanes, frees: *frees, forecast });
        }
    }

    /// At its first turn a waiter may know, by what the one before it learned, that it would be denied: then it
    /// sleeps first.
    pub(super) fn ask(&mut self, ticket: Arrival, now: Moment) -> Next {
        let frees = self.frees(ticket);
        if let Some(entry) = self.waiters.get_mut(&ticket) {
            entry.frees = frees;
        }
        if let Some((wait, is_estimate)) = self.forecast(ticket, now) {
            self.denied(ticket, &Denial { wait, waits: SmallList::new(), pause: wait, is_estimate }, now);
            return Next::Sleep { until: now.saturating_add(wait), is_held: false };
        }
        Next::Ask
    }

    /// The wait that it would be denied with, and whether that is an estimate.
    fn forecast(&self, ticket: Arrival, now: Moment) -> Option<(u64, bool)> {
        let entry = self.waiters.get(&ticket).filter(|entry| entry.is_new)?;
        let memory = self.lanes.get(&entry.claims.first()?.lane)?.memory.as_ref()?;
        if !entry.claims.iter().map(|claim| claim.lane).eq(memory.lanes.iter().copied()) {
            return None;
        }
        let costs: SmallList<_> = entry.claims.iter().map(|claim| claim.cost).collect::<Option<_>>()?;
        if self.frees_of(memory.lanes.iter().copied()) != memory.frees {
            return None;
        }
        let wait = memory.forecast.wait(&costs, now.saturating_sub(memory.at))?;
        let is_useful = wait > 0 && now.saturating_add(wait) <= entry.deadline;
        is_useful.then_some((wait, memory.forecast.is_estimate()))
    }
}
