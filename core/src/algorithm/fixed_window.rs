//! Fixed window: a count that starts again with every window.

use super::{Algorithm, Micros, count, flag, micros};
use crate::rules::WindowStart;

#[derive(Debug, Clone)]
pub(crate) struct FixedWindow {
    pub(crate) limit: f64,
    pub(crate) window: Micros,
    pub(crate) begins: WindowStart,
    pub(crate) count_denied: bool,
}

/// What was counted since the window began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    start: Micros,
    count: f64,
}

impl FixedWindow {
    fn count(&self, state: &Window, now: Micros) -> f64 {
        if now - state.start < self.window { state.count } else { 0.0 }
    }

    fn start(&self, now: Micros) -> Micros {
        match self.begins {
            WindowStart::Aligned => now - now.rem_euclid(self.window),
            WindowStart::FirstRequest => now,
        }
    }
}

impl Algorithm for FixedWindow {
    type State = Window;

    fn fresh(&self, now: Micros) -> Window {
        Window { start: self.start(now), count: 0.0 }
    }

    fn is_ahead(&self, state: &Window, now: Micros) -> bool {
        state.start > now
    }

    fn settle(&self, state: &mut Window, now: Micros) {
        if state.start > now {
            state.start = self.start(now);
        } else if now - state.start >= self.window {
            *state = self.fresh(now);
        }
    }

    fn price(&self, cost: f64) -> f64 {
        cost
    }

    fn room(&self, state: &Window, now: Micros) -> f64 {
        self.limit - self.count(state, now)
    }

    fn charge(&self, state: &mut Window, _now: Micros, amount: f64) {
        state.count += amount;
    }

    fn refund(&self, state: &mut Window, _now: Micros, amount: f64, charged_at: Option<Micros>) {
        if charged_at.is_none_or(|at| at >= state.start) {
            state.count = (state.count - amount).max(0.0);
        }
    }

    fn retry_after(&self, state: &Window, now: Micros, _cost: f64) -> Micros {
        state.start + self.window - now
    }

    fn reset_after(&self, state: &Window, now: Micros) -> Micros {
        if self.count(state, now) > 0.0 { state.start + self.window - now } else { 0 }
    }

    fn most(&self) -> f64 {
        self.limit
    }

    fn counts_denied(&self) -> bool {
        self.count_denied
    }

    fn numbers(&self, cost: f64, out: &mut Vec<f64>) {
        out.extend([cost, self.limit, self.window as f64, flag(self.count_denied)]);
    }

    fn parse(&self, numbers: &[f64], _cost: f64) -> Option<Window> {
        let &[_now, start, counted] = numbers else { return None };
        Some(Window { start: micros(start)?, count: count(counted)? })
    }
}
