//! Who is charged what.

use std::time::{Duration, Instant};

use sluicegate::{CheckOptions, ErrorKind};

use crate::server::Server;
use crate::{KINDS, NOW_US, cost, every_kind, rule};

#[test]
fn trap_01_a_denied_cost_is_charged() {
    let mut server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for (kind, _) in KINDS {
        assert!(limiter.check_with(kind, "k", cost(9)).unwrap().allowed);
        clock.advance(Duration::from_secs(1));
        let before = server.stored.entries();
        let denied = limiter.check_with(kind, "k", cost(10)).unwrap();
        assert!(!denied.allowed && denied.remaining == 1, "{kind}");
        let after = server.stored.entries();
        assert!(after.iter().all(|(name, entry)| before[name].value == entry.value), "{kind}");
        assert!(limiter.check(kind, "k").unwrap().allowed, "{kind}");
        assert!(!limiter.check(kind, "k").unwrap().allowed, "{kind}");
    }
}

#[test]
fn trap_10_idleness_is_saved_up() {
    let server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for (kind, _) in KINDS {
        limiter.check(kind, "k").unwrap();
        clock.advance(Duration::from_secs(3600));
        let admitted = (0..50).filter(|_| limiter.check(kind, "k").unwrap().allowed).count();
        assert_eq!(admitted, 10, "{kind}");
    }
}

#[test]
fn trap_11_a_cost_above_the_burst() {
    let server = Server::start();
    let burst_of_3 = r#""algorithm": "token_bucket", "burst": 3, "limit": 10, "window_size_seconds": 60"#;
    let mut rules = vec![("burst_of_3", burst_of_3, 3)];
    rules.extend(KINDS.map(|(kind, fields)| (kind, fields, 10)));
    for (kind, fields, most) in rules {
        let (limiter, clock) = server.limiter_at(NOW_US, &rule(kind, fields));
        for _ in 0..2 {
            let never = limiter.check_with(kind, "k", cost(most + 1)).unwrap();
            assert!(!never.allowed && never.retry_after == Duration::MAX, "{kind}");
            assert_eq!(never.remaining, most, "{kind}");
            clock.advance(Duration::from_secs(7200));
        }
        assert!(limiter.check_with(kind, "k", cost(most)).unwrap().allowed, "{kind}");
    }
}

#[test]
fn trap_13_members_collide_in_one_microsecond() {
    let mut server = Server::start();
    let fields =
        r#""algorithm": "sliding_log", "structure": "sorted_set", "limit": 1000, "window_size_seconds": 60"#;
    let (limiter, clock) = server.limiter_at(NOW_US, &rule("log", fields));
    assert!((0..400).all(|_| limiter.check("log", "k").unwrap().allowed));
    assert!(limiter.check_with("log", "k", cost(300)).unwrap().allowed);
    // What is given back and taken again, or healed after a clock step, must not collide either.
    limiter.refund_with("log", "k", cost(100)).unwrap();
    assert!(limiter.check_with("log", "k", cost(100)).unwrap().allowed);
    clock.set_us(NOW_US - 1_000_000);
    assert!((0..300).all(|_| limiter.check("log", "k").unwrap().allowed));
    assert!(!limiter.check("log", "k").unwrap().allowed);
    let [name] = server.stored.names().try_into().unwrap();
    assert_eq!(server.stored.command::<u64>("ZCARD", name), 1000);
}

const MANY: u64 = 10_000;

#[test]
fn trap_14_unpack_of_thousands() {
    let mut server = Server::start();
    for structure in ["list", "sorted_set"] {
        let fields = format!(
            r#""algorithm": "sliding_log", "structure": "{structure}", "limit": 20000, "window_size_seconds": 60"#
        );
        let (limiter, clock) = server.limiter_at(NOW_US, &rule("log", &fields));
        let step = Duration::from_micros(1);
        for _ in 0..MANY / 100 {
            assert!(limiter.check_with("log", "k", cost(100)).unwrap().allowed);
            clock.advance(step);
        }
        // Ten thousand in the future, then ten thousand at once, then as many given back.
        clock.set_us(NOW_US - 1);
        assert_eq!(limiter.check_with("log", "k", cost(MANY)).unwrap().remaining, 0, "{structure}");
        assert_eq!(
            limiter.refund_with("log", "k", cost(MANY + 5)).unwrap().remaining,
            MANY + 5,
            "{structure}"
        );
        clock.advance(Duration::from_secs(61));
        let began = Instant::now();
        assert_eq!(limiter.check("log", "k").unwrap().remaining, 19_999, "{structure}");
        assert!(began.elapsed() < Duration::from_millis(500), "{structure}: {:?}", began.elapsed());
        let [name] = server.stored.names().try_into().unwrap();
        let length = if structure == "list" { "LLEN" } else { "ZCARD" };
        assert_eq!(server.stored.command::<u64>(length, name), 1, "{structure}: what is gone stayed");
        server.stored.clear();
    }
}

#[test]
fn trap_14_thousands_of_stale_slots() {
    let server = Server::start();
    let fields = r#""algorithm": "sliding_buckets", "limit": 100000, "window_size_seconds": 4.096,
                    "resolution_seconds": 0.001"#;
    let (limiter, clock) = server.limiter_at(NOW_US, &rule("buckets", fields));
    for _ in 0..4_000 {
        assert!(limiter.check("buckets", "k").unwrap().allowed);
        clock.advance(Duration::from_millis(1));
    }
    clock.set_us(NOW_US);
    assert_eq!(limiter.check("buckets", "k").unwrap().remaining, 100_000 - 4_001);
    clock.advance(Duration::from_secs(5));
    assert_eq!(limiter.check("buckets", "k").unwrap().remaining, 99_999);
}

#[test]
fn trap_22_the_first_limit_sticks() {
    let server = Server::start();
    for (kind, fields) in KINDS {
        let raised =
            fields.replace(r#""limit": 10"#, r#""limit": 20"#).replace(r#""burst": 10"#, r#""burst": 20"#);
        let lowered =
            fields.replace(r#""limit": 10"#, r#""limit": 5"#).replace(r#""burst": 10"#, r#""burst": 5"#);
        let [old, raised, lowered] =
            [fields, &raised, &lowered].map(|fields| server.limiter_at(NOW_US, &rule(kind, fields)).0);
        assert_eq!(old.check_with(kind, "k", cost(6)).unwrap().remaining, 4, "{kind}");
        assert_eq!(raised.peek(kind, "k").unwrap().remaining, 14, "{kind}");
        assert!(!lowered.peek(kind, "k").unwrap().allowed, "{kind}");
        assert!(raised.check_with(kind, "k", cost(14)).unwrap().allowed, "{kind}");
        assert!(!raised.check(kind, "k").unwrap().allowed, "{kind}");
    }
}

/// A rule with two limits keeps two keys; the server may evict either.
#[test]
fn trap_29_one_of_two_keys_is_missing() {
    let mut server = Server::start();
    for (kind, fields) in KINDS {
        let (shape, window) = fields.split_once(r#""limit": 10, "#).unwrap();
        let shape = shape.replace(r#""burst": 10, "#, "");
        let longer = window.replace("60", "3600");
        let fields = format!(r#"{shape} "limits": [{{"limit": 10, {window}}}, {{"limit": 100, {longer}}}]"#);
        let (limiter, _) = server.limiter_at(NOW_US, &rule("two", &fields));
        for missing in 0..2 {
            server.stored.clear();
            limiter.check_with("two", "k", cost(4)).unwrap();
            let names = server.stored.names();
            assert_eq!(names.len(), 2, "{kind}");
            let _: i64 = server.stored.command("DEL", &names[missing]);
            let decision = limiter.check("two", "k").unwrap();
            assert!(decision.allowed, "{kind}");
            assert!([5, 9].contains(&decision.remaining), "{kind}: {}", decision.remaining);
            limiter.refund_with("two", "k", cost(3)).unwrap();
            assert_eq!(limiter.peek("two", "k").unwrap().limit, 10, "{kind}");
        }
    }
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    let server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &every_kind());
    let kind = |options: CheckOptions<'_>| limiter.check_with("gcra", "k", options).unwrap_err().kind();
    for options in [cost(0), cost(1 << 53), CheckOptions::new().limit(0), CheckOptions::new().limit(1 << 53)]
    {
        assert_eq!(kind(options), ErrorKind::InvalidArgument);
    }
}
