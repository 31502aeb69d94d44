//! Concurrency: what is in flight at once. Nothing is charged, so all there is to count is what is held.

use super::interface::Algorithm;
use super::numbers::{Numbers, micros};
use crate::time::clock::Micros;

#[derive(Debug, Clone)]
pub(crate) struct Concurrency {
    pub(crate) limit: f64,
}

/// When places become free, if nobody ends a reservation before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Leases {
    /// The end of the lease by which the cost asked for fits; 0 when it fits already, or never does.
    pub(crate) enough_at: Micros,
    /// The end of the last lease; 0 when there is none.
    pub(crate) last_at: Micros,
}

impl Algorithm for Concurrency {
    type State = Leases;

    fn fresh(&self, _now: Micros) -> Leases {
        Leases::default()
    }

    fn is_ahead(&self, _state: &Leases, _now: Micros) -> bool {
        false
    }

    fn advance(&self, _state: &mut Leases, _now: Micros) {}

    fn price(&self, cost: f64) -> f64 {
        cost
    }

    fn room(&self, _state: &Leases, _now: Micros) -> f64 {
        self.limit
    }

    fn charge(&self, _state: &mut Leases, _now: Micros, _amount: f64) {}

    fn refund(&self, _state: &mut Leases, _now: Micros, _amount: f64, _charged_at: Option<Micros>) {}

    fn retry_after(&self, state: &Leases, now: Micros, _cost: f64) -> Micros {
        (state.enough_at - now).max(0)
    }

    fn reset_after(&self, state: &Leases, now: Micros) -> Micros {
        (state.last_at - now).max(0)
    }

    fn most(&self) -> f64 {
        self.limit
    }

    fn counts_denied(&self) -> bool {
        false
    }

    fn numbers(&self, cost: f64, out: &mut Numbers) {
        out.extend([cost, self.limit]);
    }

    fn parse(&self, numbers: &[f64], _cost: f64) -> Option<Leases> {
        let &[_now, enough_at, last_at] = numbers else { return None };
        Some(Leases { enough_at: micros(enough_at)?, last_at: micros(last_at)? })
    }
}
