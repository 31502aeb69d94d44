//! Fixed window: a count that starts again with every window.

use std::sync::Arc;

use super::calendar::{Around, Calendar, Period};
use super::interface::Algorithm;
use super::numbers::{Numbers, count, flag, micros};
use crate::rules::WindowStart;
use crate::time::clock::Micros;

#[derive(Debug, Clone)]
pub(crate) struct FixedWindow {
    pub(crate) limit: f64,
    /// By the calendar: about how long windows are.
    pub(crate) window: Micros,
    pub(crate) begins: Begins,
    pub(crate) count_denied: bool,
}

/// When windows begin.
#[derive(Debug, Clone)]
pub(crate) enum Begins {
    /// At multiples of their length.
    Aligned,
    /// At the first counted check.
    FirstRequest,
    /// By the calendar.
    Calendar(Arc<Calendar>),
}

impl From<WindowStart> for Begins {
    fn from(start: WindowStart) -> Self {
        match start {
            WindowStart::Aligned => Self::Aligned,
            WindowStart::FirstRequest => Self::FirstRequest,
        }
    }
}

/// What was counted since the window began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    start: Micros,
    count: f64,
}

impl FixedWindow {
    #[inline(always)]
    fn count(&self, state: &Window, now: Micros) -> f64 {
        if now < self.end(state) { state.count } else { 0.0 }
    }

    #[inline(always)]
    fn start(&self, now: Micros) -> Micros {
        match &self.begins {
            Begins::Aligned => now - now.rem_euclid(self.window),
            Begins::FirstRequest => now,
            Begins::Calendar(calendar) => calendar.at(now).start,
        }
    }

    #[inline(always)]
    fn end(&self, state: &Window) -> Micros {
        match &self.begins {
            Begins::Calendar(calendar) => calendar.at(state.start).end,
            Begins::Aligned | Begins::FirstRequest => state.start + self.window,
        }
    }

    /// How long a window is at most. By the calendar, days and weeks have an hour or two more, months and years a day.
    pub(crate) fn longest(&self) -> Micros {
        const HOUR: Micros = 3_600_000_000;
        match &self.begins {
            Begins::Calendar(_) if self.window <= 7 * 24 * HOUR => self.window + 3 * HOUR,
            Begins::Calendar(_) => self.window + 48 * HOUR,
            Begins::Aligned | Begins::FirstRequest => self.window,
        }
    }

    /// What the script for windows of the calendar chooses from by the server's clock: the window of the caller's
    /// clock and its neighbours.
    pub(crate) fn windows(&self, caller_now: impl FnOnce() -> Micros, out: &mut Numbers) {
        if let Begins::Calendar(calendar) = &self.begins {
            let Around { current, former, later } = calendar.around(caller_now());
            let Period { number, start, end } = current;
            out.extend([number, former, start, end, later].map(|number| number as f64));
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

    fn advance(&self, state: &mut Window, now: Micros) {
        if state.start > now {
            state.start = self.start(now);
        } else if now >= self.end(state) {
            *state = self.fresh(now);
        }
    }

    fn price(&self, cost: f64) -> f64 {
        cost
    }

    #[inline(always)]
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

    #[inline(always)]
    fn retry_after(&self, state: &Window, now: Micros, _cost: f64) -> Micros {
        self.end(state) - now
    }

    #[inline(always)]
    fn reset_after(&self, state: &Window, now: Micros) -> Micros {
        if self.count(state, now) > 0.0 { self.end(state) - now } else { 0 }
    }

    fn most(&self) -> f64 {
        self.limit
    }

    fn counts_denied(&self) -> bool {
        self.count_denied
    }

    /// The numbers of the script for windows of the calendar end with [`windows`](Self::windows).
    fn numbers(&self, cost: f64, out: &mut Numbers) {
        out.extend([cost, self.limit]);
        if !matches!(self.begins, Begins::Calendar(_)) {
            out.push(self.window as f64);
        }
        out.push(flag(self.count_denied));
    }

    fn parse(&self, numbers: &[f64], _cost: f64) -> Option<Window> {
        let &[now, start, counted] = numbers else { return None };
        let start = match &self.begins {
            // The script returns the number of the window.
            Begins::Calendar(calendar) => {
                let window = calendar.at(micros(now)?);
                (window.number as f64 == start).then_some(window.start)?
            }
            Begins::Aligned | Begins::FirstRequest => micros(start)?,
        };
        Some(Window { start, count: count(counted)? })
    }
}
