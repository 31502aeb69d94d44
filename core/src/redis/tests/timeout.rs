//! Calls with a timeout of their own.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use sluicegate_test_servers::{Cluster, Redis};

use super::fake_server::flooding;
use super::*;
use crate::redis::drivers::loops::tokio_host::TokioHost;
use crate::{AsyncRateLimiter, Check, CheckOptions, RateLimiter, Rules};

/// Far less than a server may take to answer.
const SHORT: Duration = Duration::from_millis(50);
/// A short time, with room for a busy machine.
const SOON: Duration = Duration::from_millis(350);

impl Driver {
    /// Both drivers, neither of which has a connection.
    fn unconnected(url: &str, options: &ConnectOptions) -> [Self; 2] {
        let runtime = Runtime::new().unwrap();
        let host = Arc::new(TokioHost::new(runtime.handle().clone()));
        let redis = AsyncRedis::on(&parse(url).unwrap(), options, host).unwrap();
        [Self::blocking(url, options).unwrap(), Self::Async(runtime, redis)]
    }

    fn increment_within(&self, key: &str, timeout: Duration) -> Result<Value> {
        let call = call(eternal(Script::new(INCREMENT.to_owned())), &[key], &[]);
        match self {
            Self::Blocking(redis) => redis.call(call, redis.deadline(Some(timeout))),
            Self::Async(runtime, redis) => runtime.block_on(redis.call(call, redis.deadline(Some(timeout)))),
        }
    }

    fn ends_soon(&self, key: &str) {
        let took = self.ends_by_then(key);
        assert!(took >= SHORT * 9 / 10, "{took:?}");
    }

    /// The same of a call that may wait for the attempt of another to connect, and end with that.
    fn ends_by_then(&self, key: &str) -> Duration {
        self.ends_within(key, SOON)
    }

    fn ends_within(&self, key: &str, most: Duration) -> Duration {
        let (outcome, took) = timed(|| self.increment_within(key, SHORT));
        assert_eq!(kind(&outcome), Some(ErrorKind::Timeout), "{outcome:?}");
        assert!(took < most, "{took:?}");
        took
    }
}

#[test]
fn a_silent_server_is_a_timeout_in_the_time_of_the_call() {
    let redis = Redis::start().unwrap();
    for driver in both(redis.url()) {
        driver.increment("key").unwrap();
        redis.pause().unwrap();
        driver.ends_soon("key");
        redis.resume().unwrap();
        assert!(recovery(&driver, "other") < PROMPT);
    }
}

#[test]
fn a_flood_of_pushes_is_a_timeout_in_the_time_of_the_call() {
    // A flood keeps a processor busy. The server may take far longer than the call, so a call that ends soon ended by itself.
    let response_timeout = Duration::from_secs(8);
    let options = ConnectOptions { response_timeout, ..ConnectOptions::default() };
    in_time(move || {
        for driver in both_with(&flooding(), &options) {
            driver.ends_within("key", response_timeout / 4);
            driver.ends_within("key", response_timeout / 4);
        }
    });
}

#[test]
fn connecting_counts_and_what_was_given_up_meanwhile_is_never_sent() {
    let redis = Redis::start().unwrap();
    for (round, driver) in Driver::unconnected(redis.url(), &ConnectOptions::default()).iter().enumerate() {
        let key = format!("key{round}");
        redis.pause().unwrap();
        for _ in 0..3 {
            driver.ends_soon(&key);
        }
        redis.resume().unwrap();
        recovery(driver, "other");
        assert_eq!(driver.increment(&key).unwrap(), 1);
    }
}

#[test]
fn calls_that_threads_share_end_each_by_its_own_time() {
    let redis = Redis::start().unwrap();
    let driver = Driver::blocking(redis.url(), &ConnectOptions::default()).unwrap();
    driver.increment("key").unwrap();
    redis.pause().unwrap();
    thread::scope(|scope| {
        for number in 0..12 {
            let driver = &driver;
            scope.spawn(move || {
                if number % 3 == 0 {
                    driver.increment("key").unwrap_err();
                } else {
                    driver.ends_soon("key");
                }
            });
        }
    });
    redis.resume().unwrap();
}

#[test]
fn discovery_counts() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis-cluster://{}", silent.local_addr().unwrap());
    for driver in Driver::unconnected(&url, &ConnectOptions::default()) {
        for _ in 0..8 {
            driver.ends_by_then("key");
        }
    }
}

#[test]
fn only_calls_that_leave_a_server_its_time_open_the_circuit_breaker() {
    let redis = Redis::start().unwrap();
    let response_timeout = Duration::from_millis(100);
    let options = ConnectOptions { breaker_failures: 3, response_timeout, ..ConnectOptions::default() };
    for driver in both_with(redis.url(), &options) {
        driver.increment("key").unwrap();
        redis.pause().unwrap();
        for _ in 0..9 {
            driver.ends_by_then("key");
        }
        let refused = |outcome: Result<Value>| outcome.unwrap_err().message().contains("circuit breaker");
        let tries = (0..9).take_while(|_| !refused(driver.increment_within("key", response_timeout)));
        assert!((3..9).contains(&tries.count()));
        redis.resume().unwrap();
        recovery(&driver, "other");
    }
}

const RULES: &str = r#"[{ "rule_id": "r", "rate": "1/minute" }]"#;

#[test]
fn slots_of_a_cluster_share_the_time_of_a_call() {
    let cluster = Cluster::start().unwrap();
    let port = |key: &str| cluster.primary_of(&format!("{{{key}}}")).unwrap().port();
    let other = (0..100).map(|number| number.to_string()).find(|key| port(key) != port("0")).unwrap();
    let silent = cluster.primary_of(&format!("{{{other}}}")).unwrap();
    let timeout = Duration::from_millis(200);
    let options = CheckOptions::new().timeout(timeout);
    let checks = [Check::new("r", "0"), Check::new("r", &other).with(options)];
    let rules = || Rules::from_json(RULES).unwrap();
    let limiter = RateLimiter::builder(cluster.url()).rules(rules()).build().unwrap();
    let runtime = Runtime::new().unwrap();
    let connecting = AsyncRateLimiter::builder(cluster.url()).rules(rules()).connect();
    let asynchronous = runtime.block_on(connecting).unwrap();
    limiter.peek("r", "0").unwrap();
    silent.pause().unwrap();
    let blocking = timed(|| limiter.check_all(&checks));
    let outcomes = [blocking, timed(|| runtime.block_on(asynchronous.check_all(&checks)))];
    silent.resume().unwrap();
    for (outcome, took) in outcomes {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Timeout);
        assert!(took >= timeout * 9 / 10 && took < timeout + SOON - SHORT, "{took:?}");
    }
    assert!(limiter.peek("r", "0").unwrap().allowed, "nothing was charged");
}

#[test]
fn every_call_has_a_timeout() {
    let redis = Redis::start().unwrap();
    let rules = Rules::from_json(RULES).unwrap();
    let limiter = RateLimiter::builder(redis.url()).rules(rules).build().unwrap();
    assert!(limiter.check("r", "k").unwrap().allowed);
    limiter.ping_with(SHORT).unwrap();
    redis.pause().unwrap();
    let outcomes = [
        timed(|| limiter.peek_with("r", "k", CheckOptions::new().timeout(SHORT)).map(drop)),
        timed(|| limiter.ping_with(SHORT)),
        timed(|| limiter.reset_with("r", "k", CheckOptions::new().timeout(SHORT))),
    ];
    redis.resume().unwrap();
    for (outcome, took) in outcomes {
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Timeout);
        assert!(took < SOON, "{took:?}");
    }
}
