//! What one call does to one state, whatever the algorithm.

use super::interface::Algorithm;
use crate::time::clock::LATEST;
use crate::time::clock::Micros;

/// What is done with a state: the calls about a single item.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Charges a cost that fits.
    Check,
    /// Charges nothing.
    Peek,
    /// Gives a cost back.
    Refund,
    /// Charges whether or not there is room.
    Charge,
    /// Holds a cost that fits until it is known what was used.
    Reserve,
}

#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, dead_code, reason = "for bindings"))]
impl Op {
    /// Every call about a single item.
    pub const ALL: [Self; 4] = [Self::Check, Self::Peek, Self::Refund, Self::Charge];

    /// The name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Peek => "peek",
            Self::Refund => "refund",
            Self::Charge => "charge",
            Self::Reserve => "reserve",
        }
    }
}

/// What is asked of a state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub(crate) op: Op,
    pub(crate) cost: f64,
    pub(crate) now: Micros,
}

/// The result of an operation on one limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// Whether this limit had room for the cost.
    pub(crate) fits: bool,
    pub(crate) figures: Figures,
    /// Whether the state is another one than before.
    pub(crate) changed: bool,
    /// How long the key is still blocked, whatever its limits have room for; 0: it is not.
    pub(crate) blocked_for: Micros,
    /// The limit stored for the key that was in force; 0: none was.
    pub(crate) stored_limit: u64,
    /// Whether that one ends by time.
    pub(crate) stored_ends: bool,
}

/// What a change of a rule changes of a limit whose state stays what it is: the limit (of the gcra family the interval),
/// what else shapes it (burst, `decay_factor`), and whether denied costs are counted.
pub(crate) type Terms = [f64; 3];

/// The recorded result of a call that may be repeated, limit by limit.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// Distinguishes the call from others with the same id.
    pub(crate) fingerprint: [u8; 16],
    /// Until when later calls get this answer.
    pub(crate) ends: Micros,
    /// How long that was to be.
    pub(crate) length: Micros,
    pub(crate) outcomes: Vec<Outcome>,
    /// Those of the limits that were asked.
    pub(crate) terms: Vec<Terms>,
}

/// What a decision says about one limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) remaining: u64,
    /// `None`: never.
    pub(crate) retry_after: Option<Micros>,
    pub(crate) reset_after: Micros,
}

impl Outcome {
    /// Of a key that holds all that it may, until a lease ends after `wait`.
    #[inline]
    pub(crate) fn until(self, wait: Micros) -> Self {
        let retry_after = self.figures.retry_after.map(|own| own.max(wait));
        Self { fits: false, figures: Figures { remaining: 0, retry_after, ..self.figures }, ..self }
    }

    /// Whether the cost is admitted, as far as this limit and a block go.
    #[inline]
    pub(crate) fn is_admitted(&self) -> bool {
        self.fits && self.blocked_for == 0
    }

    /// The wait until neither this limit nor a block denies; `None`: never.
    #[inline]
    pub(crate) fn retry_after(&self) -> Option<Micros> {
        self.figures.retry_after.map(|own| own.max(self.blocked_for))
    }

    /// Of a state that is none of its policy's, and of a charge that is not made.
    pub(crate) const NONE: Self = Self {
        fits: false,
        figures: Figures { remaining: 0, retry_after: None, reset_after: 0 },
        changed: false,
        blocked_for: 0,
        stored_limit: 0,
        stored_ends: false,
    };
}

/// Carries out an operation on a state and says how it stands then. `permitted` is whether all the
/// limits that are decided together have room; a refusal is charged only where denied costs count.
#[inline(always)]
pub(super) fn decide<A: Algorithm>(
    algorithm: &A,
    state: &mut A::State,
    demand: Demand,
    permitted: bool,
) -> Outcome {
    let Demand { op, cost, now } = demand;
    let healed = algorithm.is_ahead(state, now);
    if healed {
        algorithm.advance(state, now);
    }
    if op == Op::Refund {
        algorithm.advance(state, now);
        algorithm.refund(state, now, algorithm.price(cost), None);
    }
    let fits = op != Op::Charge && fits(algorithm, state, now, cost);
    let outcome = apply(algorithm, state, demand, fits, permitted);
    Outcome { changed: healed || outcome.changed || op == Op::Refund, ..outcome }
}

/// Whether there is room for `cost`.
#[inline(always)]
pub(super) fn fits<A: Algorithm>(algorithm: &A, state: &A::State, now: Micros, cost: f64) -> bool {
    algorithm.room(state, now) >= algorithm.price(cost)
}

/// Charges a check of which it is known whether it `fits`, and says how the state stands then.
#[inline(always)]
pub(super) fn apply<A: Algorithm>(
    algorithm: &A,
    state: &mut A::State,
    demand: Demand,
    fits: bool,
    permitted: bool,
) -> Outcome {
    if demand.op == Op::Charge {
        return overcharge(algorithm, state, demand);
    }
    let charged = demand.op == Op::Check && if fits { permitted } else { algorithm.counts_denied() };
    if charged {
        charge(algorithm, state, demand.now, demand.cost);
    }
    let figures = figures(algorithm, state, demand, fits);
    Outcome { fits, figures, changed: charged, blocked_for: 0, stored_limit: 0, stored_ends: false }
}

/// [`apply`] where weight is held beside the state, which then counts in full: as a whole number, taken off
/// what there is room for. The waits are those that there were if it was charged now.
#[inline]
pub(super) fn apply_beside<A: Algorithm>(
    algorithm: &A,
    state: &mut A::State,
    demand: Demand,
    fits: bool,
    permitted: bool,
    held: f64,
) -> Outcome {
    let outcome = apply(algorithm, state, demand, fits, permitted);
    if held == 0.0 {
        return outcome;
    }
    let Demand { op, cost, now } = demand;
    let (asked, fits) = match op {
        Op::Charge => (1.0, self::fits(algorithm, state, now, 1.0 + held)),
        _ => (cost, fits),
    };
    let remaining = outcome.figures.remaining.saturating_sub(held as u64);
    let mut owing = state.clone();
    charge_bearable(algorithm, &mut owing, now, held);
    let figures = figures(algorithm, &owing, Demand { op, cost: asked, now }, fits);
    Outcome { fits, figures: Figures { remaining, ..figures }, ..outcome }
}

/// What a charge that asks for no room takes, in units of cost.
#[inline]
pub(super) fn overcharged<A: Algorithm>(algorithm: &A, cost: f64) -> f64 {
    cost.min(algorithm.most_charged())
}

/// Whether a charge leaves the limit overdrawn by no more than a double counts in ones.
#[inline]
pub(super) fn bears<A: Algorithm>(algorithm: &A, state: &A::State, now: Micros, cost: f64) -> bool {
    let amount = algorithm.price(overcharged(algorithm, cost));
    amount - algorithm.room(state, now) <= LATEST as f64
}

/// Charges a cost whether or not there is room, and says what a peek of one unit then would.
#[cold]
fn overcharge<A: Algorithm>(algorithm: &A, state: &mut A::State, demand: Demand) -> Outcome {
    charge(algorithm, state, demand.now, overcharged(algorithm, demand.cost));
    let fits = fits(algorithm, state, demand.now, 1.0);
    let peek = Demand { op: Op::Peek, cost: 1.0, now: demand.now };
    let figures = figures(algorithm, state, peek, fits);
    Outcome { fits, figures, changed: true, blocked_for: 0, stored_limit: 0, stored_ends: false }
}

/// Charges what was held until `at`. Where the clock stepped back since and the state is of a later time, it is charged
/// `now`.
pub(super) fn charge_late<A: Algorithm>(
    algorithm: &A,
    state: &mut A::State,
    at: Micros,
    now: Micros,
    cost: f64,
) {
    charge_bearable(algorithm, state, if algorithm.is_ahead(state, at) { now } else { at }, cost);
}

/// Charges what was or is held, up to what can be counted.
fn charge_bearable<A: Algorithm>(algorithm: &A, state: &mut A::State, now: Micros, cost: f64) {
    algorithm.advance(state, now);
    let bearable = LATEST as f64 + algorithm.room(state, now);
    algorithm.charge(state, now, algorithm.price(cost).min(bearable).max(0.0));
}

#[inline(always)]
pub(super) fn charge<A: Algorithm>(algorithm: &A, state: &mut A::State, now: Micros, cost: f64) {
    algorithm.advance(state, now);
    algorithm.charge(state, now, algorithm.price(cost));
}

/// [`charge`] so many times. Not as one product: where a state has fractions, that may differ in the last digit.
pub(super) fn charge_times<A: Algorithm>(
    algorithm: &A,
    state: &mut A::State,
    now: Micros,
    cost: f64,
    times: usize,
) {
    algorithm.advance(state, now);
    let price = algorithm.price(cost);
    for _ in 0..times {
        algorithm.charge(state, now, price);
    }
}

/// What to say of a state; `fits` is whether the cost was, or would be, admitted by this limit.
#[inline(always)]
fn figures<A: Algorithm>(algorithm: &A, state: &A::State, demand: Demand, fits: bool) -> Figures {
    let Demand { cost, now, .. } = demand;
    let remaining = whole_room(algorithm, state, now);
    let retry_after = if fits {
        Some(0)
    } else if cost > algorithm.most() {
        None
    } else {
        Some(algorithm.retry_after(state, now, cost))
    };
    let reset_after = algorithm.reset_after(state, now);
    Figures { remaining: remaining.max(0).unsigned_abs(), retry_after, reset_after }
}

/// Cold, so that nothing waits for the comparison.
#[cold]
fn one_less(units: i64) -> i64 {
    units - 1
}

/// How many whole units there is room for.
#[inline(always)]
pub(super) fn whole_room<A: Algorithm>(algorithm: &A, state: &A::State, now: Micros) -> i64 {
    let room = algorithm.room(state, now);
    // The conversion cuts fractions off.
    let units = (room / algorithm.price(1.0)) as i64;
    // The quotient may have been rounded up to a whole number.
    if units > 0 && algorithm.price(units as f64) > room { one_less(units) } else { units }
}
