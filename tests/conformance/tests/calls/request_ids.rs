//! Calls with a request id: whoever repeats one, and however often, gets the first answer, and charges nothing.

use std::env;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use redis::Commands;
use sluicegate::{
    Builder, Check, CheckAllOptions, CheckOptions, Decision, ErrorKind, ManualClock, RateLimiter, Rules,
};
use sluicegate_conformance::{Backend, Driver, Limiter};

const PROCESSES: usize = 4;
const THREADS: usize = 4;
const IDS: usize = 200;
const URL: &str = "SLUICEGATE_REPEAT_URL";
const ANSWERS: &str = "answers=";
const RULES: &str = r#"[
    {"rule_id": "window", "algorithm": "fixed_window", "limit": 1000, "window_size_seconds": 36000},
    {"rule_id": "log", "algorithm": "sliding_log", "limit": 5, "window_size_seconds": 36000},
    {"rule_id": "daily", "algorithm": "fixed_window", "limit": 9, "window": "day"},
    {"rule_id": "held", "rate": "9/10h", "reservations": true},
    {"rule_id": "two", "algorithm": "sliding_buckets", "limits": [{"limit": 4, "window_size_seconds": 3600},
     {"limit": 9, "window_size_seconds": 36000}]},
    {"rule_id": "shared", "algorithm": "fixed_window", "limits": [{"limit": 50, "window_size_seconds": 36000},
     {"limit": 90, "window_size_seconds": 36000, "scope": "resource"}]}
]"#;

fn builder(url: &str) -> Builder {
    RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap())
}

/// Whatever two calls of one id must have alike.
fn figures(decision: &Decision) -> (bool, u64, Duration, Duration) {
    (decision.allowed, decision.remaining, decision.retry_after, decision.reset_after)
}

/// The answers to all ids, each asked by several threads at once.
fn answers_of_threads(limiter: &RateLimiter) -> Vec<(bool, u64, Duration, Duration)> {
    let barrier = Barrier::new(THREADS);
    let ask = || {
        let mut answers = Vec::new();
        for number in 0..IDS {
            barrier.wait();
            let id = format!("id-{number}");
            answers.push(figures(
                &limiter.check_with("window", "k", CheckOptions::new().request_id(&id)).unwrap(),
            ));
        }
        answers
    };
    let all: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for other in &all[1..] {
        assert_eq!(all[0], *other);
    }
    all[0].clone()
}

/// One process of several, given its server by the environment. By itself it is alone in memory.
#[test]
fn one_process_asks() {
    let limiter = builder(&env::var(URL).unwrap_or("memory://".to_owned())).build().unwrap();
    println!("\n{ANSWERS}{:?}", answers_of_threads(&limiter));
    assert_eq!(limiter.peek("window", "k").unwrap().remaining, 1000 - IDS as u64);
}

#[test]
fn processes_that_ask_at_once_get_one_answer_and_one_charge() {
    let server = Backend::redis();
    let child = || {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "request_ids::one_process_asks", "--nocapture"]).env(URL, server.url());
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (0..PROCESSES).map(|_| child()).collect();
    let answers = children.into_iter().map(|child| {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let answers = text.lines().find_map(|line| line.strip_prefix(ANSWERS)).map(str::to_owned);
        assert!(output.status.success(), "{text}");
        answers.unwrap()
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(answers.len(), PROCESSES);
    assert!(answers.iter().all(|other| *other == answers[0]));
}

fn on_every_backend(test: impl Fn(&Limiter, &ManualClock, &str)) {
    for backend in [Backend::Memory, Backend::redis(), Backend::cluster()] {
        for driver in [Driver::Blocking, Driver::Async] {
            let clock = ManualClock::new(1_700_000_000_000_000);
            let builder = builder(&backend.url()).clock(clock.clone()).prefix(format!("{driver:?}"));
            let limiter = Limiter::new(driver, builder.request_id_seconds(10)).unwrap();
            test(&limiter, &clock, &format!("{} {driver:?}", backend.url()));
        }
        assert_eq!(backend.immortal_keys(), Vec::<String>::new());
    }
}

/// Of every kind of script: one limit, several, with reservations, of the calendar, with a resource.
#[test]
fn a_repeated_call_gets_the_first_answer_until_its_time_is_over() {
    on_every_backend(|limiter, clock, place| {
        for rule in ["window", "log", "daily", "held", "two", "shared"] {
            let mut options = CheckOptions::new();
            options.resource = (rule == "shared").then_some("printer");
            let named = options.cost(2).request_id("the id: any text, {braced}");
            let calls: [&dyn Fn() -> Decision; 3] = [
                &|| limiter.check(rule, "k", named).unwrap(),
                &|| limiter.charge(rule, "l", named).unwrap(),
                &|| limiter.refund(rule, "m", named).unwrap(),
            ];
            limiter.check(rule, "m", options.cost(3)).unwrap();
            for (number, call) in calls.into_iter().enumerate() {
                let key = ["k", "l", "m"][number];
                let first = call();
                let after = limiter.peek(rule, key, options).unwrap();
                clock.advance(Duration::from_micros(9_999_999));
                assert_eq!(figures(&call()), figures(&first), "{place} {rule} {number}");
                // Only time has passed.
                let later = limiter.peek(rule, key, options).unwrap();
                assert_eq!(later.remaining, after.remaining, "{place} {rule} {number}");
                clock.advance(Duration::from_micros(1));
                call();
                let again = limiter.peek(rule, key, options).unwrap();
                let change = again.remaining.abs_diff(later.remaining);
                let expected = if number == 2 { 1 } else { 2 };
                assert_eq!(change, expected, "{place} {rule} {number}");
            }
        }
    });
}

#[test]
fn a_denial_is_repeated_when_there_is_room_again() {
    on_every_backend(|limiter, _, place| {
        limiter.check("log", "k", CheckOptions::new().cost(5)).unwrap();
        let named = CheckOptions::new().request_id("late");
        let denied = limiter.check("log", "k", named).unwrap();
        assert!(!denied.allowed, "{place}");
        // An id belongs to rule and key: another key's is another one, and a reset keeps it.
        assert!(limiter.check("log", "l", named).unwrap().allowed, "{place}");
        limiter.reset("log", "k", CheckOptions::new()).unwrap();
        assert_eq!(figures(&limiter.check("log", "k", named).unwrap()), figures(&denied), "{place}");
        assert_eq!(limiter.peek("log", "k", CheckOptions::new()).unwrap().remaining, 5, "{place}");
    });
}

#[test]
fn several_items_are_repeated_together() {
    on_every_backend(|limiter, _, place| {
        // One resource: one hash slot.
        let item = |key| Check::new("shared", key).with(CheckOptions::new().resource("printer"));
        let items = [item("k"), item("l"), item("k")];
        let first = limiter.check_all_with(&items, Some("all")).unwrap();
        assert_eq!(first.parts.len(), 3);
        assert_eq!(limiter.check_all_with(&items, Some("all")).unwrap(), first, "{place}");
        let left = limiter.peek("shared", "k", items[0].options).unwrap().remaining;
        assert_eq!(left, 48, "{place}");
        let other = limiter.check_all_with(&items[..2], Some("all")).unwrap_err();
        assert_eq!(other.kind(), ErrorKind::InvalidArgument, "{place}");
    });
}

/// Nor what has ended since the first answer: it is charged by whoever changes something next, at the limit of then.
#[test]
fn a_repeated_call_charges_no_ended_lease() {
    const OWN: &str = r#"[{"rule_id": "own", "rate": "10/10s", "reservations": true, "lease_seconds": 1, "overrides": true}]"#;
    for backend in [Backend::Memory, Backend::redis()] {
        let clock = ManualClock::new(1_700_000_000_000_000);
        let builder = RateLimiter::builder(backend.url()).rules(Rules::from_json(OWN).unwrap());
        let limiter = builder.clock(clock.clone()).build().unwrap();
        let named = CheckOptions::new().request_id("id");
        let [repeated, other] = ["k", "l"].map(|key| {
            limiter.check_with("own", key, named).unwrap();
            drop(limiter.reserve_with("own", key, CheckOptions::new().cost(6)).unwrap());
            clock.advance(Duration::from_secs(3));
            if key == "k" {
                limiter.check_with("own", key, named).unwrap();
            }
            limiter.set_limit("own", key, 20, None).unwrap();
            figures(&limiter.peek("own", key).unwrap())
        });
        assert_eq!(repeated, other, "{}", backend.url());
    }
}

/// What is no answer is asked again: a charge that would overdraw beyond all bounds leaves its id free.
#[test]
fn an_error_is_not_kept() {
    on_every_backend(|limiter, _, place| {
        let named = CheckOptions::new().request_id("once");
        limiter.charge("window", "k", CheckOptions::new().cost((1 << 53) - 1)).unwrap();
        let error = limiter.charge("window", "k", named.cost((1 << 53) - 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{place}");
        limiter.reset("window", "k", CheckOptions::new()).unwrap();
        assert_eq!(limiter.charge("window", "k", named.cost(2)).unwrap().remaining, 998, "{place}");
    });
}

#[test]
fn an_answer_that_cannot_be_stored_is_not_charged() {
    let Backend::Redis(server) = Backend::redis() else { unreachable!() };
    let mut client = server.client().unwrap();
    let limiter = builder(server.url()).build().unwrap();
    let left = || limiter.peek("log", "k").unwrap().remaining;
    let named = CheckOptions::new().request_id("id");

    let set = |client: &mut redis::Connection, bytes: &str| {
        redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes).exec(client).unwrap();
    };
    set(&mut client, "1");
    let error = limiter.check_with("log", "k", named).unwrap_err();
    assert!(error.message().contains("OOM") && error.is_retryable(), "{error}");
    set(&mut client, "0");
    assert_eq!(left(), 5);

    let mut acl = redis::cmd("ACL");
    acl.arg("SETUSER").arg("narrow").arg("on").arg(">secret").arg("~*").arg("+@all").arg("-set");
    acl.exec(&mut client).unwrap();
    let url = server.url().replace("redis://", "redis://narrow:secret@");
    let narrow = builder(&url).build().unwrap();
    // A list is charged without SET.
    assert!(narrow.check("log", "other").unwrap().allowed);
    let error = narrow.check_with("log", "k", named).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Server && error.message().contains("can't run this command"),
        "{error}"
    );
    assert_eq!(left(), 5);
    assert!(limiter.check_with("log", "k", named).unwrap().allowed);

    // Somebody else's value.
    let name = "sluicegate:log:{k}:q-id";
    let _: () = client.set(name, "x").unwrap();
    let error = limiter.check_with("log", "k", named).unwrap_err();
    assert!(error.message().contains("BADSTATE") && error.kind() == ErrorKind::Server, "{error}");
    assert_eq!(left(), 4);
}

/// A record takes little, and goes by itself: ids of an attacker's choice cannot fill a server for longer.
#[test]
fn records_are_small_and_end() {
    let Backend::Redis(server) = Backend::redis() else { unreachable!() };
    let mut client = server.client().unwrap();
    let limiter = builder(server.url()).request_id_seconds(7).build().unwrap();
    let longest = "\u{1}".repeat(64);
    for id in ["3f2504e0-4f89-41d3-9a0c-0305e82c3301", &longest] {
        limiter.check_with("window", "k", CheckOptions::new().request_id(id)).unwrap();
    }
    let names: Vec<String> = client.keys("*:q*").unwrap();
    assert_eq!(names.len(), 2);
    for name in names {
        let bytes: u64 = redis::cmd("MEMORY").arg("USAGE").arg(&name).query(&mut client).unwrap();
        let left: i64 = client.pttl(&name).unwrap();
        println!("{name}: {bytes} bytes");
        assert!(bytes <= 250, "{name}: {bytes}");
        assert!((6_000..=7_001).contains(&left), "{left}");
    }
}

/// By the server's clock nothing but its lifetime ends a record.
#[test]
fn a_record_that_lost_its_lifetime_gets_another() {
    let Backend::Redis(server) = Backend::redis() else { unreachable!() };
    let mut client = server.client().unwrap();
    let limiter = builder(server.url()).request_id_seconds(7).build().unwrap();
    let named = CheckOptions::new().request_id("id");
    let first = limiter.check_with("window", "k", named).unwrap();
    let name = "sluicegate:window:{k}:q-id";
    let _: () = client.persist(name).unwrap();
    assert_eq!(figures(&limiter.check_with("window", "k", named).unwrap()), figures(&first));
    let left: i64 = client.pttl(name).unwrap();
    assert!((6_000..=7_001).contains(&left), "{left}");
    assert_eq!(limiter.peek("window", "k").unwrap().remaining, 999);
}

/// The returned limit is that of the first call, as are the figures.
#[test]
fn a_repeated_call_gets_the_first_answer_although_the_rule_was_changed() {
    let Backend::Redis(server) = Backend::redis() else { unreachable!() };
    let rules = |limit: u64| {
        let rule = |id: &str, fields: &str| format!(r#"{{"rule_id": "{id}", "limit": {limit}, {fields}}}"#);
        let window = |fields| format!(r#""window_size_seconds": 3600, {fields}"#);
        let kinds = [
            ("fixed_window", window(r#""algorithm": "fixed_window""#)),
            ("sliding_window", window(r#""algorithm": "sliding_window""#)),
            ("sliding_log", window(r#""algorithm": "sliding_log""#)),
            ("sliding_buckets", window(r#""algorithm": "sliding_buckets""#)),
            ("gcra", window(&format!(r#""algorithm": "gcra", "burst": {}"#, limit + 1))),
            ("decay", format!(r#""algorithm": "decay", "resolution_seconds": 60, "decay_factor": {limit}"#)),
            ("held", window(r#""algorithm": "gcra", "reservations": true"#)),
            ("blocked", window(r#""algorithm": "gcra", "block": {}"#)),
        ];
        let rules: Vec<_> = kinds.iter().map(|(id, fields)| rule(id, fields)).collect();
        Rules::from_json(&format!("[{}]", rules.join(","))).unwrap()
    };
    let clock = ManualClock::new(1_700_000_000_000_000);
    let limiter = |limit| {
        let builder = RateLimiter::builder(server.url()).rules(rules(limit));
        builder.clock(clock.clone()).build().unwrap()
    };
    let (before, after) = (limiter(9), limiter(5));
    let ids: Vec<String> = before.rules().iter().map(|rule| rule.id.to_string()).collect();
    for rule in &ids {
        for (id, cost) in [("admitted", 7), ("denied", 7)] {
            let named = CheckOptions::new().request_id(id).cost(cost);
            let first = before.check_with(rule, "k", named).unwrap();
            assert_eq!(first.allowed, id == "admitted", "{rule}");
            assert_eq!(after.check_with(rule, "k", named).unwrap(), first, "{rule}");
        }
        let items = [Check::new(rule, "l"), Check::new(rule, "l")];
        let named = CheckAllOptions::new().request_id("all");
        let first = before.check_all_with(&items, named).unwrap();
        assert_eq!(after.check_all_with(&items, named).unwrap(), first, "{rule}");
        assert_ne!(after.peek(rule, "l").unwrap().limit, first.limit, "{rule}");
    }
}
