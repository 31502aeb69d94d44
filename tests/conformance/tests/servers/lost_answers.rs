//! Calls about reservations, and calls with a request id, whose answer is lost, cut after each of its bytes, are sent
//! again, and are carried out exactly once. After each byte they are cut three times, and eleven times with
//! `SLUICEGATE_LONG_TESTS`.

use std::env;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::Duration;

use sluicegate::{AsyncRateLimiter, Check, CheckOptions, RateLimiter, Rules, Usage};
use sluicegate_conformance::{Driver, Limiter};
use sluicegate_test_servers::Redis;
use tokio::runtime::Runtime;

/// Longer than any answer.
const LONGEST: i64 = 90;
const RULES: &str = r#"[
    {"rule_id": "tokens", "algorithm": "fixed_window", "limit": 1000000, "window_size_seconds": 36000,
     "reservations": true, "lease_seconds": 3600},
    {"rule_id": "places", "algorithm": "concurrency", "limit": 1, "lease_seconds": 3600},
    {"rule_id": "plain", "algorithm": "fixed_window", "limit": 1000000, "window_size_seconds": 36000}
]"#;
const NEVER: i64 = i64::MAX;

/// How often each call is made.
fn rounds() -> i64 {
    LONGEST * if env::var_os("SLUICEGATE_LONG_TESTS").is_some() { 11 } else { 3 }
}

/// A proxy before a server. On request it passes so many more bytes of an answer on and closes the connection.
struct Cutter {
    address: SocketAddr,
    left: Arc<AtomicI64>,
}

impl Cutter {
    fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let left = Arc::new(AtomicI64::new(NEVER));
        let shared = Arc::clone(&left);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(server).unwrap();
                // Else a part of an answer waits up to 40 ms for the part before it to be acknowledged.
                server.set_nodelay(true).unwrap();
                client.set_nodelay(true).unwrap();
                let (from_client, to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || carry(from_client, to_server, None));
                let shared = Arc::clone(&shared);
                thread::spawn(move || carry(server, client, Some(&shared)));
            }
        });
        Self { address, left }
    }

    fn cut_after(&self, bytes: i64) {
        self.left.store(bytes, Ordering::SeqCst);
    }

    fn was_used(&self) -> bool {
        self.left.load(Ordering::SeqCst) == NEVER
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, left: Option<&AtomicI64>) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        let allowed = left.map_or(NEVER, |left| left.load(Ordering::SeqCst));
        let passed = usize::try_from(allowed).map_or(read, |allowed| read.min(allowed));
        if to.write_all(&bytes[..passed]).is_err() {
            break;
        }
        if let Some(left) = left.filter(|_| allowed != NEVER) {
            if passed < read || allowed == 0 {
                // The next connection is whole again.
                left.store(NEVER, Ordering::SeqCst);
                break;
            }
            left.fetch_sub(passed as i64, Ordering::SeqCst);
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// The calls of a round, so many times that each has its answer cut after each of its bytes: how many were cut.
fn play(cutter: &Cutter, steps: usize, mut call: impl FnMut(usize)) -> usize {
    let mut cuts = 0;
    for number in 0..rounds() {
        for step in 0..steps {
            cutter.cut_after(number % LONGEST);
            call(step);
            cuts += usize::from(cutter.was_used());
        }
    }
    cutter.cut_after(NEVER);
    cuts
}

fn redis() -> (Redis, Cutter, String) {
    let redis = Redis::start().unwrap();
    let cutter = Cutter::before(redis.address().parse().unwrap());
    let url = format!("redis://{}", cutter.address);
    (redis, cutter, url)
}

fn rules() -> Rules {
    Rules::from_json(RULES).unwrap()
}

#[test]
fn reservations_of_threads() {
    let (redis, cutter, url) = redis();
    let limiter = RateLimiter::builder(url).rules(rules()).breaker_failures(0).build().unwrap();
    let mut made = Vec::new();
    let cuts = play(&cutter, 5, |step| match step {
        0 => made.push(limiter.reserve("tokens", "k").unwrap()),
        1 => assert!(limiter.renew(&made[0]).unwrap()),
        2 => assert!(limiter.commit(&made.remove(0), Usage::Cost(7)).unwrap()),
        3 => made.push(limiter.reserve("places", "k").unwrap()),
        _ => assert!(limiter.release(&made.remove(0)).unwrap()),
    });
    assert!(cuts as i64 > rounds(), "only {cuts} answers were cut");
    exactly_once(&redis);
}

#[test]
fn reservations_of_tasks() {
    let (redis, cutter, url) = redis();
    let runtime = Runtime::new().unwrap();
    let builder = AsyncRateLimiter::builder(url).rules(rules()).breaker_failures(0);
    let limiter = runtime.block_on(builder.connect()).unwrap();
    let mut made = Vec::new();
    let cuts = play(&cutter, 5, |step| {
        runtime.block_on(async {
            match step {
                0 => made.push(limiter.reserve("tokens", "k").await.unwrap()),
                1 => assert!(limiter.renew(&made[0]).await.unwrap()),
                2 => assert!(limiter.commit(&made.remove(0), Usage::Cost(7)).await.unwrap()),
                3 => made.push(limiter.reserve("places", "k").await.unwrap()),
                _ => assert!(limiter.release(&made.remove(0)).await.unwrap()),
            }
        });
    });
    assert!(cuts as i64 > rounds(), "only {cuts} answers were cut");
    exactly_once(&redis);
}

#[test]
fn requests_of_threads() {
    each_request_counts_once(Driver::Blocking);
}

#[test]
fn requests_of_tasks() {
    each_request_counts_once(Driver::Async);
}

/// What every call answers is what the first attempt was answered, and in the end each was charged once.
fn each_request_counts_once(driver: Driver) {
    let (redis, cutter, url) = redis();
    let builder = RateLimiter::builder(url).rules(rules()).breaker_failures(0);
    let limiter = Limiter::new(driver, builder).unwrap();
    // Of a rule without reservations, and of one with.
    let (mut plain, mut tokens) = (1_000_000, 1_000_000);
    let (mut id, mut calls) = (String::new(), 0);
    let cuts = play(&cutter, 4, |step| {
        calls += 1;
        id = format!("call {calls}");
        let options = CheckOptions::new().request_id(&id);
        let remaining = match step {
            0 => {
                plain -= 3;
                limiter.check("plain", "k", options.cost(3)).map(|decision| decision.remaining == plain)
            }
            1 => {
                (plain, tokens) = (plain - 1, tokens - 1);
                let checks = [Check::new("plain", "k"), Check::new("tokens", "k")];
                let decision = limiter.check_all_with(&checks, Some(&id));
                decision.map(|decision| {
                    decision.parts[0].remaining == plain && decision.parts[1].remaining == tokens
                })
            }
            2 => {
                tokens -= 2;
                limiter.charge("tokens", "k", options.cost(2)).map(|decision| decision.remaining == tokens)
            }
            _ => {
                plain += 1;
                limiter.refund("plain", "k", options).map(|decision| decision.remaining == plain)
            }
        };
        assert!(remaining.unwrap(), "call {calls}");
    });
    assert!(cuts as i64 > rounds(), "only {cuts} answers were cut");
    let limiter = RateLimiter::builder(redis.url()).rules(rules()).build().unwrap();
    assert_eq!(limiter.peek("plain", "k").unwrap().remaining, 1_000_000 - 3 * rounds() as u64);
    assert_eq!(limiter.peek("tokens", "k").unwrap().remaining, 1_000_000 - 3 * rounds() as u64);
}

/// Every commit was charged once, and nothing is held any more.
fn exactly_once(redis: &Redis) {
    let limiter = RateLimiter::builder(redis.url()).rules(rules()).build().unwrap();
    assert_eq!(limiter.peek("tokens", "k").unwrap().remaining, 1_000_000 - 7 * rounds() as u64);
    assert_eq!(limiter.peek("places", "k").unwrap().remaining, 1);
    assert_eq!(limiter.peek("places", "k").unwrap().reset_after, Duration::ZERO);
}
