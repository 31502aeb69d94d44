//! What the region in charge of a key lends: what `lend.lua` does, as a pure function.

use crate::algorithm::{Demand, Micros, Op, Outcome, Policy, State};

/// Decides a call of this cost, if there is one, and lends: of what is left so many units as are wanted, and not more than
/// half, but one at least.
pub(crate) fn lend(
    policy: &Policy,
    state: &mut State,
    now: Micros,
    own: Option<f64>,
    want: f64,
) -> (f64, Option<Outcome>) {
    if policy.is_ahead(state, now) {
        policy.advance(state, now);
    }
    let check = |state: &mut State, cost| policy.decide(state, Demand { op: Op::Check, cost, now }, true);
    let outcome = own.map(|cost| check(state, cost));
    let room = policy.room(state, now);
    if want <= 0.0 || room < 1.0 {
        return (0.0, outcome);
    }
    let lent = want.min((room / 2.0).floor().max(1.0));
    check(state, lent);
    (lent, outcome)
}
