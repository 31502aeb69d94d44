//! The algorithms as pure functions of state, time and cost.
//!
//! Each file here is the twin of a file of the same name in the crate `sluicegate-lua`: same names,
//! same order of operations, so that both decide alike to the last bit. The Lua side decides and
//! commits; the figures of a decision (remaining, waits) are computed here alone, for every backend.
//!
//! Times are whole microseconds. Counts are doubles because Lua has no other number; they are whole
//! and exact up to 2^53.

mod calendar;
mod concurrency;
mod decay;
mod fixed_window;
mod gcra;
mod holding;
mod policy;
mod settling;
mod sliding_buckets;
mod sliding_log;
mod sliding_window;
mod standing;

#[cfg(feature = "lab")]
pub(crate) use calendar::Calendar;
pub(crate) use concurrency::Leases;
pub(crate) use holding::{HoldId, Holding, Lease};
pub(crate) use policy::{Policy, State};
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub use settling::Op;
pub(crate) use settling::{Demand, Outcome};
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
pub use standing::StandingChange;
pub(crate) use standing::{Blocking, Standing};

/// A time, or a span of time, in microseconds.
pub(crate) type Micros = i64;

/// One way of limiting: what to keep for a key, and what follows from it.
///
/// Room and price are in the algorithm's own measure (microseconds of debt for GCRA, units of cost
/// otherwise); a cost is admitted when its price is no more than the room there is.
///
/// Looking never writes: `room`, `retry_after` and `reset_after` take a state of any time up to
/// `now` as it was stored. Only what changes a state settles it first.
pub(crate) trait Algorithm {
    /// What is kept for a key.
    type State: Clone;

    /// The state of a key that was never seen.
    fn fresh(&self, now: Micros) -> Self::State;

    /// Whether the state was stored at a time that has not come yet: the clock stepped back.
    fn is_ahead(&self, state: &Self::State, now: Micros) -> bool;

    /// Brings the state to `now`; a stored time in the future counts as now.
    fn settle(&self, state: &mut Self::State, now: Micros);

    /// What one check of `cost` takes, in the algorithm's measure.
    fn price(&self, cost: f64) -> f64;

    /// What can be taken now; negative when a limit was lowered.
    fn room(&self, state: &Self::State, now: Micros) -> f64;

    /// Whether a state that a script replied may be one from which `amount` was taken: what is computed from it
    /// must not overflow.
    fn bears(&self, _state: &Self::State, _amount: f64) -> bool {
        true
    }

    /// Takes `amount`, in the algorithm's measure, from a settled state.
    fn charge(&self, state: &mut Self::State, now: Micros, amount: f64);

    /// Gives `amount` back to a settled state, never below nothing: the newest first or, where it is known
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
    fn numbers(&self, cost: f64, out: &mut Vec<f64>);

    /// The settled state from the numbers a script replied; `None` when they make no sense.
    fn parse(&self, numbers: &[f64], cost: f64) -> Option<Self::State>;
}

/// The first whole number after `early` for which `holds`, which holds for every later one too. It is
/// looked for from an estimate in steps that double, so that a bad one costs little.
fn first_after(mut early: i64, estimate: i64, holds: impl Fn(i64) -> bool) -> i64 {
    let (mut late, mut step) = (estimate.max(early + 1), 1);
    while !holds(late) {
        early = late;
        late += step;
        step *= 2;
    }
    step = 1;
    while late - early > step && holds(late - step) {
        late -= step;
        step *= 2;
    }
    early = early.max(late - step);
    while late - early > 1 {
        let middle = early + (late - early) / 2;
        if holds(middle) { late = middle } else { early = middle }
    }
    late
}

/// The next whole number. (`f64::ceil` is a call where the processor cannot be relied on to have SSE4.1.)
#[inline]
fn ceil(number: f64) -> Micros {
    let whole = number as Micros;
    whole.saturating_add(Micros::from((whole as f64) < number))
}

/// The whole number before, of one that is within the bounds of a time.
#[inline]
fn floor(number: f64) -> f64 {
    let whole = number as Micros as f64;
    if whole > number { whole - 1.0 } else { whole }
}

/// A time in a script's reply.
pub(crate) fn micros(number: f64) -> Option<Micros> {
    (0.0..=9_007_199_254_740_992.0).contains(&number).then_some(number as Micros)
}

/// A count in a script's reply: far more than can be counted in ones, and far less than overflows.
fn count(number: f64) -> Option<f64> {
    (0.0..1e18).contains(&number).then_some(number)
}

/// 1 for a rule that counts denied costs, as scripts are told it.
fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_those_of_the_standard_library() {
        for whole in [0.0, 1.0, 2.0, 4_294_967_296.0, 9_007_199_254_740_991.0] {
            for fraction in [0.0, 1e-9, 0.25, 0.5, 1.0 - 1e-9] {
                for number in [whole + fraction, -whole - fraction] {
                    assert_eq!((floor(number), ceil(number)), (number.floor(), number.ceil() as Micros));
                }
            }
        }
        assert_eq!((ceil(f64::INFINITY), ceil(-f64::INFINITY)), (Micros::MAX, Micros::MIN));
    }

    #[test]
    fn any_estimate_finds_the_first() {
        for first in 1..40 {
            for estimate in -5..50 {
                assert_eq!(first_after(0, estimate, |number| number >= first), first);
            }
        }
        let far = 1 << 60;
        assert_eq!(first_after(-7, 0, |number| number >= far), far);
        assert_eq!(first_after(-7, far, |number| number > -7), -6);
    }
}
