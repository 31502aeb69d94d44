//! What is held costs a server little, whatever is held.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use redis::Commands;
use sluicegate::{ManualClock, RateLimiter, Rules};
use sluicegate_test_servers::Redis;

/// How often scripts have looked for leases, the latest first.
fn looks(connection: &mut impl Commands) -> u64 {
    let info: String = redis::cmd("INFO").arg("commandstats").query(connection).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_zrevrangebyscore:calls=")).unwrap();
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
        clock.advance(std::time::Duration::from_micros(1));
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
