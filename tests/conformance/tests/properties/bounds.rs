//! Never more than the algorithm's own bound is admitted, however the checks fall.

use proptest::prelude::*;
use sluicegate_conformance::Driver;

use crate::history::{any_start, checks};
use crate::holds;
use crate::rules::{RandomRule, plain_rule};
use crate::world::{World, fits, one};

/// Sums of doubles.
const ROUNDING: f64 = 1e-6;
/// A unit of debt is kept on a grid so coarse that a burst of units adds up exactly: the larger the
/// burst, the fewer bits there are for the unit.
const GRID: f64 = 2_251_799_813_685_248.0;

/// An admitted cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted {
    pub(crate) at: u64,
    pub(crate) cost: f64,
}

#[test]
fn admitted_costs_stay_within_the_bound() {
    holds(2_000, (plain_rule(), any_start(), checks()), |(rule, start, steps)| {
        let mut world = World::new(Driver::Blocking, "memory://", &one(&rule), start);
        let mut admitted = Vec::new();
        for step in steps {
            world.jump(&step.jump, rule.longest_us());
            let cost = world.cost(&step.cost, &rule);
            let decision = world.check(&rule, cost);
            if fits(&decision) {
                admitted.push(Admitted { at: world.clock.now_us(), cost: cost as f64 });
            }
            world.note(Ok(decision)).unwrap();
        }
        let most = Most { limit: rule.bounded(rule.limits[0].limit) as f64, at_once: rule.most() as f64 };
        within(&rule, &admitted, most)
    });
}

/// What a bound is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    pub(crate) limit: f64,
    /// By a key never seen.
    pub(crate) at_once: f64,
}

/// Whether the algorithm's own bound holds.
pub(crate) fn within(rule: &RandomRule, admitted: &[Admitted], most: Most) -> Result<(), TestCaseError> {
    let limit = most.limit;
    match (rule.algorithm(), rule.option()) {
        ("fixed_window", Some("aligned" | "UTC")) => aligned_windows(rule, admitted, limit),
        ("fixed_window", _) => windows_of_first_requests(rule, admitted, limit),
        ("sliding_log", _) => any_window(admitted, limit, rule.longest_us()),
        ("sliding_window", _) => {
            aligned_windows(rule, admitted, limit)?;
            any_window(admitted, 2.0 * limit, rule.longest_us())
        }
        ("sliding_buckets", _) => live_slots(rule, admitted, limit),
        ("decay", _) => faded(rule, admitted, limit + 0.25),
        _ => bucket(rule, admitted, most),
    }
}

fn sum(admitted: &[Admitted], counts: impl Fn(&Admitted) -> bool) -> f64 {
    admitted.iter().filter(|one| counts(one)).map(|one| one.cost).sum()
}

fn aligned_windows(rule: &RandomRule, admitted: &[Admitted], limit: f64) -> Result<(), TestCaseError> {
    let window = |one: &Admitted| one.at / rule.longest_us();
    for last in admitted {
        let total = sum(admitted, |one| window(one) == window(last));
        prop_assert!(total <= limit, "{} in the window of {}", total, last.at);
    }
    Ok(())
}

fn windows_of_first_requests(
    rule: &RandomRule,
    admitted: &[Admitted],
    limit: f64,
) -> Result<(), TestCaseError> {
    let mut end = 0;
    for first in admitted {
        if first.at >= end {
            end = first.at + rule.longest_us();
            let total = sum(admitted, |one| (first.at..end).contains(&one.at));
            prop_assert!(total <= limit, "{} in the window from {}", total, first.at);
        }
    }
    Ok(())
}

/// Windows that end with an admitted check are the fullest.
pub(crate) fn any_window(admitted: &[Admitted], limit: f64, window: u64) -> Result<(), TestCaseError> {
    for last in admitted {
        let total = sum(admitted, |one| one.at <= last.at && one.at + window > last.at);
        prop_assert!(total <= limit, "{} in the window up to {}", total, last.at);
    }
    Ok(())
}

/// A slot is gone when its first microsecond is one window old, so the bound holds for any span that is
/// one slot shorter than the window.
fn live_slots(rule: &RandomRule, admitted: &[Admitted], limit: f64) -> Result<(), TestCaseError> {
    any_window(admitted, limit, rule.longest_us() - rule.slot_us() + 1)
}

/// The burst, and one unit more per interval.
fn bucket(rule: &RandomRule, admitted: &[Admitted], most: Most) -> Result<(), TestCaseError> {
    let interval = rule.longest_us() as f64 / most.limit;
    let rounding = ROUNDING + most.at_once / GRID;
    for (index, first) in admitted.iter().enumerate() {
        let mut total = 0.0;
        for last in &admitted[index..] {
            total += last.cost;
            let bound = most.at_once + (last.at - first.at) as f64 / interval;
            prop_assert!(total <= bound * (1.0 + rounding), "{} from {} to {}", total, first.at, last.at);
        }
    }
    Ok(())
}

/// Every slot that passes divides what was admitted by the factor.
fn faded(rule: &RandomRule, admitted: &[Admitted], limit: f64) -> Result<(), TestCaseError> {
    let (mut level, mut slot) = (0.0, 0);
    for one in admitted {
        let now = one.at / rule.longest_us();
        level = level / rule.decay_factor.powf((now - slot) as f64) + one.cost;
        slot = now;
        prop_assert!(level <= limit * (1.0 + ROUNDING), "level {} at {}", level, one.at);
    }
    Ok(())
}
