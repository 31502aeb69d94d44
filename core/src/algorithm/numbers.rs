//! Whole numbers: rounding, searching, and those of scripts.

/// What a script is sent of one limit; nearly always as few as need no memory of their own.
pub(crate) type Numbers = smallvec::SmallVec<[f64; 12]>;

use crate::time::clock::Micros;

/// The first whole number after `early` for which `holds`, which holds for every later one too. It is
/// looked for from an estimate in steps that double, so that a bad one costs little.
pub(super) fn first_after(mut early: i64, estimate: i64, holds: impl Fn(i64) -> bool) -> i64 {
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
pub(super) fn ceil(number: f64) -> Micros {
    let whole = number as Micros;
    whole.saturating_add(Micros::from((whole as f64) < number))
}

/// The whole number before, of one that is within the bounds of a time.
#[inline]
pub(super) fn floor(number: f64) -> f64 {
    let whole = number as Micros as f64;
    if whole > number { whole - 1.0 } else { whole }
}

/// A time in a script's reply.
pub(crate) fn micros(number: f64) -> Option<Micros> {
    (0.0..=9_007_199_254_740_992.0).contains(&number).then_some(number as Micros)
}

/// A count in a script's reply: far more than can be counted in ones, and far less than overflows.
pub(super) fn count(number: f64) -> Option<f64> {
    (0.0..1e18).contains(&number).then_some(number)
}

/// 1 for a rule that counts denied costs, as scripts receive it.
pub(super) fn flag(value: bool) -> f64 {
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
