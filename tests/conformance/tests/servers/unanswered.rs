//! A server that is silent for as long as a call may take, and then carries out what it was sent.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use sluicegate::{CheckOptions, Error, ErrorKind, RateLimiter, Rules};
use sluicegate_conformance::{Driver, Limiter};
use sluicegate_test_servers::Redis;

const RULES: &str = r#"[
    {"rule_id": "places", "algorithm": "concurrency", "limit": 1, "lease_seconds": 3600},
    {"rule_id": "plain", "rate": "9/hour"}
]"#;
const DRIVERS: [Driver; 2] = [Driver::Blocking, Driver::Async];

/// One that sends a call again before its time is up.
fn limiter(driver: Driver, redis: &Redis) -> Limiter {
    let builder = RateLimiter::builder(redis.url()).rules(Rules::from_json(RULES).unwrap());
    Limiter::new(driver, builder.response_timeout(Duration::from_millis(300)).breaker_failures(0)).unwrap()
}

#[test]
fn what_a_call_may_have_reserved_is_released() {
    let redis = Redis::start().unwrap();
    for driver in DRIVERS {
        let limiter = limiter(driver, &redis);
        let left = || limiter.peek("places", "k", CheckOptions::new()).unwrap().remaining;
        assert_eq!(left(), 1);
        redis.pause().unwrap();
        let error = limiter.reserve(&json!({"rule": "places", "key": "k"})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        redis.resume().unwrap();
        // The server comes to this after the call, and perhaps before the release.
        redis.client().unwrap();
        let is_free = |_| {
            thread::sleep(Duration::from_millis(5));
            left() == 1
        };
        assert!((0..1_000).any(is_free), "{driver:?}");
    }
}

#[test]
fn the_error_of_the_last_attempt_says_what_may_have_come_of_the_first() {
    let redis = Redis::start().unwrap();
    for driver in DRIVERS {
        let limiter = limiter(driver, &redis);
        let reserved = limiter.reserve(&json!({"rule": "places", "key": "l"})).unwrap();
        let named = CheckOptions::new().request_id("id");
        let calls: [&dyn Fn() -> Result<(), Error>; 3] = [
            &|| limiter.check("plain", "k", named).map(drop),
            &|| limiter.reserve(&json!({"rule": "places", "key": "k"})).map(drop),
            &|| limiter.end((&reserved).into(), &json!({"op": "commit"})).map(drop),
        ];
        let errors = calls.map(|call| {
            // Only a connection that has just been used is not tried first.
            limiter.peek("plain", "k", CheckOptions::new()).unwrap();
            redis.pause().unwrap();
            let error = call().unwrap_err();
            redis.resume().unwrap();
            error
        });
        for error in errors {
            assert!(error.message().contains("whether the call was carried out is not known"), "{error}");
        }
    }
}

/// Nothing is sent while the circuit breaker is open: then also calls that may be sent again end at once.
#[test]
fn an_open_circuit_breaker_ends_calls_that_may_be_sent_again_at_once() {
    for driver in DRIVERS {
        let redis = Redis::start().unwrap();
        let minute = Duration::from_secs(60);
        let builder = RateLimiter::builder(redis.url()).rules(Rules::from_json(RULES).unwrap());
        let builder = builder.connect_timeout(minute).breaker_failures(1).breaker_probe(minute);
        let limiter = Limiter::new(driver, builder).unwrap();
        drop(redis);
        let named = CheckOptions::new().request_id("id");
        // Those that find it closed may take their time.
        while !limiter
            .check("plain", "k", CheckOptions::new())
            .unwrap_err()
            .message()
            .contains("breaker open")
        {}
        let began = Instant::now();
        let errors = [
            limiter.check("plain", "k", named).map(drop).unwrap_err(),
            limiter.reserve(&json!({"rule": "places", "key": "k"})).map(drop).unwrap_err(),
        ];
        assert!(began.elapsed() < minute / 2, "{:?}", began.elapsed());
        assert!(errors.iter().all(|error| error.message().contains("circuit breaker open")), "{errors:?}");
    }
}
