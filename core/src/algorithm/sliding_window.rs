//! Sliding window: two counts, the former weighted by how much of its window is still in view.
//!
//! Source: J. Desgats, "How we built rate limiting capable of scaling to millions of domains",
//! Cloudflare, 2017 (the approximation and its error on real traffic).

use super::interface::Algorithm;
use super::numbers::{Numbers, ceil, count, first_after, flag, floor, micros};
use crate::time::clock::Micros;

#[derive(Debug, Clone)]
pub(crate) struct SlidingWindow {
    pub(crate) limit: f64,
    pub(crate) window: Micros,
    pub(crate) count_denied: bool,
}

/// The counts of the current window and of the one before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows {
    start: Micros,
    previous: f64,
    current: f64,
}

impl SlidingWindow {
    /// The first instant of the window at `start` at which `count`, made in the window before it,
    /// weighs no more than `allowed`; up to rounding.
    fn faded(&self, start: Micros, count: f64, allowed: f64) -> Micros {
        if count <= allowed {
            return start;
        }
        let window = self.window as f64;
        start + ceil(window - allowed * window / count)
    }

    fn fits_at(&self, state: &Windows, at: Micros, cost: f64) -> bool {
        self.room(state, at) >= cost
    }

    /// Nearly always it is still the same window: that is seen without a division.
    #[inline]
    fn is_current(&self, state: &Windows, now: Micros) -> bool {
        (0..self.window).contains(&(now - state.start))
    }

    #[inline]
    fn advanced(&self, state: Windows, now: Micros) -> Windows {
        if self.is_current(&state, now) { state } else { self.moved(state, now) }
    }

    /// The counts of a state of another window, as they are in that of `now`.
    fn moved(&self, state: Windows, now: Micros) -> Windows {
        let fresh = self.fresh(now);
        if state.start + self.window == fresh.start {
            Windows { previous: state.current, ..fresh }
        } else if state.start < fresh.start {
            fresh
        } else {
            Windows { start: fresh.start, ..state }
        }
    }
}

impl Algorithm for SlidingWindow {
    type State = Windows;

    fn fresh(&self, now: Micros) -> Windows {
        Windows { start: now - now.rem_euclid(self.window), previous: 0.0, current: 0.0 }
    }

    fn is_ahead(&self, state: &Windows, now: Micros) -> bool {
        state.start > now
    }

    fn advance(&self, state: &mut Windows, now: Micros) {
        if !self.is_current(state, now) {
            *state = self.moved(*state, now);
        }
    }

    fn price(&self, cost: f64) -> f64 {
        cost
    }

    fn room(&self, state: &Windows, now: Micros) -> f64 {
        let state = self.advanced(*state, now);
        let (window, offset) = (self.window as f64, (now - state.start) as f64);
        // Multiplied before it is divided: exact as long as count times window stays below 2^53.
        let estimate = state.previous * (window - offset) / window + state.current;
        floor(self.limit - estimate)
    }

    fn charge(&self, state: &mut Windows, _now: Micros, amount: f64) {
        state.current += amount;
    }

    fn refund(&self, state: &mut Windows, _now: Micros, amount: f64, charged_at: Option<Micros>) {
        let newest = amount.min(state.current);
        let (from_previous, from_current) = match charged_at {
            None => (amount - newest, newest),
            Some(at) if at >= state.start => (0.0, newest),
            Some(at) if at >= state.start - self.window => (amount, 0.0),
            Some(_) => return,
        };
        state.current -= from_current;
        state.previous = (state.previous - from_previous).max(0.0);
    }

    fn retry_after(&self, state: &Windows, now: Micros, cost: f64) -> Micros {
        let state = &self.advanced(*state, now);
        let allowed = self.limit - cost;
        let next = state.start + self.window;
        let estimate = if state.current <= allowed {
            self.faded(state.start, state.previous, allowed - state.current)
        } else {
            self.faded(next, state.current, allowed)
        };
        // The estimate may be rounded, for large counts by far; what counts is what a check then would say.
        first_after(now, estimate, |at| self.fits_at(state, at, cost)) - now
    }

    fn reset_after(&self, state: &Windows, now: Micros) -> Micros {
        let state = self.advanced(*state, now);
        let left = state.start + self.window - now;
        if state.current > 0.0 {
            left + self.window
        } else if state.previous > 0.0 {
            left
        } else {
            0
        }
    }

    fn most(&self) -> f64 {
        self.limit
    }

    fn counts_denied(&self) -> bool {
        self.count_denied
    }

    fn numbers(&self, cost: f64, out: &mut Numbers) {
        out.extend([cost, self.limit, self.window as f64, flag(self.count_denied)]);
    }

    fn parse(&self, numbers: &[f64], _cost: f64) -> Option<Windows> {
        let &[_now, start, previous, current] = numbers else { return None };
        Some(Windows { start: micros(start)?, previous: count(previous)?, current: count(current)? })
    }
}
