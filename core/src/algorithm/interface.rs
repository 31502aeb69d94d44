//! What every algorithm offers.

use super::numbers::Numbers;
use crate::time::clock::Micros;

/// One way of limiting: what to keep for a key, and what follows from it.
///
/// Room and price are in the algorithm's own measure (microseconds of debt for GCRA, units of cost
/// otherwise); a cost is admitted when its price is no more than the room there is.
///
/// Looking never writes: `room`, `retry_after` and `reset_after` take a state of any time up to
/// `now` as it was stored. Only what changes a state advances it first.
pub(crate) trait Algorithm {
    /// What is kept for a key.
    type State: Clone;

    /// The state of a key that was never seen.
    fn fresh(&self, now: Micros) -> Self::State;

    /// Whether the state was stored at a time that has not come yet: the clock stepped back.
    fn is_ahead(&self, state: &Self::State, now: Micros) -> bool;

    /// Brings the state to `now`; a stored time in the future counts as now.
    fn advance(&self, state: &mut Self::State, now: Micros);

    /// What one check of `cost` takes, in the algorithm's measure.
    fn price(&self, cost: f64) -> f64;

    /// What can be taken now; negative when a limit was lowered.
    fn room(&self, state: &Self::State, now: Micros) -> f64;

    /// Whether a state that a script replied may be one from which `amount` was taken: what is computed from it
    /// must not overflow.
    fn bears(&self, _state: &Self::State, _amount: f64) -> bool {
        true
    }

    /// Takes `amount`, in the algorithm's measure, from a state that was advanced to `now`.
    fn charge(&self, state: &mut Self::State, now: Micros, amount: f64);

    /// Gives `amount` back to such a state, never below nothing: the newest first or, where it is known
    /// when it was charged, what is surely left of that charge and nothing of any other.
    fn refund(&self, state: &mut Self::State, now: Micros, amount: f64, charged_at: Option<Micros>);

    /// The shortest wait until `cost`, which does not fit now but can, fits.
    fn retry_after(&self, state: &Self::State, now: Micros, cost: f64) -> Micros;

    /// Time until the key is as if never seen; 0 when it is.
    fn reset_after(&self, state: &Self::State, now: Micros) -> Micros;

    /// The most that a key never seen admits at once.
    fn most(&self) -> f64;

    /// Whether a denied cost is charged too.
    fn counts_denied(&self) -> bool;

    /// The most units that one charge adds which asks for no room.
    fn most_charged(&self) -> f64 {
        f64::INFINITY
    }

    /// The numbers a script needs, in the order its file states.
    fn numbers(&self, cost: f64, out: &mut Numbers);

    /// The state, advanced to its time, from the numbers a script replied; `None` when they make no sense.
    fn parse(&self, numbers: &[f64], cost: f64) -> Option<Self::State>;
}
