//! What a decision promises is true to the microsecond and to the unit.
//!
//! Each question is put to a copy of its own, made by playing the history again: asking must not
//! disturb the answer.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::{CheckOptions, Decision};
use sluicegate_conformance::Driver;

use crate::history::{Cost, Step, any_cost, any_start, any_steps};
use crate::holds;
use crate::rules::{RandomRule, any_rule};
use crate::world::{NEVER, World, bare, fits};

const TICK: Duration = Duration::from_micros(1);
/// Above this a double need not tell a full bucket from one that lacks a microsecond.
const COUNTED_EXACTLY: u64 = 1_000;

fn histories() -> impl Strategy<Value = (RandomRule, u64, Vec<Step>)> {
    (any_rule(), any_start(), any_steps())
}

/// A copy after the history and a check of the first key, which heals what a clock step left.
fn after_check((rule, start, steps): &(RandomRule, u64, Vec<Step>), cost: u64) -> (World, Decision) {
    let world = World::after(rule, *start, steps);
    let decision = world.check(rule, cost);
    (world, decision)
}

/// A copy of that some time later, and what a check of the cost would answer then.
fn later(history: &(RandomRule, u64, Vec<Step>), cost: u64, wait: Duration) -> Decision {
    let (world, _) = after_check(history, cost);
    world.clock.advance(wait);
    world.check(&history.0, cost)
}

#[test]
fn retry_after_is_the_shortest_wait() {
    let costs = prop_oneof![any_cost(), (1..=2_u64).prop_map(Cost::BeyondRemaining)];
    holds(1_500, (histories(), costs, 0.0..1.0), |(history, cost, share)| {
        let rule = &history.0;
        let world = World::after(rule, history.1, &history.2);
        let remaining = world.peek(rule, 1, 0).remaining;
        let cost = match cost {
            Cost::BeyondRemaining(more) => rule.bounded(remaining + more).max(1),
            other => world.cost(&other, rule),
        };
        let (world, decision) = after_check(&history, cost);
        let wait = decision.retry_after;
        if fits(&decision) {
            prop_assert_eq!(wait, Duration::ZERO);
            return Ok(());
        }
        prop_assert!(wait > Duration::ZERO);
        if wait == Duration::MAX {
            prop_assert!(cost > rule.most());
            world.clock.advance(Duration::from_micros(5 * rule.longest_us()));
            prop_assert!(!fits(&world.check(rule, cost)));
        } else if world.reaches(wait) {
            prop_assert!(!fits(&later(&history, cost, wait - TICK)), "admitted before {:?}", wait);
            prop_assert!(fits(&later(&history, cost, wait)), "denied after {:?}", wait);
            // Meanwhile the answer counts down, to whoever asks.
            let part = Duration::from_micros((wait.as_micros() as f64 * share) as u64);
            world.clock.advance(part);
            prop_assert_eq!(world.peek(rule, cost, 0).retry_after, wait - part);
        }
        Ok(())
    });
}

#[test]
fn remaining_is_the_most_that_fits() {
    holds(1_500, histories(), |history| {
        let (rule, start, steps) = &history;
        let remaining = World::after(rule, *start, steps).peek(rule, 1, 0).remaining;
        if remaining > 0 {
            prop_assert!(
                fits(&World::after(rule, *start, steps).check(rule, remaining)),
                "{} denied",
                remaining
            );
        }
        let more = remaining + 1;
        prop_assert!(!fits(&World::after(rule, *start, steps).check(rule, more)), "{} admitted", more);
        Ok(())
    });
}

#[test]
fn after_reset_after_a_key_is_as_if_never_seen() {
    holds(1_500, (histories(), any_cost()), |(history, cost)| {
        let rule = &history.0;
        let cost = World::after(rule, history.1, &history.2).cost(&cost, rule);
        let (world, decision) = after_check(&history, cost);
        let wait = decision.reset_after;
        if wait == Duration::ZERO || !world.reaches(wait) {
            return Ok(());
        }
        world.clock.advance(wait - TICK);
        let almost = world.peek(rule, 1, 0);
        prop_assert_eq!(almost.reset_after, TICK);
        // A debt of units of different lengths may end with a fraction of a microsecond.
        let alike = history.2.iter().all(|step| step.limit.is_none());
        let counts_exactly = alike && !matches!(rule.algorithm(), "sliding_window" | "decay");
        if counts_exactly && rule.limits.len() == 1 && almost.limit <= COUNTED_EXACTLY {
            prop_assert!(almost.remaining < almost.limit, "as if never seen before {:?}", wait);
        }
        world.clock.advance(TICK);
        for cost in [1, 2, rule.most(), rule.most() + 1] {
            let known = bare(world.peek(rule, cost, 0));
            prop_assert_eq!(known.reset_after, Duration::ZERO);
            prop_assert_eq!(known, bare(world.peek(rule, cost, NEVER)));
        }
        Ok(())
    });
}

#[test]
fn capacity_never_falls_while_nobody_comes() {
    let offsets = prop::collection::vec(0.0..3.0_f64, 1..30);
    holds(1_000, (histories(), offsets), |(history, mut offsets)| {
        let rule = &history.0;
        let (world, decision) = after_check(&history, 1);
        let (begin, mut remaining) = (world.clock.now_us(), decision.remaining);
        offsets.sort_by(f64::total_cmp);
        for windows in offsets {
            world.clock.set_us(begin + (rule.longest_us() as f64 * windows) as u64);
            let now = world.peek(rule, 1, 0).remaining;
            prop_assert!(now >= remaining, "{} fell to {} after {} windows", remaining, now, windows);
            remaining = now;
        }
        Ok(())
    });
}

/// A debt larger than the bucket: the fractions of a microsecond that a unit takes must not be lost
/// while the wait is worked out.
#[test]
fn retry_after_is_exact_after_a_limit_was_raised() {
    let rule = serde_json::json!([{
        "rule_id": "r", "algorithm": "uniform", "limit": 10, "window_size_seconds": 4.099446
    }]);
    let World { limiter, clock, .. } = World::new(Driver::Blocking, "memory://", &rule, 0);
    assert!(limiter.check("r", "k", CheckOptions::new().limit(3)).unwrap().allowed);
    clock.set_us(340_872);
    let wait = limiter.peek("r", "k", CheckOptions::new()).unwrap().retry_after;
    clock.advance(wait - TICK);
    assert!(!limiter.peek("r", "k", CheckOptions::new()).unwrap().allowed, "admitted before {wait:?}");
    clock.advance(TICK);
    assert!(limiter.peek("r", "k", CheckOptions::new()).unwrap().allowed, "denied after {wait:?}");
}
