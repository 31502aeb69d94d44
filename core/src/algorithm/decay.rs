//! Decay: a level that every slot which passes divides by a factor; an AR(1) filter, or exponential
//! smoothing, of the admitted cost. (R. G. Brown, "Exponential smoothing for predicting demand",
//! 1956.)

use super::interface::Algorithm;
use super::numbers::{Numbers, ceil, count, first_after, flag, floor, micros};
use crate::time::clock::Micros;

/// A level this small is none.
const NOTHING: f64 = 1e-9;

#[derive(Debug, Clone)]
pub(crate) struct Decay {
    /// May be fractional.
    pub(super) limit: f64,
    /// Length of a slot.
    pub(super) resolution: Micros,
    pub(super) factor: f64,
    /// Slots in which a level falls by the factor e.
    slots_per_e: f64,
    pub(crate) count_denied: bool,
}

/// A level, and the slot in which it was so. It stays as it was stored until something is charged:
/// what a later slot makes of it is then the same however often somebody looked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    slot: i64,
    level: f64,
}

/// Repeated squaring, and not `powf`: the server's C library might round differently.
fn power(mut base: f64, mut exponent: i64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            result *= base;
        }
        base *= base;
        exponent /= 2;
    }
    result
}

impl Decay {
    pub(crate) fn new(limit: f64, resolution: Micros, factor: f64, count_denied: bool) -> Self {
        Self { limit, resolution, factor, slots_per_e: factor.ln().recip(), count_denied }
    }

    /// How long it takes the highest level that is admitted to fade, up to a slot.
    pub(super) fn longest(&self) -> Micros {
        (ceil((self.limit / NOTHING).ln() * self.slots_per_e) + 1).saturating_mul(self.resolution)
    }

    fn slot(&self, at: Micros) -> i64 {
        at.div_euclid(self.resolution)
    }

    fn level_in(&self, state: &Level, slot: i64) -> f64 {
        if state.slot >= slot {
            return state.level;
        }
        let level = state.level / power(self.factor, slot - state.slot);
        if level <= NOTHING { 0.0 } else { level }
    }

    /// The slot of `now`. Mostly it is that of the state, which is seen without a division.
    fn slot_now(&self, state: &Level, now: Micros) -> i64 {
        let start = state.slot.saturating_mul(self.resolution);
        if (start..start.saturating_add(self.resolution)).contains(&now) {
            state.slot
        } else {
            self.slot(now)
        }
    }

    fn level(&self, state: &Level, now: Micros) -> f64 {
        self.level_in(state, self.slot_now(state, now))
    }

    /// The start of the first slot after `now` in which the level suffices, as `done` sees it;
    /// `target` is that level, roughly. The search starts at the estimate that the target gives.
    fn wait(&self, state: &Level, now: Micros, target: f64, done: impl Fn(f64) -> bool) -> Micros {
        let slot = self.slot_now(state, now);
        let level = self.level_in(state, slot);
        let estimate = slot + ceil((level / target.max(NOTHING)).ln() * self.slots_per_e);
        first_after(slot, estimate, |slot| done(self.level_in(state, slot))) * self.resolution - now
    }
}

impl Algorithm for Decay {
    type State = Level;

    fn fresh(&self, now: Micros) -> Level {
        Level { slot: self.slot(now), level: 0.0 }
    }

    fn is_ahead(&self, state: &Level, now: Micros) -> bool {
        state.slot > self.slot_now(state, now)
    }

    fn advance(&self, state: &mut Level, now: Micros) {
        let slot = self.slot_now(state, now);
        state.slot = state.slot.min(slot);
        if self.level_in(state, slot) == 0.0 {
            *state = self.fresh(now);
        }
    }

    fn price(&self, cost: f64) -> f64 {
        cost
    }

    fn room(&self, state: &Level, now: Micros) -> f64 {
        floor(self.limit - self.level(state, now))
    }

    fn charge(&self, state: &mut Level, now: Micros, amount: f64) {
        let slot = self.slot_now(state, now);
        *state = Level { slot, level: self.level_in(state, slot) + amount };
    }

    fn refund(&self, state: &mut Level, now: Micros, amount: f64, charged_at: Option<Micros>) {
        let slots_passed = charged_at.map_or(0, |at| self.slot(now) - self.slot(at));
        let level = self.level(state, now) - amount / power(self.factor, slots_passed);
        *state = Level { slot: self.slot(now), level: if level > NOTHING { level } else { 0.0 } };
    }

    fn retry_after(&self, state: &Level, now: Micros, cost: f64) -> Micros {
        self.wait(state, now, self.limit - cost, |level| floor(self.limit - level) >= cost)
    }

    fn reset_after(&self, state: &Level, now: Micros) -> Micros {
        if self.level(state, now) == 0.0 {
            return 0;
        }
        self.wait(state, now, NOTHING, |level| level == 0.0)
    }

    fn most(&self) -> f64 {
        floor(self.limit)
    }

    fn counts_denied(&self) -> bool {
        self.count_denied
    }

    fn numbers(&self, cost: f64, out: &mut Numbers) {
        out.extend([
            cost,
            self.limit,
            self.resolution as f64,
            self.factor,
            self.slots_per_e,
            flag(self.count_denied),
        ]);
    }

    fn parse(&self, numbers: &[f64], _cost: f64) -> Option<Level> {
        let &[_now, slot, level] = numbers else { return None };
        Some(Level { slot: micros(slot)?, level: count(level)? })
    }
}
