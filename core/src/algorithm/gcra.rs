//! GCRA: a debt of time that leaks one microsecond per microsecond.
//!
//! Source: ATM Forum, Traffic Management Specification 4.1, section 4.4.2 (the virtual scheduling
//! and the leaky bucket form of the generic cell rate algorithm), in the leaky bucket form.

use super::interface::Algorithm;
use super::numbers::{Numbers, ceil, first_after, micros};
use crate::time::clock::LATEST;
use crate::time::clock::Micros;

#[derive(Debug, Clone)]
pub(crate) struct Gcra {
    /// Microseconds of debt that one unit of cost adds.
    pub(super) unit: f64,
    /// The debt at which the burst is used up.
    full: f64,
    pub(super) burst: f64,
    /// The time in which a whole burst leaks away, or the latest time.
    pub(super) window: Micros,
}

/// What is owed, when that was so, and the interval that a unit took when it was counted: where the limit has
/// changed since, the debt leaks at that one, and what counts is the units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Debt {
    debt: f64,
    at: Micros,
    interval: f64,
}

/// Neither a burst nor what it was overdrawn by takes longer to leak away than the latest time.
const LONGEST_DEBT: f64 = 2.0 * LATEST as f64;

impl Gcra {
    pub(crate) fn new(limit: f64, window: Micros, burst: f64) -> Self {
        Self::of_units(on_grid(window as f64 / limit, burst), burst)
    }

    /// By what one unit of cost adds.
    pub(super) fn of_units(unit: f64, burst: f64) -> Self {
        let full = burst * unit;
        Self { unit, full, burst, window: ceil(full).min(LATEST) }
    }

    /// A debt of as many units at this limit's interval.
    #[inline]
    fn rescaled(&self, debt: f64, interval: f64) -> f64 {
        if interval == self.unit { debt } else { self.converted(debt, interval) }
    }

    /// Cold, so that the division is not made and thrown away where the limit has not changed.
    #[cold]
    fn converted(&self, debt: f64, interval: f64) -> f64 {
        debt / interval * self.unit
    }
}

/// Rounds a unit down to a multiple of a power of two, fine enough that nobody can tell and coarse
/// enough that every sum of units up to the burst is exact: a burst of 3 at 3 per second is then
/// three checks and not, for want of the last bit, two.
fn on_grid(unit: f64, burst: f64) -> f64 {
    let full = burst * unit;
    let mut power = power_in(full);
    if power < full {
        power *= 2.0;
    }
    let scale = 4_503_599_627_370_496.0 / power;
    (unit * scale).floor() / scale
}

/// The highest power of two in a number: its exponent alone. `stored.lua` finds it by S. M. Rump's algorithm.
fn power_in(number: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(number.to_bits() & EXPONENT)
}

impl Debt {
    fn left(&self, now: Micros) -> f64 {
        (self.debt - (now - self.at) as f64).max(0.0)
    }
}

impl Algorithm for Gcra {
    type State = Debt;

    fn fresh(&self, now: Micros) -> Debt {
        Debt { debt: 0.0, at: now, interval: self.unit }
    }

    fn is_ahead(&self, state: &Debt, now: Micros) -> bool {
        state.at > now
    }

    fn advance(&self, state: &mut Debt, now: Micros) {
        state.debt = state.left(now.max(state.at));
        state.at = now;
    }

    fn price(&self, cost: f64) -> f64 {
        cost * self.unit
    }

    fn room(&self, state: &Debt, now: Micros) -> f64 {
        self.full - self.rescaled(state.left(now), state.interval)
    }

    fn bears(&self, state: &Debt, amount: f64) -> bool {
        self.rescaled(state.debt, state.interval) + amount <= LONGEST_DEBT
    }

    /// A charge of nothing, as of a lease that ended where no more can be counted, leaves the interval.
    fn charge(&self, state: &mut Debt, _now: Micros, amount: f64) {
        if state.interval == self.unit {
            state.debt += amount;
        } else if amount > 0.0 {
            state.debt = self.converted(state.debt, state.interval) + amount;
            state.interval = self.unit;
        }
    }

    /// What may have leaked since, by whichever interval is the shorter, is not given back, whether it was this
    /// charge's or not.
    fn refund(&self, state: &mut Debt, now: Micros, mut amount: f64, charged_at: Option<Micros>) {
        if let Some(at) = charged_at {
            let mut leaked = (now - at) as f64;
            if state.interval < self.unit {
                leaked *= self.unit / state.interval;
            }
            amount = (amount - leaked).max(0.0);
        }
        if state.interval != self.unit {
            amount = amount / self.unit * state.interval;
        }
        state.debt = (state.debt - amount).max(0.0);
    }

    fn retry_after(&self, state: &Debt, now: Micros, cost: f64) -> Micros {
        let price = self.price(cost);
        let mut kept = self.full - price;
        if state.interval != self.unit {
            kept = kept / self.unit * state.interval;
        }
        // As of now, as a script replies it: beyond 2^53 it matters from when time is counted.
        let state = Debt { debt: state.left(now), at: now, ..*state };
        let estimate = now + ceil(state.debt - kept);
        // What was charged at another limit lies on the grid of that one, and then the estimate may be rounded;
        // what counts is what a check then would say.
        first_after(now, estimate, |at| self.room(&state, at) >= price) - now
    }

    fn reset_after(&self, state: &Debt, now: Micros) -> Micros {
        ceil(state.left(now))
    }

    fn most(&self) -> f64 {
        self.burst
    }

    fn counts_denied(&self) -> bool {
        false
    }

    fn numbers(&self, cost: f64, out: &mut Numbers) {
        out.extend([self.price(cost), self.full, self.unit]);
    }

    fn parse(&self, numbers: &[f64], _cost: f64) -> Option<Debt> {
        let (now, debt, interval) = match *numbers {
            [now, debt] => (now, debt, self.unit),
            [now, debt, interval] => (now, debt, interval),
            _ => return None,
        };
        let is_sound = (0.0..=LONGEST_DEBT).contains(&debt) && micros(interval).is_some() && interval > 0.0;
        is_sound.then_some(Debt { debt, at: micros(now)?, interval })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_of_a_second_add_up() {
        let gcra = Gcra::new(3.0, 1_000_000, 3.0);
        let mut state = gcra.fresh(0);
        for left in [3.0, 2.0, 1.0] {
            assert_eq!((gcra.room(&state, 0) / gcra.price(1.0)).floor(), left);
            gcra.charge(&mut state, 0, gcra.price(1.0));
        }
        assert_eq!(gcra.retry_after(&state, 0, 1.0), 333_334);
        assert_eq!(gcra.reset_after(&state, 0), 1_000_000);
    }

    #[test]
    fn a_changed_limit_keeps_the_units() {
        let [plain, raised, lowered] = [5.0, 100.0, 2.0].map(|limit| Gcra::new(limit, 3_600_000_000, limit));
        let left = |gcra: &Gcra, state: &Debt| (gcra.room(state, 0) / gcra.price(1.0)).floor();
        let mut state = plain.fresh(0);
        plain.charge(&mut state, 0, plain.price(5.0));
        assert_eq!([&plain, &raised, &lowered].map(|gcra| left(gcra, &state)), [0.0, 95.0, -3.0]);
        // Four units have to leak, of 12 minutes each.
        assert_eq!(lowered.retry_after(&state, 0, 1.0), 2_880_000_000);
        assert_eq!(raised.reset_after(&state, 0), 3_600_000_000);
        raised.charge(&mut state, 0, raised.price(1.0));
        assert_eq!((left(&raised, &state), raised.reset_after(&state, 0)), (94.0, 216_000_000));
        raised.refund(&mut state, 0, raised.price(4.0), None);
        assert_eq!(left(&plain, &state), 3.0);
        lowered.charge(&mut state, 0, 0.0);
        assert_eq!(raised.reset_after(&state, 0), 72_000_000, "a charge of nothing changed the interval");
    }

    #[test]
    fn a_cost_fits_after_the_wait_whatever_the_limit_was_when_others_were_charged() {
        for (earlier, limit) in (1..100).flat_map(|earlier| (1..100).map(move |limit| (earlier, limit))) {
            let [earlier, gcra] = [earlier, limit].map(|limit| Gcra::new(f64::from(limit), 1_000_000, 7.0));
            let mut state = earlier.fresh(0);
            earlier.charge(&mut state, 0, earlier.price(7.0));
            let fits = |at| gcra.room(&state, at) >= gcra.price(1.0);
            if !fits(0) {
                let wait = gcra.retry_after(&state, 0, 1.0);
                assert!(fits(wait) && !fits(wait - 1), "{limit}: {state:?} does not fit after {wait}");
            }
        }
    }
}
