//! What calls answer while no server can decide.

use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{
    AsyncRateLimiter, Builder, Check, CheckOptions, Decision, ErrorKind, RateLimiter, Rules, Source,
};
use sluicegate_conformance::{Driver, Limiter};
use sluicegate_test_servers::{Cluster, Redis};
use tokio::runtime::Runtime;

const RULES: &str = r#"[
    {"rule_id": "says nothing", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 3600},
    {"rule_id": "raises", "rate": "10/hour", "fallback": "error"},
    {"rule_id": "opens", "rate": "10/hour", "fallback": "allow"},
    {"rule_id": "shuts", "rate": "10/hour", "fallback": "deny"},
    {"rule_id": "decides", "rate": "10/hour", "fallback": "local"},
    {"rule_id": "tiny", "rate": "2/hour", "fallback": "local"},
    {"rule_id": "places", "algorithm": "concurrency", "limit": 4, "fallback": "local"},
    {"rule_id": "rooms", "algorithm": "concurrency", "limit": 4}
]"#;

/// Long enough for a machine that does much else.
const LONG: Duration = Duration::from_secs(60);

/// Rule ids have no spaces.
fn rules() -> Rules {
    Rules::from_json(&RULES.replace("says nothing", "silent")).unwrap()
}

/// A limiter whose server is stopped, of which so many share the limits.
fn limiter(url: &str, fallback: &str, instances: u32) -> RateLimiter {
    builder(url, fallback, instances).build().unwrap()
}

fn builder(url: &str, fallback: &str, instances: u32) -> Builder {
    let builder = RateLimiter::builder(url).rules(rules()).fallback(fallback).instances(instances);
    builder.response_timeout(Duration::from_millis(100)).connect_timeout(Duration::from_millis(200))
}

fn stopped() -> Redis {
    let redis = Redis::start().unwrap();
    redis.pause().unwrap();
    redis
}

fn admitted(limiter: &RateLimiter, rule: &str, calls: usize) -> usize {
    (0..calls).filter(|_| limiter.check(rule, "k").unwrap().allowed).count()
}

fn figures(decision: &Decision) -> (bool, u64, Source) {
    (decision.allowed, decision.remaining, decision.source)
}

#[test]
fn each_rule_answers_by_its_own_word() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "error", 1);
    for rule in ["silent", "raises"] {
        let error = limiter.check(rule, "k").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Connection), "{error}");
    }
    assert_eq!(figures(&limiter.check("opens", "k").unwrap()), (true, 10, Source::Fallback));
    let denied = limiter.check("shuts", "k").unwrap();
    assert_eq!(figures(&denied), (false, 0, Source::Fallback));
    assert_eq!(denied.retry_after, Duration::from_millis(100), "until the server is tried again");
    assert_eq!(figures(&limiter.check("decides", "k").unwrap()), (true, 9, Source::Fallback));
    assert_eq!(figures(&limiter.peek("decides", "k").unwrap()), (true, 9, Source::Fallback));
    assert_eq!(admitted(&limiter, "decides", 20), 9);
}

#[test]
fn the_option_is_for_rules_that_say_nothing() {
    let redis = stopped();
    for (word, allowed) in [("allow", true), ("deny", false), ("local", true)] {
        let limiter = limiter(redis.url(), word, 1);
        assert_eq!(limiter.check("silent", "k").unwrap().allowed, allowed, "{word}");
        limiter.check("raises", "k").unwrap_err();
    }
}

#[test]
fn processes_share_the_limits_evenly() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "local", 4);
    // 10 / 4, and 2 / 4: nothing.
    assert_eq!(admitted(&limiter, "decides", 20), 2);
    assert_eq!(admitted(&limiter, "tiny", 5), 0);
    let options = CheckOptions::new().limit(8);
    let other = (0..9).filter(|_| limiter.check_with("decides", "other", options).unwrap().allowed).count();
    assert_eq!(other, 2, "the limit of a call is shared too");
}

#[test]
fn several_items_are_admitted_together_or_not_at_all() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "error", 1);
    let all = |rules: &[&'static str]| {
        limiter.check_all(&rules.iter().map(|rule| Check::new(rule, "k")).collect::<Vec<_>>())
    };
    all(&["decides", "silent"]).unwrap_err();
    let denied = all(&["decides", "shuts", "opens"]).unwrap();
    assert_eq!((denied.allowed, denied.parts.len(), denied.source), (false, 3, Source::Fallback));
    assert_eq!(limiter.peek("decides", "k").unwrap().remaining, 10, "nothing was charged");
    assert!(all(&["decides", "opens"]).unwrap().allowed);
    assert_eq!(limiter.peek("decides", "k").unwrap().remaining, 9);
}

#[test]
fn what_may_not_be_made_up_is_an_error() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "allow", 1);
    limiter.charge("opens", "k").unwrap_err();
    limiter.refund("opens", "k").unwrap_err();
    limiter.reset("opens", "k").unwrap_err();
    let kind = |rule: &str, key: &str| limiter.check(rule, key).unwrap_err().kind();
    assert_eq!(kind("unknown", "k"), ErrorKind::UnknownRule);
    assert_eq!(kind("opens", ""), ErrorKind::InvalidArgument);
    limiter.close();
    assert_eq!(kind("opens", "k"), ErrorKind::Closed);
}

#[test]
fn places_are_held_and_given_back_in_memory() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "error", 2);
    let held: Vec<_> = (0..3).map(|_| limiter.reserve("places", "k").unwrap()).collect();
    assert_eq!(held.iter().filter(|reservation| reservation.allowed).count(), 2);
    assert_eq!(held[0].source, Source::Fallback);
    assert!(limiter.renew(&held[0]).unwrap());
    assert!(limiter.release(&held[0]).unwrap());
    assert!(limiter.reserve("places", "k").unwrap().allowed);
}

#[test]
fn a_server_that_is_back_decides() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "local", 1);
    assert_eq!(limiter.check("silent", "k").unwrap().source, Source::Fallback);
    redis.resume().unwrap();
    let decided = std::iter::repeat_with(|| limiter.check("silent", "k").unwrap());
    let back = decided.take(1_000_000).find(|decision| decision.source == Source::Server).unwrap();
    // What the server may have counted of the calls that it did not answer in time is its own matter.
    assert!(back.allowed);
}

#[test]
fn a_server_in_no_state_to_decide_is_away() {
    let redis = Redis::start().unwrap();
    let limiter = limiter(redis.url(), "local", 1);
    assert_eq!(limiter.check("silent", "k").unwrap().source, Source::Server);
    let mut client = redis.client().unwrap();
    redis::cmd("CONFIG").arg(&["SET", "maxmemory", "1"]).exec(&mut client).unwrap();
    assert_eq!(limiter.check("silent", "other").unwrap().source, Source::Fallback);
    redis::cmd("CONFIG").arg(&["SET", "maxmemory", "0"]).exec(&mut client).unwrap();
    assert_eq!(limiter.check("silent", "other").unwrap().source, Source::Server);
}

#[test]
fn a_slot_without_a_server_leaves_nothing_charged_elsewhere() {
    let cluster = Cluster::start().unwrap();
    // A limiter that takes longer on a busy machine would fall back before there is an outage.
    let open = |driver| {
        Limiter::new(driver, builder(&cluster.url(), "local", 1).response_timeout(LONG).connect_timeout(LONG))
    };
    let limiters = [Driver::Blocking, Driver::Async].map(|driver| open(driver).unwrap());
    let keys: Vec<String> = (0..100).map(|number| format!("key{number}")).collect();
    let port = |key: &str| cluster.primary_of(&format!("{{{key}}}")).unwrap().port();
    let other = keys.iter().find(|key| port(key) != port(&keys[0])).unwrap();
    let options = CheckOptions::new;
    for limiter in &limiters {
        assert!(limiter.check("silent", &keys[0], options()).unwrap().allowed);
    }
    cluster.kill_primary_of(&format!("{{{other}}}")).unwrap();
    for limiter in &limiters {
        let both = [Check::new("silent", &keys[0]), Check::new("silent", other)];
        let decision = limiter.check_all(&both).unwrap();
        assert_eq!((decision.allowed, decision.source), (true, Source::Fallback));
        let kept = limiter.peek("silent", &keys[0], options()).unwrap();
        assert_eq!((kept.remaining, kept.source), (8, Source::Server), "half of it was charged");
    }
}

#[test]
fn an_application_starts_while_the_server_is_away() {
    let runtime = Runtime::new().unwrap();
    let builder = || AsyncRateLimiter::builder("redis://127.0.0.1:1").rules(Rules::from_json("[]").unwrap());
    runtime.block_on(async {
        assert_eq!(builder().connect().await.err().unwrap().kind(), ErrorKind::Connection);
        let limiter = builder().rules(rules()).fallback("local").connect().await.unwrap();
        assert_eq!(limiter.check("silent", "k").await.unwrap().source, Source::Fallback);
        // A rule that says so is enough.
        let limiter = builder().rules(rules()).connect().await.unwrap();
        assert_eq!(limiter.check("opens", "k").await.unwrap().source, Source::Fallback);
        limiter.check("silent", "k").await.unwrap_err();
    });
}

#[test]
fn a_wait_is_decided_by_the_fallback() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "local", 1);
    assert!(limiter.wait("silent", "k", Duration::from_secs(1)).unwrap().allowed);
    assert!(!limiter.wait("shuts", "k", Duration::from_millis(50)).unwrap().allowed);
}

#[test]
fn a_wait_tries_as_often_as_the_server_is_probed_and_ends_when_it_is_back() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "deny", 1);
    let decided = || {
        let metrics = limiter.metrics();
        metrics
            .rules
            .values()
            .map(|rule| rule.decisions.get("fallback").map_or(0, |counts| counts.denied))
            .sum::<u64>()
    };
    let second = Duration::from_secs(1);
    assert!(!limiter.wait("silent", "k", second).unwrap().allowed);
    assert!(!limiter.reserve_within("rooms", "k", CheckOptions::new(), second).unwrap().allowed);
    assert!(decided() <= 2 * 11, "{}", decided());
    thread::scope(|scope| {
        let waits = [
            scope.spawn(|| limiter.wait("silent", "k", LONG).unwrap().source),
            scope.spawn(|| limiter.reserve_within("rooms", "k", CheckOptions::new(), LONG).unwrap().source),
        ];
        let before = decided();
        while decided() < before + 4 {
            thread::sleep(Duration::from_millis(5));
        }
        redis.resume().unwrap();
        assert!(waits.into_iter().all(|wait| wait.join().unwrap() == Source::Server));
    });
}

#[test]
fn a_wait_that_ends_with_the_error_does_so_when_its_time_is_over() {
    let redis = stopped();
    let limiter = limiter(redis.url(), "error", 1);
    let errors = || limiter.metrics().errors.values().sum::<u64>();
    let began = Instant::now();
    let second = Duration::from_secs(1);
    let error = limiter.wait("silent", "k", second).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Connection), "{error}");
    limiter.reserve_within("rooms", "k", CheckOptions::new(), second).unwrap_err();
    assert!(began.elapsed() >= 2 * second, "{:?}", began.elapsed());
    // Each of the two asked every 0.1 s at most, and a last time at its end.
    assert!(errors() <= 2 * 12, "{}", errors());
    thread::scope(|scope| {
        let waits = [
            scope.spawn(|| limiter.wait("silent", "k", LONG).unwrap().source),
            scope.spawn(|| limiter.reserve_within("rooms", "k", CheckOptions::new(), LONG).unwrap().source),
        ];
        let before = errors();
        while errors() < before + 4 {
            thread::sleep(Duration::from_millis(5));
        }
        redis.resume().unwrap();
        assert!(waits.into_iter().all(|wait| wait.join().unwrap() == Source::Server));
    });
}

#[test]
fn a_task_waits_for_a_server_to_be_back() {
    let redis = stopped();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let limiter = builder(redis.url(), "error", 1).lazy(true).connect().await.unwrap();
        let wait = limiter.wait("silent", "k", LONG);
        let resume = async {
            while limiter.metrics().errors.is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            redis.resume().unwrap();
        };
        let (decision, ()) = tokio::join!(wait, resume);
        assert_eq!(decision.unwrap().source, Source::Server);
    });
}
