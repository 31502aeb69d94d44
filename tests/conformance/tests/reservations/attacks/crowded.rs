//! Very many leases that have ended at once.

use super::*;

/// Kinds of states, for each of which 2,300 leases may end at once.
const CROWDED: &str = r#"[
    {"rule_id": "gcra", "rate": "5000/h", "reservations": true, "lease_seconds": 5},
    {"rule_id": "first", "algorithm": "fixed_window", "window_start": "first_request", "rate": "5000/h", "reservations": true, "lease_seconds": 5},
    {"rule_id": "log", "algorithm": "sliding_log", "rate": "5000/h", "reservations": true, "lease_seconds": 5},
    {"rule_id": "decay", "algorithm": "decay", "limit": 5000, "resolution_seconds": 60, "reservations": true, "lease_seconds": 5},
    {"rule_id": "two", "limits": [{"rate": "5000/h"}, {"rate": "9000/d"}], "reservations": true, "lease_seconds": 5},
    {"rule_id": "flight", "algorithm": "concurrency", "limit": 5000, "lease_seconds": 5}
]"#;

/// How many calls of scripts the server has counted.
fn scripts_run(connection: &mut impl Commands) -> u64 {
    let info: String = redis::cmd("INFO").arg("commandstats").query(connection).unwrap();
    let calls = |line: &str| {
        let line = line.strip_prefix("cmdstat_eval:calls=").or(line.strip_prefix("cmdstat_evalsha:calls="))?;
        line.split(',').next()?.parse::<u64>().ok()
    };
    info.lines().filter_map(calls).sum()
}

/// One script charges at most 250 leases that have ended, however many there are: then it decides nothing, and is called
/// again. The decision is that of a limiter that charges all at once.
#[test]
fn a_script_charges_250_ended_leases_at_most() {
    const TOGETHER: usize = 1_200;
    const COUNT: usize = 2_300;
    let server = Redis::start().unwrap();
    let mut connection = server.client().unwrap();
    let calls = [
        ("peek", &["gcra", "first", "log", "decay", "two", "flight"][..]),
        ("check", &["gcra"]),
        ("charge", &["first"]),
        ("commit", &["two", "flight"]),
    ];
    for (call, rules) in calls {
        for &rule in rules {
            let mut play = |url: &str| {
                let clock = ManualClock::new(1_700_000_000_000_000);
                let rules = Rules::from_json(CROWDED).unwrap();
                let limiter = RateLimiter::builder(url).rules(rules).clock(clock.clone()).build().unwrap();
                for number in 0..COUNT {
                    assert!(limiter.reserve(rule, call).unwrap().allowed);
                    // Many end at the same instant, the others one after another.
                    clock.advance(Duration::from_micros(u64::from(number >= TOGETHER) * 700));
                }
                clock.advance(Duration::from_secs(4));
                let held = limiter.reserve(rule, call).unwrap();
                clock.advance(Duration::from_secs(2));
                let before = scripts_run(&mut connection);
                match call {
                    "check" => drop(limiter.check(rule, call).unwrap()),
                    "charge" => drop(limiter.charge(rule, call).unwrap()),
                    "commit" => assert!(limiter.commit(&held, Usage::Cost(2)).unwrap()),
                    _ => {}
                }
                let first = limiter.peek(rule, call).unwrap();
                let calls = scripts_run(&mut connection) - before;
                let second = limiter.peek(rule, call).unwrap();
                (calls, [first, second].map(|it| (it.allowed, it.remaining, it.retry_after, it.reset_after)))
            };
            let (calls, decided) = play(server.url());
            let a_call = if rule == "two" { 125 } else { 250 };
            assert_eq!(calls, COUNT as u64 / a_call + 1 + u64::from(call != "peek"), "{call} {rule}");
            assert_eq!(decided, play("memory://").1, "{call} {rule}");
        }
    }
    assert_eq!(keys_without_ttl(&mut connection).unwrap(), Vec::<String>::new());
}

/// Leases of a log take an entry per unit: after a thousand entries a script charges no further lease.
#[test]
fn a_script_adds_few_entries_to_a_log_for_ended_leases() {
    let server = Redis::start().unwrap();
    let mut connection = server.client().unwrap();
    for structure in ["list", "sorted_set"] {
        let rules = format!(
            r#"[{{"rule_id": "log", "algorithm": "sliding_log", "structure": "{structure}", "rate": "5000/h",
                "reservations": true, "lease_seconds": 5}}]"#
        );
        let mut play = |url: &str| {
            let clock = ManualClock::new(1_700_000_000_000_000);
            let rules = Rules::from_json(&rules).unwrap();
            let limiter = RateLimiter::builder(url).rules(rules).clock(clock.clone()).build().unwrap();
            let cost = CheckOptions::new().cost(20);
            assert!((0..150).all(|_| limiter.reserve_with("log", structure, cost).unwrap().allowed));
            clock.advance(Duration::from_secs(6));
            let before = scripts_run(&mut connection);
            let checked = limiter.check("log", structure).unwrap();
            (scripts_run(&mut connection) - before, checked.remaining, checked.reset_after)
        };
        let (calls, remaining, reset_after) = play(server.url());
        assert_eq!((calls, remaining), (3, 1_999), "{structure}");
        assert_eq!((remaining, reset_after), (play("memory://").1, play("memory://").2), "{structure}");
    }
}

/// A look adds what has ended to a log, and takes it out again: what the log holds, also what is gone by now, and how long it
/// lives, stay. Where that would be more than a thousand entries it stays added.
#[test]
fn a_look_leaves_a_log_as_it_was() {
    let server = Redis::start().unwrap();
    let mut connection = server.client().unwrap();
    for (structure, read, letter) in [("list", "LRANGE", "l"), ("sorted_set", "ZRANGE", "z")] {
        let rules = format!(
            r#"[{{"rule_id": "log", "algorithm": "sliding_log", "structure": "{structure}", "rate": "2000/m",
                "reservations": true, "lease_seconds": 5}}]"#
        );
        let mut play = |url: &str, cost: u64| {
            let clock = ManualClock::new(1_700_000_000_000_000);
            let rules = Rules::from_json(&rules).unwrap();
            let limiter = RateLimiter::builder(url).rules(rules).clock(clock.clone()).build().unwrap();
            let key = format!("{structure}{cost}");
            limiter.check_with("log", &key, CheckOptions::new().cost(3)).unwrap();
            clock.advance(Duration::from_secs(50));
            limiter.check_with("log", &key, CheckOptions::new().cost(4)).unwrap();
            clock.advance(Duration::from_secs(7));
            for _ in 0..2 {
                let _held = limiter.reserve_with("log", &key, CheckOptions::new().cost(cost)).unwrap();
                clock.advance(Duration::from_secs(1));
            }
            clock.advance(Duration::from_secs(10));
            let mut kept = || -> (Vec<Vec<u8>>, i64) {
                let name = format!("sluicegate:log:{{{key}}}:{letter}1m");
                let entries = redis::cmd(read).arg(&name).arg(0).arg(-1).query(&mut connection).unwrap();
                (entries, redis::cmd("PTTL").arg(&name).query(&mut connection).unwrap())
            };
            let before = kept();
            let peeked = [(); 2].map(|()| limiter.peek("log", &key).unwrap());
            ((before, kept()), peeked.map(|it| (it.remaining, it.reset_after)))
        };
        for (cost, stays) in [(5, true), (600, false)] {
            let ((before, after), peeked) = play(server.url(), cost);
            assert_eq!(before.0 == after.0, stays, "{structure}: {before:?} became {after:?}");
            assert!(!before.0.is_empty() && !after.0.is_empty(), "{structure}");
            // Given a new life, it would live for ten seconds longer.
            assert!(
                !stays || before.1.abs_diff(after.1) < 5_000,
                "{structure}: {} became {}",
                before.1,
                after.1
            );
            assert_eq!(peeked, play("memory://", cost).1, "{structure}");
            assert_eq!(peeked[0].0, 2_000 - 4 - 2 * cost, "{structure}");
        }
    }
    assert_eq!(keys_without_ttl(&mut connection).unwrap(), Vec::<String>::new());
}

/// A look at a server that is out of memory decides as if leases that have ended were yet to end.
#[test]
fn a_look_decides_where_it_may_not_write() {
    let server = Redis::start().unwrap();
    let mut connection = server.client().unwrap();
    let clock = ManualClock::new(1_700_000_000_000_000);
    let rules = Rules::from_json(CROWDED).unwrap();
    let limiter = RateLimiter::builder(server.url()).rules(rules).clock(clock.clone()).build().unwrap();
    for count in [7, 150] {
        let key = format!("k{count}");
        assert!((0..count).all(|_| limiter.reserve("gcra", &key).unwrap().allowed));
    }
    clock.advance(Duration::from_secs(900));
    let config = |value: &str, connection: &mut redis::Connection| {
        let () = redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(value).query(connection).unwrap();
    };
    config("1", &mut connection);
    for count in [7, 150] {
        assert_eq!(limiter.peek("gcra", &format!("k{count}")).unwrap().remaining, 5_000 - count);
    }
    config("0", &mut connection);
    for count in [7, 150] {
        // By now all that was charged has leaked, at 5,000 an hour.
        assert_eq!(limiter.peek("gcra", &format!("k{count}")).unwrap().remaining, 5_000);
    }
}
