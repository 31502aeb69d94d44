//! What a limiter counts, over its whole way.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;
use std::time::Duration;

use sluicegate_test_servers::Redis;

use crate::{Check, CheckOptions, RateLimiter, Rules};

const RULES: &str = r#"[
    {"rule_id": "two", "rate": "2/hour"},
    {"rule_id": "shadow", "rate": "1/hour", "shadow": true},
    {"rule_id": "blocked", "rate": "1/hour", "block": {"seconds": 60}},
    {"rule_id": "places", "algorithm": "concurrency", "limit": 1}
]"#;

fn limiter(url: &str) -> RateLimiter {
    let builder = RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap());
    builder.response_timeout(Duration::from_millis(100)).build().unwrap()
}

fn assert_line(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
}

fn calls_are_counted(url: &str, source: &str) {
    let limiter = limiter(url);
    let decisions = |rule, result, count| {
        let labels = format!("rule=\"{rule}\",result=\"{result}\",source=\"{source}\"");
        assert_line(&limiter.prometheus(), &format!("sluicegate_decisions_total{{{labels}}} {count}"));
    };
    let two = CheckOptions::new().cost(2);
    limiter.check_with("two", "secret key", two).unwrap();
    limiter.check("two", "secret key").unwrap();
    limiter.peek("two", "secret key").unwrap();
    decisions("two", "admitted", 1);
    decisions("two", "denied", 1);
    assert_line(&limiter.prometheus(), "sluicegate_cost_total{rule=\"two\"} 2");
    (0..2).for_each(|_| drop(limiter.check("shadow", "k").unwrap()));
    decisions("shadow", "shadow_denied", 1);
    (0..3).for_each(|_| drop(limiter.check("blocked", "k").unwrap()));
    decisions("blocked", "admitted", 1);
    decisions("blocked", "blocked", 2);
    limiter.check_all(&[Check::new("two", "b"), Check::new("shadow", "b")]).unwrap();
    decisions("two", "admitted", 2);
    let _held = limiter.reserve("places", "k").unwrap();
    let _denied = limiter.reserve("places", "k").unwrap();
    decisions("places", "admitted", 1);
    decisions("places", "denied", 1);
    assert!(!limiter.prometheus().contains("secret"));
}

#[test]
fn calls_in_memory_are_counted() {
    calls_are_counted("memory://", "memory");
}

#[test]
fn calls_on_a_server_are_counted() {
    let redis = Redis::start().unwrap();
    calls_are_counted(redis.url(), "server");
}

#[test]
fn calls_that_wait_are_counted() {
    let limiter = limiter("memory://");
    let held = limiter.reserve("places", "k").unwrap();
    let waiting = |count| format!("sluicegate_waiting{{rule=\"places\"}} {count}");
    assert_line(&limiter.prometheus(), &waiting(0));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let options = CheckOptions::new();
            limiter.reserve_within("places", "k", options, Duration::from_secs(60)).unwrap().allowed
        });
        while !limiter.prometheus().contains(&waiting(1)) {
            thread::yield_now();
        }
        assert!(limiter.release(&held).unwrap());
        assert!(waiter.join().unwrap());
    });
    assert_line(&limiter.prometheus(), &waiting(0));
}

#[test]
fn an_outage_is_counted() {
    let redis = Redis::start().unwrap();
    let limiter = limiter(redis.url());
    limiter.check("two", "k").unwrap();
    assert_line(&limiter.prometheus(), "sluicegate_round_trip_seconds_count 1");
    let server = format!("{{server=\"127.0.0.1:{}\"}}", redis.port());
    assert_line(&limiter.prometheus(), &format!("sluicegate_breaker_open{server} 0"));
    redis.pause().unwrap();
    (0..9).for_each(|_| drop(limiter.check("two", "k").unwrap_err()));
    let text = limiter.prometheus();
    assert_line(&text, &format!("sluicegate_breaker_open{server} 1"));
    assert_line(&text, "sluicegate_breaker_openings_total 1");
    assert_line(&text, "sluicegate_errors_total{kind=\"Timeout\"} 5");
    assert_line(&text, "sluicegate_errors_total{kind=\"Connection\"} 4");
    assert_line(&text, "sluicegate_decisions_total{rule=\"two\",result=\"error\",source=\"server\"} 9");
    redis.resume().unwrap();
}

#[test]
fn the_region_is_a_label() {
    let regions = ["eu", "us"].map(|name| (name, format!("redis://{name}.example")));
    let rules = Rules::from_json(RULES).unwrap();
    let limiter = RateLimiter::builder("").rules(rules).regions(regions).region("eu").build().unwrap();
    assert_line(&limiter.prometheus(), r#"sluicegate_region{region="eu"} 1"#);
    assert_eq!(limiter.metrics().region.as_deref(), Some("eu"));
    assert!(!self::limiter("memory://").prometheus().contains("sluicegate_region{"));
}

fn keys_denied_most_are_told(url: &str) {
    let rules = Rules::from_json(
        r#"[{"rule_id": "two", "rate": "2/hour"}, {"rule_id": "secret", "rate": "1/hour", "identifier_type": "api_key"}]"#,
    );
    let limiter = RateLimiter::builder(url).rules(rules.unwrap()).top_denied(2).build().unwrap();
    for (key, calls) in [("seldom", 3), ("frequent", 9), ("sometimes", 5), ("never", 2)] {
        (0..calls).for_each(|_| drop(limiter.check("two", key).unwrap()));
    }
    limiter.check_all(&[Check::new("two", "sometimes"), Check::new("secret", "password")]).unwrap();
    (0..2).for_each(|_| drop(limiter.check("secret", "password").unwrap()));
    let metrics = limiter.metrics();
    let denied = |rule: &str| -> Vec<_> {
        metrics.rules[rule].top_denied.iter().map(|it| (it.key.clone(), it.denied, it.overstated)).collect()
    };
    assert_eq!(denied("two"), [("frequent".to_owned(), 7, 0), ("sometimes".to_owned(), 4, 0)], "{url}");
    assert_eq!(denied("secret").len(), 1, "{url}");
    assert!(!denied("secret")[0].0.contains("password"), "{url}");
    assert!(!limiter.prometheus().contains("frequent") && metrics.to_json().contains("frequent"), "{url}");
    // They stay when rules are added, of which they are told too.
    limiter.add_rules(&Rules::from_json(r#"[{"rule_id": "more", "rate": "1/hour"}]"#).unwrap()).unwrap();
    (0..2).for_each(|_| drop(limiter.check("more", "new").unwrap()));
    let metrics = limiter.metrics();
    assert_eq!(
        (metrics.rules["two"].top_denied.len(), metrics.rules["more"].top_denied.len()),
        (2, 1),
        "{url}"
    );
}

#[test]
fn keys_denied_most_in_memory_are_told() {
    keys_denied_most_are_told("memory://");
}

#[test]
fn keys_denied_most_on_a_server_are_told() {
    keys_denied_most_are_told(Redis::start().unwrap().url());
}

#[test]
fn nothing_is_told_of_keys_unless_asked() {
    let limiter = limiter("memory://");
    (0..9).for_each(|_| drop(limiter.check("two", "k").unwrap()));
    let metrics = limiter.metrics();
    assert!(metrics.rules["two"].top_denied.is_empty());
    assert_eq!((metrics.rules["two"].decisions["memory"].denied, metrics.rules["two"].cost), (7, 2));
    assert_eq!(metrics.rules["shadow"].decisions.len(), 0);
}
