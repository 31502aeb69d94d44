//! Every key on a server ends by itself, and not much later than it is needed.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sluicegate::{CheckOptions, RateLimiter, Rules};
use sluicegate_conformance::{Driver, Stored};
use sluicegate_test_servers::Redis;

use crate::history::{Act, Step, any_start, any_steps};
use crate::holds;
use crate::rules::{RandomRule, any_rule};
use crate::world::{World, fits, one};

/// Under a manual clock keys live a minute longer.
const SLACK_MS: u64 = 60_000;
/// Rounding up, once by the script and once by the server.
const ROUNDING_MS: u64 = 2;

/// What a lifetime may exceed `reset_after`, which is `needed_ms`, by, under a manual clock.
fn excess_ms(rule: &RandomRule, needed_ms: u64) -> u64 {
    let longest_ms = rule.longest_us().div_ceil(1_000);
    let excess = match rule.algorithm() {
        // The number of slots that a level takes to fade is estimated.
        "decay" => 2 * longest_ms,
        // Debts that end about together share a lifetime, unless one is twice the other.
        _ if rule.is_gcra() => needed_ms + needed_ms.div_ceil(8),
        // A lifetime given once for many charges does not see the manual clock run ahead.
        _ => longest_ms,
    };
    excess + ROUNDING_MS
}

fn of_one_key(steps: Vec<Step>) -> Vec<Step> {
    steps.into_iter().map(|step| Step { key: 0, resource: 0, ..step }).collect()
}

#[test]
fn cover_reset_after_and_little_more() {
    let redis = Redis::start().unwrap();
    let stored = RefCell::new(Stored::on(&redis));
    holds(500, (any_rule(), any_start(), any_steps().prop_map(of_one_key)), |(rule, start, steps)| {
        let mut stored = stored.borrow_mut();
        stored.clear();
        let mut world = World::new(Driver::Blocking, redis.url(), &one(&rule), start);
        // A lifetime given by an earlier step has been running since.
        let began = Instant::now();
        let mut latest = 0;
        for (number, step) in steps.iter().enumerate() {
            let answer = world.play(&rule, step);
            // So has one given before the manual clock was set back; a server's clock takes its keys along.
            latest = latest.max(world.clock.now_us());
            let back_ms = (latest - world.clock.now_us()).div_ceil(1_000);
            let entries = stored.entries();
            let spent_ms = began.elapsed().as_millis() as u64 + 1;
            prop_assert!(entries.values().all(|entry| entry.ttl_ms > 0), "step {}: {:?}", number, entries);
            let Some(Ok(decision)) = answer else { continue };
            if step.act == Act::Check && fits(&decision) {
                let longest = entries.values().map(|entry| entry.ttl_ms.unsigned_abs()).max().unwrap();
                let needed = decision.reset_after.as_millis() as u64;
                prop_assert!(
                    longest + spent_ms + back_ms >= needed,
                    "step {}: {} of {}",
                    number,
                    longest,
                    needed
                );
                let most = needed + SLACK_MS + excess_ms(&rule, needed);
                prop_assert!(longest <= most, "step {}: {}, more than {}", number, longest, most);
            }
        }
        Ok(())
    });
}

/// At the latest when what was counted has passed.
#[test]
fn return_to_keys_that_lost_them() {
    let redis = Redis::start().unwrap();
    let stored = RefCell::new(Stored::on(&redis));
    holds(300, (any_rule(), any_start(), any_steps().prop_map(of_one_key)), |(rule, start, steps)| {
        let mut stored = stored.borrow_mut();
        stored.clear();
        let mut world = World::new(Driver::Blocking, redis.url(), &one(&rule), start);
        for step in &steps {
            let _ = world.play(&rule, step);
        }
        stored.persist_all();
        let decision = world.check(&rule, 1);
        world.clock.advance(decision.reset_after);
        prop_assert!(fits(&world.check(&rule, 1)));
        prop_assert_eq!(stored.immortal(), Vec::<String>::new());
        Ok(())
    });
}

#[test]
fn fit_the_servers_clock() {
    let redis = Redis::start().unwrap();
    let mut stored = Stored::on(&redis);
    holds_now(&redis, &mut stored, "fixed_window", r#""window_size_seconds": 3600"#, 0);
    holds_now(
        &redis,
        &mut stored,
        "fixed_window",
        r#""window_size_seconds": 0.25, "window_start": "first_request""#,
        0,
    );
    holds_now(&redis, &mut stored, "sliding_window", r#""window_size_seconds": 5"#, 0);
    holds_now(&redis, &mut stored, "sliding_log", r#""window_size_seconds": 5"#, 313);
    holds_now(
        &redis,
        &mut stored,
        "sliding_log",
        r#""window_size_seconds": 5, "structure": "sorted_set""#,
        313,
    );
    holds_now(&redis, &mut stored, "sliding_buckets", r#""window_size_seconds": 5"#, 0);
    holds_now(&redis, &mut stored, "gcra", r#""window_size_seconds": 5"#, 219);
    holds_now(&redis, &mut stored, "decay", r#""resolution_seconds": 0.1"#, 200);
}

/// Charges that find the life given by an earlier one long enough leave it as it is.
#[test]
fn fit_the_servers_clock_when_they_are_shared() {
    let redis = Redis::start().unwrap();
    let mut stored = Stored::on(&redis);
    let rule = r#"[{"rule_id": "r", "algorithm": "gcra", "limit": 1000, "window_size_seconds": 5}]"#;
    let rules = Rules::from_json(rule).unwrap();
    let limiter = RateLimiter::builder(redis.url()).rules(rules).build().unwrap();
    // The key outlives a pause of a busy machine.
    limiter.check_with("r", "k", CheckOptions::new().cost(300)).unwrap();
    for number in 0..300 {
        let began = Instant::now();
        // Now and then a debt falls.
        let decision = if number % 20 == 19 { limiter.refund("r", "k") } else { limiter.check("r", "k") };
        let needed = decision.unwrap().reset_after;
        let [entry] = stored.entries().into_values().collect::<Vec<_>>().try_into().unwrap();
        let (left, spent) = (Duration::from_millis(entry.ttl_ms.unsigned_abs()), began.elapsed());
        assert!(left + spent >= needed, "{number}: {left:?} of {needed:?}");
        let most = needed + needed / 16 + Duration::from_millis(ROUNDING_MS);
        assert!(left <= most, "{number}: {left:?}, more than {most:?}");
    }
}

/// One check by the server's clock, and what its key then has left.
fn holds_now(redis: &Redis, stored: &mut Stored, algorithm: &str, options: &str, excess_ms: u64) {
    let rule = format!(r#"[{{"rule_id": "r", "algorithm": "{algorithm}", "limit": 10, {options}}}]"#);
    let rules = Rules::from_json(&rule).unwrap();
    let limiter = RateLimiter::builder(redis.url()).rules(rules).build().unwrap();
    let began = Instant::now();
    let reset_after = limiter.check_with("r", "k", CheckOptions::new().cost(7)).unwrap().reset_after;
    let [entry] = stored.entries().into_values().collect::<Vec<_>>().try_into().unwrap();
    let (left, spent) = (Duration::from_millis(entry.ttl_ms.unsigned_abs()), began.elapsed());
    assert!(left + spent >= reset_after, "{algorithm}: {left:?} of {reset_after:?}");
    let most = reset_after + Duration::from_millis(excess_ms + ROUNDING_MS);
    assert!(left <= most, "{algorithm}: {left:?}, more than {most:?}");
    stored.clear();
}
