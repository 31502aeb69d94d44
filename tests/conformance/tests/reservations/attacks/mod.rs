//! What is held costs a server little, whatever is held, and what it is charged as depends on no lifetime of a key.

mod crowded;

use std::time::Duration;

use redis::Commands;
use sluicegate::{CheckOptions, ManualClock, RateLimiter, Rules, Usage};
use sluicegate_test_servers::{Redis, keys_without_ttl};

/// How often scripts have looked for leases, the latest first.
fn looks(connection: &mut impl Commands) -> u64 {
    let info: String = redis::cmd("INFO").arg("commandstats").query(connection).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_zrangebyscore:calls=")).unwrap();
    line.split(',').next().unwrap().parse().unwrap()
}

/// A rule in shadow without room has many reservations that do not count, among which each call looks for the last
/// that does. One by one, counted from the last each time, that took a script most of a second.
#[test]
fn what_does_not_count_is_skipped_many_at_once() {
    let server = Redis::start().unwrap();
    let rules =
        r#"{"rule_id": "c", "algorithm": "concurrency", "limit": 1, "lease_seconds": 3600, "shadow": true}"#;
    let rules = Rules::from_json(&format!("[{rules}]")).unwrap();
    let clock = ManualClock::new(1_700_000_000_000_000);
    let limiter = RateLimiter::builder(server.url()).rules(rules).clock(clock.clone()).build().unwrap();
    for _ in 0..1_000 {
        assert!(limiter.reserve("c", "k").unwrap().allowed);
        clock.advance(Duration::from_micros(1));
    }
    let mut connection = server.client().unwrap();
    let before = looks(&mut connection);
    let peeked = limiter.peek("c", "k").unwrap();
    assert!(peeked.shadow_denied);
    // The one that counts is the first of all.
    assert_eq!(peeked.reset_after.as_micros(), 3_600_000_000 - 1_000);
    let made = looks(&mut connection) - before;
    assert!(made < 10, "{made} looks for one decision");
}

/// A key that holds all the reservations that it may waits for the first lease to end, and not for its window.
#[test]
fn the_reservation_that_is_one_too_many_waits_for_the_first_lease() {
    let server = Redis::start().unwrap();
    let rules = r#"[
        {"rule_id": "gcra", "rate": "1000000/h", "reservations": true, "lease_seconds": 20},
        {"rule_id": "fixed", "algorithm": "fixed_window", "rate": "1000000/h", "reservations": true, "lease_seconds": 20},
        {"rule_id": "flight", "algorithm": "concurrency", "limit": 1000000, "lease_seconds": 20}
    ]"#;
    for url in ["memory://", server.url()] {
        let clock = ManualClock::new(1_700_000_000_000_000);
        let rules = Rules::from_json(rules).unwrap();
        let limiter = RateLimiter::builder(url).rules(rules).clock(clock.clone()).build().unwrap();
        for rule in ["gcra", "fixed", "flight"] {
            assert!((0..10_000).all(|_| limiter.reserve(rule, "k").unwrap().allowed), "{url} {rule}");
            clock.advance(Duration::from_secs(3));
            let denied = limiter.reserve(rule, "k").unwrap();
            let found = (denied.allowed, denied.remaining, denied.retry_after);
            assert_eq!(found, (false, 0, Duration::from_secs(17)), "{url} {rule}");
        }
    }
}

/// Leases that began in the future end as if they began now, few or many. A denial writes that, a look does not.
#[test]
fn a_clock_that_steps_back_prolongs_no_lease() {
    let server = Redis::start().unwrap();
    let rules = r#"[
        {"rule_id": "g", "rate": "5000/h", "reservations": true, "lease_seconds": 5},
        {"rule_id": "c", "algorithm": "concurrency", "limit": 5000, "lease_seconds": 5}
    ]"#;
    for url in ["memory://", server.url()] {
        let clock = ManualClock::new(1_700_000_000_000_000);
        let rules = Rules::from_json(rules).unwrap();
        let limiter = RateLimiter::builder(url).rules(rules).clock(clock.clone()).build().unwrap();
        for rule in ["g", "c"] {
            clock.set_us(1_700_000_000_000_000);
            let held: Vec<_> = (0..5_000).map(|_| limiter.reserve(rule, "k").unwrap()).collect();
            clock.set_us(1_700_000_000_000_000 - 3_600_000_000);
            assert_eq!(limiter.peek(rule, "k").unwrap().remaining, 0, "{url} {rule}");
            assert!(!limiter.reserve(rule, "k").unwrap().allowed, "{url} {rule}");
            clock.advance(Duration::from_secs(5));
            assert!(!limiter.renew(&held[0]).unwrap(), "{url} {rule}");
            clock.advance(Duration::from_secs(3_600));
            assert_eq!(limiter.peek(rule, "k").unwrap().remaining, 5_000, "{url} {rule}");
        }
    }
    assert_eq!(keys_without_ttl(&mut server.client().unwrap()).unwrap(), Vec::<String>::new());
}

/// Looks at a key of which many leases have ended charge them once, and not once for each look. A few they leave alone.
#[test]
fn a_look_writes_what_it_charged_where_much_has_ended() {
    let server = Redis::start().unwrap();
    let rules = r#"[{"rule_id": "few", "rate": "1000/h", "reservations": true, "lease_seconds": 5},
        {"rule_id": "many", "rate": "1000/h", "reservations": true, "lease_seconds": 5}]"#;
    let mut connection = server.client().unwrap();
    for (rule, count, left) in [("few", 100, 101), ("many", 101, 1)] {
        let play = |url: &str| {
            let clock = ManualClock::new(1_700_000_000_000_000);
            let rules = Rules::from_json(rules).unwrap();
            let limiter = RateLimiter::builder(url).rules(rules).clock(clock.clone()).build().unwrap();
            assert!((0..count).all(|_| limiter.reserve(rule, "k").unwrap().allowed));
            clock.advance(Duration::from_secs(5));
            [limiter.peek(rule, "k").unwrap(), limiter.peek(rule, "k").unwrap()]
                .map(|peeked| (peeked.remaining, peeked.reset_after))
        };
        let peeked = play(server.url());
        assert_eq!(peeked, play("memory://"), "{rule}");
        assert_eq!(peeked[0].0, 1_000 - count, "{rule}");
        let members: usize = connection.zcard(format!("sluicegate:{rule}:{{k}}:h")).unwrap();
        assert_eq!(members, left, "{rule}");
    }
    assert_eq!(keys_without_ttl(&mut connection).unwrap(), Vec::<String>::new());
}

/// Two leases have ended unseen. What the first of them charged is over by now, but was not when the second ended.
#[test]
fn what_is_over_by_now_counts_for_what_ended_after_it() {
    let server = Redis::start().unwrap();
    let rules = r#"[{"rule_id": "g", "rate": "10/100s", "reservations": true, "lease_seconds": 5}]"#;
    let play = |url: &str| {
        let clock = ManualClock::new(1_700_000_000_000_000);
        let rules = Rules::from_json(rules).unwrap();
        let limiter = RateLimiter::builder(url).rules(rules).clock(clock.clone()).build().unwrap();
        for cost in [1, 9] {
            let reserved = limiter.reserve_with("g", "k", CheckOptions::new().cost(cost)).unwrap();
            assert!(reserved.allowed);
            clock.advance(Duration::from_secs(4));
        }
        clock.advance(Duration::from_secs(73));
        // One unit at 5 s, of which 6 s are left at 9 s, when nine follow: 96 s are owed then, and 24 s at 81 s.
        let wait = |decision: sluicegate::Decision| decision.reset_after;
        (wait(limiter.peek("g", "k").unwrap()), wait(limiter.check("g", "k").unwrap()))
    };
    let expected = (Duration::from_secs(24), Duration::from_secs(34));
    assert_eq!(play("memory://"), expected);
    assert_eq!(play(server.url()), expected);
}

/// A thousand leases have ended unseen, and one call charges them all. On servers whose time goes on within a script the
/// life of a log has become shorter from one charge to the next, though none of them changed it.
#[test]
fn time_that_passes_in_a_script_costs_no_charge() {
    let server = Redis::start().unwrap();
    let rules = r#"[{"rule_id": "l", "algorithm": "sliding_log", "limit": 1000, "window_size_seconds": 86400,
        "reservations": true, "lease_seconds": 3600}]"#;
    let clock = ManualClock::new(1_700_000_000_000_000);
    let rules = Rules::from_json(rules).unwrap();
    let limiter = RateLimiter::builder(server.url()).rules(rules).clock(clock.clone()).build().unwrap();
    for _ in 0..1_000 {
        assert!(limiter.reserve("l", "k").unwrap().allowed);
        clock.advance(Duration::from_micros(1));
    }
    clock.advance(Duration::from_secs(72_000));
    // Denied, so it prolongs no life itself.
    assert!(!limiter.check("l", "k").unwrap().allowed);
    assert_eq!(limiter.peek("l", "k").unwrap().remaining, 0);
}

/// Charged by the limit of the rule, what a call with a far larger one holds would count for 300,000 years.
#[test]
fn what_a_large_limit_holds_is_held() {
    let server = Redis::start().unwrap();
    let rules = r#"[{"rule_id": "g", "rate": "10/d", "reservations": true, "lease_seconds": 5}]"#;
    for url in ["memory://", server.url()] {
        let rules = Rules::from_json(rules).unwrap();
        let limiter = RateLimiter::builder(url).rules(rules).build().unwrap();
        let large = CheckOptions::new().cost(5).limit(1 << 30);
        let reserved = limiter.reserve_with("g", "k", large).unwrap();
        assert_eq!(limiter.peek("g", "k").unwrap().remaining, 5);
        let mut connection = server.client().unwrap();
        for key in redis::cmd("KEYS").arg("*").query::<Vec<String>>(&mut connection).unwrap() {
            let left: i64 = connection.pttl(&key).unwrap();
            // Three times the latest time, 2^53 us, at most.
            assert!((0..1 << 45).contains(&left), "{key} lives for {left} ms");
        }
        assert!(limiter.commit(&reserved, Usage::AsReserved).unwrap());
    }
}

/// A renewed reservation is kept until it is charged and no longer counts, also where the limit became smaller since.
#[test]
fn what_a_smaller_limit_holds_lives_on() {
    let server = Redis::start().unwrap();
    let rules = r#"[{"rule_id": "g", "rate": "10/s", "reservations": true, "lease_seconds": 100, "overrides": true}]"#;
    let limiter = RateLimiter::builder(server.url()).rules(Rules::from_json(rules).unwrap()).build().unwrap();
    let [renewed, _other] =
        [5, 5].map(|cost| limiter.reserve_with("g", "k", CheckOptions::new().cost(cost)).unwrap());
    limiter.set_limit("g", "k", 1, None).unwrap();
    assert!(limiter.renew(&renewed).unwrap());
    let mut connection = server.client().unwrap();
    let held: Vec<String> = redis::cmd("KEYS").arg("*:h").query(&mut connection).unwrap();
    let left: i64 = connection.pttl(&held[0]).unwrap();
    // A lease of 100 s, then ten units of a second each.
    assert!(left > 109_000, "{left} ms");
}

/// What is held is in one place: where somebody deletes it, nothing is held any more, for no call.
#[test]
fn what_is_held_is_gone_with_its_set() {
    let server = Redis::start().unwrap();
    let rules = r#"[{"rule_id": "g", "rate": "100/100s", "reservations": true}]"#;
    let limiter = RateLimiter::builder(server.url())
        .rules(Rules::from_json(rules).unwrap())
        .clock(ManualClock::new(1_700_000_000_000_000))
        .build()
        .unwrap();
    let reserve = |cost| limiter.reserve_with("g", "k", CheckOptions::new().cost(cost)).unwrap();
    let remaining = || limiter.peek("g", "k").unwrap().remaining;
    let mut connection = server.client().unwrap();
    let mut lose = || assert_eq!(connection.del("sluicegate:g:{k}:h"), Ok(1));
    limiter.check("g", "k").unwrap();
    let first = reserve(99);
    lose();
    assert_eq!(remaining(), 99);
    assert!(limiter.check("g", "k").unwrap().allowed);
    assert!(!limiter.commit(&first, Usage::AsReserved).unwrap());
    assert!(!limiter.renew(&first).unwrap());
    let second = reserve(20);
    lose();
    let third = reserve(5);
    assert_eq!(remaining(), 93);
    assert!(!limiter.release(&second).unwrap());
    assert!(limiter.commit(&third, Usage::Cost(7)).unwrap());
    assert_eq!(remaining(), 91);
    assert!(!limiter.commit(&third, Usage::Cost(7)).unwrap());
    assert_eq!(keys_without_ttl(&mut connection).unwrap(), Vec::<String>::new());
}
