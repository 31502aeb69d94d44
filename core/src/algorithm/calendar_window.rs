//! Fixed window of the calendar: a count that starts again with every day, week, month or year.

use std::sync::Arc;

use super::calendar::{Around, Calendar, Period};
use super::{Algorithm, Micros, count, flag, micros};

#[derive(Debug, Clone)]
pub(crate) struct FixedCalendarWindow {
    pub(crate) limit: f64,
    pub(crate) calendar: Arc<Calendar>,
    /// How long a window is, or about how long.
    pub(crate) window: Micros,
    pub(crate) count_denied: bool,
}

/// What was counted since the window began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    window: Period,
    count: f64,
}

impl FixedCalendarWindow {
    /// The windows among which a script chooses by the server's clock: that of the caller's clock and its neighbours.
    pub(crate) fn windows(&self, caller_now: Micros, out: &mut Vec<f64>) {
        let Around { current: Period { number, start, end }, former, later } =
            self.calendar.around(caller_now);
        out.extend([number, former, start, end, later].map(|number| number as f64));
    }

    fn count(&self, state: &Counted, now: Micros) -> f64 {
        if now < state.window.end { state.count } else { 0.0 }
    }
}

impl Algorithm for FixedCalendarWindow {
    type State = Counted;

    fn fresh(&self, now: Micros) -> Counted {
        Counted { window: self.calendar.at(now), count: 0.0 }
    }

    fn is_ahead(&self, state: &Counted, now: Micros) -> bool {
        state.window.start > now
    }

    fn settle(&self, state: &mut Counted, now: Micros) {
        if state.window.start > now {
            state.window = self.calendar.at(now);
        } else if now >= state.window.end {
            *state = self.fresh(now);
        }
    }

    fn price(&self, cost: f64) -> f64 {
        cost
    }

    fn room(&self, state: &Counted, now: Micros) -> f64 {
        self.limit - self.count(state, now)
    }

    fn charge(&self, state: &mut Counted, _now: Micros, amount: f64) {
        state.count += amount;
    }

    fn refund(&self, state: &mut Counted, _now: Micros, amount: f64, charged_at: Option<Micros>) {
        if charged_at.is_none_or(|at| at >= state.window.start) {
            state.count = (state.count - amount).max(0.0);
        }
    }

    fn retry_after(&self, state: &Counted, now: Micros, _cost: f64) -> Micros {
        state.window.end - now
    }

    fn reset_after(&self, state: &Counted, now: Micros) -> Micros {
        if self.count(state, now) > 0.0 { state.window.end - now } else { 0 }
    }

    fn most(&self) -> f64 {
        self.limit
    }

    fn counts_denied(&self) -> bool {
        self.count_denied
    }

    /// The script's numbers end with [`windows`](Self::windows).
    fn numbers(&self, cost: f64, out: &mut Vec<f64>) {
        out.extend([cost, self.limit, flag(self.count_denied)]);
    }

    fn parse(&self, numbers: &[f64], _cost: f64) -> Option<Counted> {
        let &[now, number, counted] = numbers else { return None };
        let window = self.calendar.at(micros(now)?);
        (window.number as f64 == number).then_some(Counted { window, count: count(counted)? })
    }
}
