//! What was stored, and what is held, while the rules change: nothing is lost without a word, in memory as on a server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::sources::{Following, RuleSource, Updates};
use sluicegate::{
    Check, CheckOptions, Decision, ErrorKind, ManualClock, RateLimiter, Reservation, Source, Usage,
};
use sluicegate_test_servers::Redis;
use tokio::sync::Notify;

const LARGEST: u64 = (1 << 53) - 1;
/// A busy machine may take long to answer.
const TIMEOUT: Duration = Duration::from_secs(30);
const START: u64 = 1_760_000_000_000_000;

/// Rules that a test changes.
#[derive(Debug, Clone, Default)]
struct Switch(Arc<(Mutex<String>, Notify)>);

impl RuleSource for Switch {
    fn name(&self) -> String {
        "switch".to_owned()
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        Box::pin(async move {
            loop {
                let text = self.0.0.lock().unwrap().clone();
                updates.file(Ok(text));
                self.0.1.notified().await;
            }
        })
    }
}

/// A limiter whose rules change, on a clock of its own.
struct World {
    switch: Switch,
    limiter: RateLimiter,
    clock: ManualClock,
}

impl World {
    fn new(url: &str, prefix: &str, rules: &str) -> Self {
        let (switch, clock) = (Switch::default(), ManualClock::new(START));
        switch.put(rules);
        let builder = RateLimiter::builder(url).prefix(prefix).rules(switch.clone()).clock(clock.clone());
        let builder = builder.response_timeout(TIMEOUT);
        Self { switch, limiter: builder.build().unwrap(), clock }
    }

    /// Puts other rules in force.
    fn change(&self, rules: &str) {
        let before = self.limiter.rules_status().updates;
        self.switch.put(rules);
        loop {
            let status = self.limiter.rules_status();
            assert!(status.refused.is_empty(), "{status:?}");
            if status.updates > before {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn reserve(&self, cost: u64) -> Reservation {
        let reserved = self.limiter.reserve_with("r", "k", CheckOptions::new().cost(cost)).unwrap();
        assert!(reserved.allowed);
        reserved
    }

    fn remaining(&self) -> u64 {
        self.limiter.peek("r", "k").unwrap().remaining
    }
}

impl Switch {
    fn put(&self, rules: &str) {
        rules.clone_into(&mut self.0.0.lock().unwrap());
        self.0.1.notify_one();
    }
}

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
