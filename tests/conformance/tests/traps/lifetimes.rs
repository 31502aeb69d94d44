//! What stays on the server, and for how long.

use std::time::Duration;

use sluicegate::{CheckOptions, ManualClock, RateLimiter, Rules};

use crate::server::Server;
use crate::{KINDS, NOW_US, cost, every_kind, rule};

#[test]
fn trap_02_a_key_without_a_lifetime() {
    let mut server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for round in 0..20 {
        for (kind, _) in KINDS {
            let key = format!("k{}", round % 3);
            limiter.check_with(kind, &key, cost(1 + round % 12)).unwrap();
            limiter.refund_with(kind, &key, cost(1 + round % 5)).unwrap();
        }
        assert_eq!(server.stored.immortal(), Vec::<String>::new(), "round {round}");
        clock.advance(Duration::from_secs(7));
    }
}

/// A count below zero without a lifetime is what DECR leaves of a key that has just ended.
#[test]
fn trap_02_a_refund_of_what_is_gone() {
    let mut server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for (kind, _) in KINDS {
        assert_eq!(limiter.refund_with(kind, "never seen", cost(3)).unwrap().remaining, 10, "{kind}");
        limiter.check(kind, "k").unwrap();
        clock.advance(Duration::from_secs(7200));
        assert_eq!(limiter.refund_with(kind, "k", cost(3)).unwrap().remaining, 10, "{kind}");
        assert_eq!(server.stored.names(), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn trap_03_a_key_that_lost_its_lifetime() {
    let mut server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for (kind, _) in KINDS {
        assert!(limiter.check_with(kind, "k", cost(10)).unwrap().allowed);
        server.stored.persist_all();
        assert!(!limiter.check(kind, "k").unwrap().allowed, "{kind}");
        clock.advance(Duration::from_secs(7200));
        assert!(limiter.check(kind, "k").unwrap().allowed, "{kind}: blocked for ever");
        assert_eq!(server.stored.immortal(), Vec::<String>::new(), "{kind}");
        server.stored.clear();
    }
}

/// What is beside the states: answers to requests, blocks and stored limits, tokens of reservations. Each says itself
/// until when it matters, and who comes after that finds it over.
#[test]
fn trap_03_what_is_beside_a_state_lost_its_lifetime() {
    const BESIDE: [(&str, &str); 5] = [
        ("repeated", r#""rate": "10/minute""#),
        ("blocked", r#""rate": "1/minute", "block": {"seconds": 60, "factor": 2, "max_seconds": 600}"#),
        ("blocked_beside", r#""rate": "1/minute", "block": {"seconds": 60}, "reservations": true"#),
        ("held", r#""rate": "10/minute", "reservations": true"#),
        ("places", r#""algorithm": "concurrency", "limit": 1"#),
    ];
    let mut server = Server::start();
    let rules = BESIDE.map(|(id, fields)| format!(r#"{{"rule_id": "{id}", {fields}}}"#)).join(",");
    let (limiter, clock) = server.limiter_at(NOW_US, &format!("[{rules}]"));
    let come = |kind: &str| match kind {
        "repeated" => drop(limiter.check_with(kind, "k", CheckOptions::new().request_id("id")).unwrap()),
        "held" | "places" => {
            let reserved = limiter.reserve(kind, "k").unwrap();
            assert!(limiter.release(&reserved).unwrap(), "{kind}");
        }
        _ => assert!(limiter.check(kind, "k").unwrap().allowed, "{kind}"),
    };
    for (kind, _) in BESIDE {
        come(kind);
        if kind.starts_with("blocked") {
            assert!(limiter.check(kind, "k").unwrap().blocked, "{kind}");
        }
        server.stored.persist_all();
        clock.advance(Duration::from_secs(7200));
        come(kind);
        assert_eq!(server.stored.immortal(), Vec::<String>::new(), "{kind}");
        server.stored.clear();
    }
}

#[test]
fn trap_04_a_lifetime_of_zero() {
    let mut server = Server::start();
    for limit in [1, 7, 1_000, 333_333, 1_000_000] {
        for burst in [1, 2, 100, 1_000] {
            let fields = format!(
                r#""algorithm": "token_bucket", "limit": {limit}, "window_size_seconds": 1, "burst": {burst}"#
            );
            let (limiter, _) = server.limiter_at(NOW_US, &rule("r", &fields));
            assert!(limiter.check_with("r", "k", cost(burst)).unwrap().allowed);
            assert!(!limiter.check("r", "k").unwrap().allowed, "{limit}/s, burst {burst}: never limits");
            server.stored.clear();
            // By the server's clock the key must be there for as long as it counts.
            let decision = server.limiter(&rule("r", &fields)).check_with("r", "k", cost(burst)).unwrap();
            assert!(decision.allowed && decision.reset_after > Duration::ZERO, "{limit}/s, burst {burst}");
            if decision.reset_after > Duration::from_millis(200) {
                assert!(server.stored.entries().values().all(|entry| entry.ttl_ms > 0));
                assert_eq!(server.stored.names().len(), 1, "{limit}/s, burst {burst}");
            }
            server.stored.clear();
        }
    }
}

#[test]
fn trap_05_windows_below_a_second() {
    let mut server = Server::start();
    for (kind, fields) in KINDS {
        let fields = fields.replace("_seconds\": 60", "_seconds\": 0.5");
        let limiter = server.limiter(&rule(kind, &fields));
        // Once more for a window that ends in between.
        let check_and_look = |_| {
            limiter.check_with(kind, "k", cost(10)).unwrap();
            server.stored.entries().into_values().next()
        };
        let entry = (0..3).find_map(check_and_look).unwrap();
        // Twice for the sliding window; a level fades in some forty halvings.
        let most = if kind == "decay" { 20_000 } else { 1_010 };
        assert!((1..=most).contains(&entry.ttl_ms), "{kind}: {} ms", entry.ttl_ms);
        server.stored.clear();
    }
}

#[test]
fn trap_25_a_reset_forgets_others() {
    let mut server = Server::start();
    let limiter = |prefix: &str| server.builder(&every_kind()).prefix(prefix).build().unwrap();
    let (mine, others) = (limiter("mine"), limiter("mine2"));
    let charge = |limiter: &RateLimiter, key: &str| {
        for (kind, _) in KINDS {
            assert!(limiter.check_with(kind, key, CheckOptions::new()).unwrap().allowed);
        }
    };
    charge(&mine, "alice");
    charge(&mine, "*");
    charge(&mine, "alice2");
    charge(&others, "alice");
    let _: () = server.stored.command("SET", ("mine:list:{alice}", "an application's own"));
    let before = server.stored.names();
    mine.reset("list", "*").unwrap();
    mine.reset("list", "alice").unwrap();
    let after = server.stored.names();
    let gone: Vec<_> = before.into_iter().filter(|name| !after.contains(name)).collect();
    assert_eq!(gone, ["mine:list:{*}:l1m", "mine:list:{alice}:l1m"]);
}

/// Of the gcra family what is left of a debt when a reservation expires is not what is left of it later: the state is
/// needed as it was, whoever comes next.
const HELD: &str = r#""algorithm": "gcra", "limit": 10, "window_size_seconds": 1000, "reservations": true, "lease_seconds": 300"#;

#[test]
fn a_state_is_kept_for_what_is_held_beside_it() {
    let mut server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &rule("r", HELD));
    limiter.check_with("r", "k", cost(5)).unwrap();
    let made = limiter.reserve_with("r", "k", cost(2)).unwrap();
    let is_kept = |server: &mut Server, ms| server.stored.entries().values().all(|entry| entry.ttl_ms >= ms);
    // 200 s of the debt are left at 300 s, and 200 s come to them.
    assert!(is_kept(&mut server, 700_000));
    limiter.check("r", "k").unwrap();
    assert!(is_kept(&mut server, 800_000), "after a check");
    limiter.refund("r", "k").unwrap();
    assert!(is_kept(&mut server, 700_000), "after a refund");
    clock.advance(Duration::from_secs(200));
    assert!(limiter.renew(&made).unwrap());
    assert!(is_kept(&mut server, 500_000), "after a renewal");
}

/// What was reserved under another window of the rule may be charged to this one too, so the next check keeps it as long.
#[test]
fn a_state_is_kept_for_what_is_held_under_another_window() {
    let mut server = Server::start();
    let (other, _) = server.limiter_at(NOW_US, &rule("r", HELD));
    let window = HELD.replace("10, \"window_size_seconds\": 1000", "1000, \"window_size_seconds\": 100");
    let (limiter, _) = server.limiter_at(NOW_US, &rule("r", &window));
    // Fifty seconds of debt, and a minute since the clock is manual; one unit more would share that life.
    limiter.check_with("r", "k", cost(500)).unwrap();
    let _held = other.reserve("r", "k").unwrap();
    limiter.check("r", "k").unwrap();
    let entry = server.stored.entry("sluicegate:r:{k}:gt100s").unwrap();
    assert!(entry.ttl_ms > 300_000, "{} ms", entry.ttl_ms);
}

/// What was reserved by a larger limit than the rule's may be charged by the rule's, where each unit counts longer.
#[test]
fn what_is_held_is_kept_as_long_as_it_counts_by_the_limit_of_the_rule() {
    let mut server = Server::start();
    let (stored, at_server) = server.limiter_at(NOW_US, &rule("r", HELD));
    let at_home = ManualClock::new(NOW_US);
    let rules = Rules::from_json(&rule("r", HELD)).unwrap();
    let local = RateLimiter::builder("memory://").rules(rules).clock(at_home.clone()).build().unwrap();
    for (limiter, clock) in [(&stored, at_server), (&local, at_home)] {
        let first = limiter.reserve_with("r", "k", cost(8)).unwrap();
        clock.advance(Duration::from_secs(60));
        let _second = limiter.reserve_with("r", "k", cost(10).limit(20)).unwrap();
        clock.advance(Duration::from_secs(60));
        assert!(limiter.renew(&first).unwrap());
        // At 360 s ten units are charged that take 50 s each. The rule's eight at 420 s make 100 s of what is left of each.
        clock.advance(Duration::from_secs(1580));
        for number in 0..20_000 {
            limiter.check("r", &number.to_string()).unwrap();
        }
        assert_eq!(limiter.peek("r", "k").unwrap().remaining, 6);
    }
    let ends = server.stored.entry("sluicegate:r:{k}:h").map(|entry| entry.ttl_ms);
    assert!(ends.is_some_and(|ttl| ttl > 2_100_000), "{ends:?} ms");
}

/// What is held is kept for as long as its charge may count: to the end of a day, which is never much longer than a day.
#[test]
fn what_is_held_is_kept_no_longer_than_its_charge_counts() {
    let mut server = Server::start();
    let daily = r#""algorithm": "fixed_window", "limit": 10, "window": "day", "reservations": true, "lease_seconds": 3600"#;
    let (limiter, _) = server.limiter_at(NOW_US, &rule("r", daily));
    let _held = limiter.reserve("r", "k").unwrap();
    let entry = server.stored.entry("sluicegate:r:{k}:h").unwrap();
    assert!((25 * 3_600_000..29 * 3_600_000).contains(&entry.ttl_ms), "{} ms", entry.ttl_ms);
}

#[test]
fn a_state_in_memory_is_kept_for_what_is_held_beside_it() {
    let clock = ManualClock::new(NOW_US);
    let rules = Rules::from_json(&rule("r", HELD)).unwrap();
    let limiter = RateLimiter::builder("memory://").rules(rules).clock(clock.clone()).build().unwrap();
    limiter.check_with("r", "k", cost(5)).unwrap();
    let made = limiter.reserve_with("r", "k", cost(2)).unwrap();
    clock.advance(Duration::from_secs(600));
    // Other keys, in whose calls what has expired is swept away.
    for number in 0..20_000 {
        limiter.check("r", &number.to_string()).unwrap();
    }
    assert_eq!(limiter.peek("r", "k").unwrap().remaining, 9);
    assert!(!limiter.release(&made).unwrap());
}
