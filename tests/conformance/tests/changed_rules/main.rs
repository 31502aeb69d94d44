//! What was stored, and what is held, while the rules change: nothing is lost without a word, in memory as on a server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::panic, reason = "a property that does not hold panics")]

mod windows;
mod world;

use std::time::Duration;

use sluicegate::{Check, CheckOptions, Decision, ErrorKind, Source, Usage};
use sluicegate_test_servers::Redis;

use crate::world::World;

const LARGEST: u64 = (1 << 53) - 1;

fn everywhere(test: impl Fn(&str)) {
    let redis = Redis::start().unwrap();
    test("memory://");
    test(redis.url());
}

fn rule(algorithm: &str, others: &str) -> String {
    let window = if algorithm.contains("resolution") { "" } else { r#", "window_size_seconds": 100"# };
    format!(r#"[{{"rule_id": "r", "algorithm": {algorithm}, "limit": 10{window}{others}}}]"#)
}

const ALGORITHMS: [&str; 9] = [
    r#""fixed_window""#,
    r#""sliding_window""#,
    r#""sliding_log""#,
    r#""sliding_log", "structure": "sorted_set""#,
    r#""sliding_buckets""#,
    r#""gcra""#,
    r#""token_bucket", "burst": 10"#,
    r#""uniform""#,
    r#""decay", "resolution_seconds": 100"#,
];

/// The most that each can count of a limit that no algorithm but some can count.
fn most_of(algorithm: &str) -> u64 {
    match algorithm {
        log if log.starts_with(r#""sliding_log""#) => 100_000,
        r#""gcra""# => 1 << 32,
        r#""token_bucket", "burst": 10"# => 10,
        r#""uniform""# => 1,
        _ => LARGEST,
    }
}

/// What a limit that was stored before the rule had this algorithm makes of each call.
fn under_a_stored_limit(url: &str, number: usize, algorithm: &str, others: &str) -> Vec<Decision> {
    let prefix = format!("stored{number}{}", others.len());
    let before = if algorithm == r#""fixed_window""# { r#""sliding_window""# } else { r#""fixed_window""# };
    let world = World::new(url, &prefix, &rule(before, others));
    world.limiter.set_limit("r", "k", LARGEST, None).unwrap();
    world.change(&rule(algorithm, others));
    let call = |cost: u64| Check::new("r", "k").with(CheckOptions::new().cost(cost));
    let options = |cost: u64| CheckOptions::new().cost(cost);
    let limiter = &world.limiter;
    let mut decided = vec![
        limiter.peek("r", "k").unwrap(),
        limiter.check_with("r", "k", options(most_of(algorithm).saturating_add(1).min(LARGEST))).unwrap(),
        limiter.check("r", "k").unwrap(),
        limiter.check_all(&[call(2), call(3)]).unwrap(),
        limiter.charge_with("r", "k", options(7)).unwrap(),
        limiter.refund_with("r", "k", options(4)).unwrap(),
        limiter.check_with("r", "k", options(2)).unwrap(),
    ];
    for decision in &mut decided {
        decision.source = Source::Memory;
        decision.parts.iter_mut().for_each(|part| part.source = Source::Memory);
    }
    decided
}

#[test]
fn a_stored_limit_outlives_its_algorithm() {
    let redis = Redis::start().unwrap();
    for (number, algorithm) in ALGORITHMS.into_iter().enumerate() {
        for others in [r#", "overrides": true"#, r#", "overrides": true, "block": {}, "reservations": true"#]
        {
            let in_memory = under_a_stored_limit("memory://", number, algorithm, others);
            let on_redis = under_a_stored_limit(redis.url(), number, algorithm, others);
            assert_eq!(in_memory[0].limit, most_of(algorithm), "{algorithm}");
            assert_eq!(in_memory[0].remaining, most_of(algorithm), "{algorithm}");
            assert_eq!(in_memory, on_redis, "{algorithm}{others}");
        }
    }
}

/// 4 of 10 are held while the rule changes: then they are charged to what the rule counts by.
#[test]
fn a_lease_is_committed_under_the_rule_in_force() {
    everywhere(|url| {
        for (number, (from, to)) in pairs().into_iter().enumerate() {
            let world = World::new(url, &format!("committed{number}"), &rule(from, RESERVING));
            let held = world.reserve(4);
            world.change(&rule(to, RESERVING));
            assert_eq!(world.remaining(), 6, "{from} to {to}: what is held is held");
            assert!(world.limiter.commit(&held, Usage::Cost(3)).unwrap(), "{from} to {to}");
            assert_eq!(world.remaining(), 7, "{from} to {to}: what was used is charged");
            assert!(!world.limiter.commit(&held, Usage::Cost(3)).unwrap(), "{from} to {to}");
            assert_eq!(world.remaining(), 7, "{from} to {to}: and charged once");
        }
    });
}

#[test]
fn a_lease_is_released_or_renewed_under_the_rule_in_force() {
    everywhere(|url| {
        for (number, (from, to)) in pairs().into_iter().enumerate() {
            let world = World::new(url, &format!("released{number}"), &rule(from, RESERVING));
            let (one, other) = (world.reserve(4), world.reserve(2));
            world.change(&rule(to, RESERVING));
            world.clock.advance(Duration::from_secs(1));
            assert!(world.limiter.release(&one).unwrap(), "{from} to {to}");
            assert!(world.limiter.renew(&other).unwrap(), "{from} to {to}");
            // The other's lease would have ended.
            world.clock.advance(Duration::from_millis(4_500));
            assert!(world.limiter.renew(&other).unwrap(), "{from} to {to}");
            assert!(!world.limiter.release(&one).unwrap(), "{from} to {to}");
            assert_eq!(world.remaining(), 8, "{from} to {to}");
        }
    });
}

/// What is never ended is charged where its lease ends, whatever the rule counts by then.
#[test]
fn a_lease_expires_under_the_rule_in_force() {
    everywhere(|url| {
        for (number, (from, to)) in pairs().into_iter().enumerate() {
            let world = World::new(url, &format!("expired{number}"), &rule(from, RESERVING));
            let held = world.reserve(4);
            world.change(&rule(to, RESERVING));
            world.clock.advance(Duration::from_secs(5));
            assert_eq!(world.remaining(), 6, "{from} to {to}");
            assert!(!world.limiter.commit(&held, Usage::AsReserved).unwrap(), "{from} to {to}");
            assert_eq!(world.remaining(), 6, "{from} to {to}");
        }
    });
}

/// What a unit takes by the limit of the call is a time under gcra, and means nothing to another algorithm.
#[test]
fn a_lease_with_a_limit_of_its_own_expires_under_another_algorithm() {
    everywhere(|url| {
        for (number, (from, to)) in pairs().into_iter().enumerate() {
            let world = World::new(url, &format!("own{number}"), &rule(from, RESERVING));
            let own = CheckOptions::new().cost(4).limit(5);
            assert!(world.limiter.reserve_with("r", "k", own).unwrap().allowed);
            world.change(&rule(to, RESERVING));
            world.clock.advance(Duration::from_secs(5));
            assert!(world.limiter.check("r", "k").unwrap().allowed);
            assert_eq!(world.remaining(), 5, "{from} to {to}");
        }
    });
}

const RESERVING: &str = r#", "reservations": true, "lease_seconds": 5"#;

/// Each algorithm to each other, but for the one that admits no four at once.
fn pairs() -> Vec<(&'static str, &'static str)> {
    let all = ALGORITHMS.into_iter().filter(|name| *name != r#""uniform""#);
    all.clone().flat_map(|from| all.clone().filter(move |to| *to != from).map(move |to| (from, to))).collect()
}

#[test]
fn a_lease_counts_under_a_limit_that_was_raised_or_lowered() {
    everywhere(|url| {
        for (limit, left_held, left_charged) in [(100, 96, 97), (3, 0, 0)] {
            let rules =
                |limit: u64| rule(r#""fixed_window""#, RESERVING).replace("10,", &format!("{limit},"));
            let world = World::new(url, &format!("limit{limit}"), &rules(10));
            let held = world.reserve(4);
            world.change(&rules(limit));
            assert_eq!(world.remaining(), left_held);
            assert!(world.limiter.commit(&held, Usage::Cost(3)).unwrap());
            assert_eq!(world.remaining(), left_charged);
            // Back to what the count was all along.
            world.change(&rules(10));
            assert_eq!(world.remaining(), 7);
        }
    });
}

/// A rule that is gone cannot be charged: that is said, and nothing is forgotten if it comes back.
#[test]
fn a_lease_of_a_deleted_rule_is_no_quiet_loss() {
    let other = r#"[{"rule_id": "other", "rate": "1/s"}]"#;
    everywhere(|url| {
        let with_rule = rule(r#""fixed_window""#, RESERVING);
        let world = World::new(url, "deleted", &with_rule);
        let held = world.reserve(4);
        world.change(other);
        let kind = |ended: sluicegate::Result<bool>| ended.unwrap_err().kind();
        assert_eq!(kind(world.limiter.commit(&held, Usage::Cost(3))), ErrorKind::UnknownRule);
        assert_eq!(kind(world.limiter.release(&held)), ErrorKind::UnknownRule);
        assert_eq!(kind(world.limiter.renew(&held)), ErrorKind::UnknownRule);
        world.change(&with_rule);
        assert!(world.limiter.commit(&held, Usage::Cost(3)).unwrap());
        assert_eq!(world.remaining(), 7);
    });
}

/// Without `reservations` a rule does not look for what is held: that is said, and nothing is forgotten.
#[test]
fn a_lease_of_a_rule_without_reservations_is_no_quiet_loss() {
    everywhere(|url| {
        let with = rule(r#""gcra""#, RESERVING);
        let world = World::new(url, "without", &with);
        let held = world.reserve(4);
        world.change(&rule(r#""gcra""#, ""));
        let limiter = &world.limiter;
        for ended in [limiter.commit(&held, Usage::Cost(3)), limiter.release(&held), limiter.renew(&held)] {
            let error = ended.unwrap_err();
            assert!(
                error.kind() == ErrorKind::InvalidArgument && error.message().contains("\"r\""),
                "{error}"
            );
        }
        world.change(&with);
        assert!(limiter.commit(&held, Usage::Cost(3)).unwrap());
        assert_eq!(world.remaining(), 7);
    });
}
