//! Sliding log: the time of every admitted unit; exact, at the price of an entry per unit.

use std::collections::VecDeque;

use super::interface::Algorithm;
use super::numbers::{Numbers, count, micros};
use crate::rules::Structure;
use crate::time::clock::Micros;

#[derive(Debug, Clone)]
pub(crate) struct SlidingLog {
    pub(crate) limit: f64,
    pub(crate) window: Micros,
    pub(crate) structure: Structure,
}

/// Units admitted at one instant.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Micros,
    units: f64,
}

/// Oldest first; units of one microsecond share an entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    live: f64,
}

impl Log {
    fn push(&mut self, at: Micros, units: f64) {
        self.live += units;
        match self.entries.back_mut() {
            Some(last) if last.at == at => last.units += units,
            _ => self.entries.push_back(Entry { at, units }),
        }
    }

    fn newest(&self) -> Option<Micros> {
        self.entries.back().map(|entry| entry.at)
    }
}

impl SlidingLog {
    fn is_live(&self, entry: &Entry, now: Micros) -> bool {
        entry.at > now - self.window
    }

    fn live(&self, state: &Log, now: Micros) -> f64 {
        let gone = state.entries.iter().take_while(|entry| !self.is_live(entry, now));
        state.live - gone.map(|entry| entry.units).sum::<f64>()
    }
}

impl Algorithm for SlidingLog {
    type State = Log;

    fn fresh(&self, _now: Micros) -> Log {
        Log::default()
    }

    fn is_ahead(&self, state: &Log, now: Micros) -> bool {
        state.newest().is_some_and(|at| at > now)
    }

    fn advance(&self, state: &mut Log, now: Micros) {
        let mut ahead = 0.0;
        while let Some(last) = state.entries.pop_back_if(|entry| entry.at > now) {
            ahead += last.units;
        }
        if ahead > 0.0 {
            state.live -= ahead;
            state.push(now, ahead);
        }
        while let Some(first) = state.entries.pop_front_if(|entry| !self.is_live(entry, now)) {
            state.live -= first.units;
        }
    }

    fn price(&self, cost: f64) -> f64 {
        cost
    }

    fn room(&self, state: &Log, now: Micros) -> f64 {
        self.limit - self.live(state, now)
    }

    fn charge(&self, state: &mut Log, now: Micros, amount: f64) {
        if amount > 0.0 {
            state.push(now, amount);
        }
    }

    fn refund(&self, state: &mut Log, _now: Micros, mut amount: f64, charged_at: Option<Micros>) {
        let entries = &mut state.entries;
        let not_after = |at| entries.partition_point(|entry| entry.at <= at);
        let mut place = charged_at.map_or(entries.len(), not_after);
        while amount > 0.0 && place > 0 {
            place -= 1;
            let entry = &mut entries[place];
            if charged_at.is_some_and(|at| entry.at < at) {
                break;
            }
            let taken = entry.units.min(amount);
            entry.units -= taken;
            amount -= taken;
            state.live -= taken;
            if entry.units == 0.0 {
                entries.remove(place);
            }
        }
    }

    fn retry_after(&self, state: &Log, now: Micros, cost: f64) -> Micros {
        let mut surplus = self.live(state, now) + cost - self.limit;
        for entry in state.entries.iter().skip_while(|entry| !self.is_live(entry, now)) {
            surplus -= entry.units;
            if surplus <= 0.0 {
                return entry.at + self.window - now;
            }
        }
        self.reset_after(state, now)
    }

    fn reset_after(&self, state: &Log, now: Micros) -> Micros {
        state.newest().map_or(0, |at| (at + self.window - now).max(0))
    }

    fn most(&self) -> f64 {
        self.limit
    }

    fn counts_denied(&self) -> bool {
        false
    }

    /// Each unit is an entry. No more of them make a difference before all are gone.
    fn most_charged(&self) -> f64 {
        2.0 * self.limit
    }

    fn numbers(&self, cost: f64, out: &mut Numbers) {
        out.extend([cost, self.limit, self.window as f64]);
    }

    /// The reply is a summary: how many, the newest, and the one that must go before `cost` fits.
    /// A log with the same summary answers every question about this cost alike.
    fn parse(&self, numbers: &[f64], cost: f64) -> Option<Log> {
        let &[now, live, newest, pivot] = numbers else { return None };
        let (live, newest, pivot) = (count(live)?, micros(newest)?, micros(pivot)?);
        let mut log = Log::default();
        let surplus = live + cost - self.limit;
        if surplus > 0.0 && cost <= self.limit {
            log.push(pivot.min(micros(now)?), surplus);
        }
        if live > log.live {
            let rest = live - log.live;
            log.push(newest, rest);
        }
        Some(log)
    }
}
