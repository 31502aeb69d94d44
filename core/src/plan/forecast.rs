//! What some states will admit next, as far as one call has shown.

use super::{Few, Plan};
use crate::algorithm::{Demand, Micros, Op, Policy, State};
use crate::plan::ENFORCED;

/// The enforced states of a call as it left them, in the order of its plan. It holds until somebody else comes.
#[derive(Debug)]
pub(crate) struct Forecast(Few<(Policy, State, Micros)>);

impl Forecast {
    /// From the state and the time of each charge; `None` where a script replies no more of a state than one cost
    /// needs, and where a call brought a limit of its own.
    pub(crate) fn new(plan: &Plan<'_>, states: Vec<(State, Micros)>) -> Option<Self> {
        let enforced = plan.charges.iter().zip(states).filter(|(charge, _)| charge.group == ENFORCED);
        let known = enforced.map(|(charge, (state, now))| {
            let is_whole = charge.amount.is_none()
                && charge.stander.is_none()
                && matches!(state, State::Window(_) | State::Windows(_) | State::Debt(_) | State::Level(_));
            is_whole.then(|| (charge.policy.as_ref().clone(), state, now))
        });
        known.collect::<Option<_>>().map(Self)
    }

    /// How long such costs, one of each state, have to wait `elapsed` microseconds after the call; `None`: for ever,
    /// or nobody knows.
    pub(crate) fn wait(&self, costs: &[f64], elapsed: u64) -> Option<u64> {
        let elapsed = Micros::try_from(elapsed).ok().filter(|_| costs.len() == self.0.len())?;
        let waits = self.0.iter().zip(costs).map(|((policy, state, now), &cost)| {
            let demand = Demand { op: Op::Peek, cost, now: now.checked_add(elapsed)? };
            let outcome = policy.settle_up(&mut state.clone(), demand, true);
            outcome.figures.retry_after.map(Micros::unsigned_abs)
        });
        waits.collect::<Option<Few<_>>>()?.into_iter().max()
    }
}
