//! What some states will admit next, as far as one call has shown.

use super::{Plan, SmallList};
use crate::algorithm::{Demand, Micros, Op, Policy, State};
use crate::plan::ENFORCED;

/// The enforced states of a call as it left them, in the order of its plan. It holds until the next call.
#[derive(Debug)]
pub(crate) enum Forecast {
    States(SmallList<(Policy, State, Micros)>),
    /// What is left, beside what is held: until something is given back, but it is believed no longer than this.
    Room {
        left: SmallList<u64>,
        for_us: u64,
    },
}

impl Forecast {
    /// From the state and the time of each charge; `None` where a script replies no more of a state than one cost
    /// needs, and where a call brought a limit of its own.
    pub(crate) fn new(plan: &Plan<'_>, states: Vec<(State, Micros)>) -> Option<Self> {
        let enforced = plan.charges.iter().zip(states).filter(|(charge, _)| charge.group == ENFORCED);
        let known = enforced.map(|(charge, (state, now))| {
            let is_whole = charge.amount.is_none()
                && charge.recorded_key.is_none()
                && matches!(state, State::Window(_) | State::Windows(_) | State::Debt(_) | State::Level(_));
            is_whole.then(|| (charge.policy.as_ref().clone(), state, now))
        });
        known.collect::<Option<_>>().map(Self::States)
    }

    /// How long such costs, one of each state, have to wait `elapsed` microseconds after the call; `None`: for ever,
    /// or nobody knows.
    pub(crate) fn wait(&self, costs: &[f64], elapsed: u64) -> Option<u64> {
        let states = match self {
            Self::States(states) => states,
            Self::Room { left, for_us } => {
                let has_room = left.iter().zip(costs).all(|(&left, &cost)| cost <= left as f64);
                return (!has_room).then_some(for_us.saturating_sub(elapsed));
            }
        };
        let elapsed = Micros::try_from(elapsed).ok().filter(|_| costs.len() == states.len())?;
        let waits = states.iter().zip(costs).map(|((policy, state, now), &cost)| {
            let demand = Demand { op: Op::Peek, cost, now: now.checked_add(elapsed)? };
            let outcome = policy.decide(&mut state.clone(), demand, true);
            outcome.figures.retry_after.map(Micros::unsigned_abs)
        });
        waits.collect::<Option<SmallList<_>>>()?.into_iter().max()
    }

    /// Whether there may be room sooner than it says.
    pub(crate) fn is_estimate(&self) -> bool {
        matches!(self, Self::Room { .. })
    }
}
