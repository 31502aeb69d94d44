//! A call that takes several requests has one time for all of them.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use sluicegate::{ErrorKind, RateLimiter, Rules};
use sluicegate_conformance::{Driver, Limiter};
use sluicegate_test_servers::Redis;

/// How much later than the server's an answer arrives.
const DELAY: Duration = Duration::from_millis(100);
const RULES: usize = 20;

#[test]
fn the_rules_of_a_reset_share_its_time() {
    let redis = Redis::start().unwrap();
    let relay = relay(SocketAddr::from(([127, 0, 0, 1], redis.port())));
    let rules: Vec<_> = (0..RULES).map(|at| json!({"rule_id": format!("r{at}"), "rate": "9/hour"})).collect();
    for driver in [Driver::Blocking, Driver::Async] {
        let rules = Rules::from_json(&json!(rules).to_string()).unwrap();
        let builder = RateLimiter::builder(format!("redis://{relay}")).rules(rules);
        let limiter = Limiter::new(driver, builder).unwrap();
        let reset = |timeout: Duration| {
            let vector = json!({"op": "reset_all", "key": "k", "timeout": timeout.as_micros() as u64});
            limiter.call_about_all(&vector).unwrap()
        };
        let began = Instant::now();
        let error = reset(DELAY * 5).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{driver:?}: {error}");
        assert!(began.elapsed() < DELAY * RULES as u32 / 2, "{driver:?}: {:?}", began.elapsed());
        reset(DELAY * RULES as u32 * 10).unwrap();
    }
}

/// The address of a relay to a server, which hands answers on late.
fn relay(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(upstream) = TcpStream::connect(server) else { continue };
            let (from, to) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            thread::spawn(move || hand_on(from, to, Duration::ZERO));
            thread::spawn(move || hand_on(upstream, client, DELAY));
        }
    });
    address
}

/// Ends when either side does.
fn hand_on(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        thread::sleep(delay);
        if to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}
