//! Servers that answer, but are in no state to decide: demoted, loading, full, without their primary.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use sluicegate_test_servers::{Options, Redis};

use super::fake_server::{reluctant, scripted};
use super::*;

/// An address that leads new connections elsewhere while the old ones stay, as virtual addresses, DNS and
/// endpoints of clouds do.
struct VirtualAddress {
    url: String,
    target: Arc<AtomicU16>,
}

impl VirtualAddress {
    fn of(redis: &Redis) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let target = Arc::new(AtomicU16::new(redis.port()));
        let leads_to = Arc::clone(&target);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", leads_to.load(Ordering::SeqCst))).unwrap();
                carry(client.try_clone().unwrap(), server.try_clone().unwrap());
                carry(server, client);
            }
        });
        Self { url, target }
    }

    fn lead_to(&self, redis: &Redis) {
        self.target.store(redis.port(), Ordering::SeqCst);
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        // Either side may end at any time.
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

fn demote(old: &Redis, new: &Redis) {
    let mut client = old.client().unwrap();
    ::redis::cmd("REPLICAOF").arg("127.0.0.1").arg(new.port()).exec(&mut client).unwrap();
}

#[test]
fn a_demoted_server_that_keeps_its_connections_is_left() {
    for order in 0..2 {
        let (old, new) = (Redis::start().unwrap(), Redis::start().unwrap());
        let address = VirtualAddress::of(&old);
        let driver = &both(&address.url)[order];
        driver.increment("key").unwrap();
        demote(&old, &new);
        address.lead_to(&new);
        let mut refusals = Vec::new();
        let (_, took) = timed(|| {
            while let Err(error) = driver.increment("key") {
                assert!(refusals.len() < 100, "{error}");
                refusals.push(error);
                thread::sleep(Duration::from_millis(10));
            }
        });
        assert!(took < Duration::from_secs(1), "{took:?}");
        for error in &refusals {
            assert!(error.message().contains("READONLY") && error.is_retryable(), "{error}");
        }
    }
}

#[test]
fn what_only_reads_leaves_a_demoted_server_too() {
    const ROLE: &str = "return redis.call('INFO', 'replication')";
    for order in 0..2 {
        let (old, new) = (Redis::start().unwrap(), Redis::start().unwrap());
        let address = VirtualAddress::of(&old);
        let driver = &both(&address.url)[order];
        driver.run(ROLE, &["key"], &[]).unwrap();
        demote(&old, &new);
        address.lead_to(&new);
        let end = Instant::now() + Duration::from_secs(1);
        let is_primary = || {
            let answer = driver.run(ROLE, &["key"], &[]).map(::redis::from_redis_value::<String>);
            answer.is_ok_and(|text| text.unwrap().contains("role:master"))
        };
        while !is_primary() {
            assert!(Instant::now() < end, "a replica still answers");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The errors of one call by each driver.
fn errors(redis: &Redis) -> Vec<Error> {
    let options = ConnectOptions::default();
    let blocking = Driver::blocking(redis.url(), &options).and_then(|driver| driver.increment("the key"));
    let opened = Driver::asynchronous(redis.url(), &options);
    [blocking, opened.and_then(|driver| driver.increment("the key"))].map(Result::unwrap_err).into()
}

#[test]
fn states_of_the_server_are_retryable_and_name_no_key() {
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    for (code, config) in [
        ("OOM", lines(&["maxmemory 1", "maxmemory-policy noeviction"])),
        ("MASTERDOWN", lines(&["replicaof 127.0.0.1 1", "replica-serve-stale-data no"])),
        ("READONLY", lines(&["replicaof 127.0.0.1 1"])),
        ("CLUSTERDOWN", lines(&["cluster-enabled yes"])),
        ("NOREPLICAS", lines(&["min-replicas-to-write 1"])),
    ] {
        let redis = Redis::with(&Options { config, ..Options::default() }).unwrap();
        for error in errors(&redis) {
            assert_eq!(error.kind(), ErrorKind::Server, "{code}: {error}");
            assert!(error.message().contains(code), "{code}: {error}");
            assert!(error.is_retryable(), "{code}: {error}");
            assert!(!error.message().contains("the key"), "{error}");
        }
    }
}

#[test]
fn a_server_that_loads_is_waited_for() {
    let redis = Redis::start().unwrap();
    let mut client = redis.client().unwrap();
    ::redis::cmd("DEBUG").arg("POPULATE").arg(20_000).exec(&mut client).unwrap();
    let set = |name: &str, value: u32| {
        ::redis::cmd("CONFIG").arg("SET").arg(name).arg(value).exec(&mut redis.client().unwrap()).unwrap();
    };
    // How many bytes until the server looks after its clients.
    set("loading-process-events-interval-bytes", 1024);
    for driver in both(redis.url()) {
        // Microseconds for each key: it loads for a minute, unless the delay is taken away.
        set("key-load-delay", 3000);
        let mut client = redis.client().unwrap();
        let reload = thread::spawn(move || ::redis::cmd("DEBUG").arg("RELOAD").exec(&mut client));
        loop {
            match driver.increment("key") {
                Err(error) if error.message().contains("LOADING") => {
                    assert!(error.is_retryable());
                    break;
                }
                Err(error) => assert!(error.is_retryable(), "{error}"),
                Ok(_) => assert!(!reload.is_finished(), "nobody was told that it loads"),
            }
            thread::sleep(Duration::from_millis(5));
        }
        set("key-load-delay", 0);
        reload.join().unwrap().unwrap();
        assert_followed(recovery(&driver, "key"), || {
            Driver::blocking(redis.url(), &ConnectOptions::default())
        });
    }
}

/// A server that counts who comes, reads something, and sends `answer` before it hangs up.
fn curt(answer: &'static [u8]) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&visits);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            if !answer.is_empty() {
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(answer);
            }
        }
    });
    (url, visits)
}

#[test]
fn an_opening_that_is_cut_short_is_a_retryable_connection_error() {
    for answer in [&b"+PO"[..], b"+", b"*2\r\n$6\r\nmas", b""] {
        let (url, _) = curt(answer);
        for error in refusals(&url, &ConnectOptions::default()) {
            assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
            assert!(error.is_retryable(), "{error}");
        }
    }
}

/// Eight threads call for a second without a pause, with these limiters. Answers what the last call said.
fn hammered(drivers: &[Driver]) -> Error {
    let end = Instant::now() + Duration::from_secs(1);
    let caller = |driver: &Driver| {
        let mut last = driver.increment("key").unwrap_err();
        while Instant::now() < end {
            last = driver.increment("key").unwrap_err();
        }
        last
    };
    thread::scope(|scope| {
        let drivers = drivers.iter().cycle().take(8);
        let callers: Vec<_> = drivers.map(|driver| scope.spawn(|| caller(driver))).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).last().unwrap()
    })
}

/// Ten in a second, and one that is begun.
const MOST_VISITS: usize = 11;
/// While a server lets connections in, as many are opened at once as there are threads.
const AT_ONCE: usize = 8;

#[test]
fn a_server_that_hangs_up_is_tried_ten_times_a_second() {
    for (scheme, service) in [("redis", ""), ("redis-cluster", ""), ("redis-sentinel", "/mymaster")] {
        let (url, visits) = curt(b"");
        let url = url.replace("redis:", &format!("{scheme}:")) + service;
        let drivers = [(); 3].map(|()| Driver::blocking(&url, &ConnectOptions::default()).unwrap());
        let last = hammered(&drivers);
        assert!(last.message().contains("circuit breaker open"), "{last}");
        assert!(last.is_retryable());
        let visits = visits.load(Ordering::SeqCst);
        assert!(visits <= MOST_VISITS, "{scheme}: {visits}");
    }
}

#[test]
fn a_server_that_says_nothing_is_tried_ten_times_a_second() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let visits = Arc::new(Mutex::new(Vec::new()));
    let guests = Arc::clone(&visits);
    thread::spawn(move || listener.incoming().for_each(|stream| guests.lock().unwrap().push(stream)));
    // Calls that say nothing about the server by ending so soon.
    let soon = Duration::from_millis(10);
    let options = ConnectOptions {
        connect_timeout: soon,
        response_timeout: soon,
        breaker_failures: 0,
        ..ConnectOptions::default()
    };
    let drivers = [(); 3].map(|()| Driver::blocking(&url, &options).unwrap());
    let last = hammered(&drivers);
    assert_eq!(last.kind(), ErrorKind::Timeout, "{last}");
    let visits = visits.lock().unwrap().len();
    assert!((5..=MOST_VISITS).contains(&visits), "{visits}");
}

#[test]
fn a_call_that_gave_up_keeps_no_other_from_connecting() {
    let url = format!("redis://{}", reluctant(Duration::from_millis(60)));
    let options = ConnectOptions { breaker_probe: Duration::from_secs(10), ..ConnectOptions::default() };
    let redis = BlockingRedis::new(&parse(&url).unwrap(), &options).unwrap();
    let script = eternal(Script::new(INCREMENT.to_owned()));
    let soon = redis.deadline(Some(Duration::from_millis(30)));
    let error = redis.call(call(script, &["key"], &[]), soon).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    redis.call(call(script, &["key"], &[]), redis.deadline(None)).unwrap();
}

#[test]
fn a_server_that_takes_no_more_connections_is_tried_ten_times_a_second() {
    for refusal in ["", "-LOADING Redis is loading\r\n", "-ERR max number of clients reached\r\n"] {
        let visits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&visits);
        // The first connection is taken, and ends with its first call.
        let url = scripted(move |number, name| {
            counted.fetch_max(number, Ordering::SeqCst);
            match (number, name) {
                (0, "PING") => Some("+PONG\r\n".to_owned()),
                (1.., "PING") if !refusal.is_empty() => Some(refusal.to_owned()),
                _ => None,
            }
        });
        let [first, second] = both(&url);
        let third = Driver::blocking(&url, &ConnectOptions::default()).unwrap();
        let last = hammered(&[first, second, third]);
        assert!(last.is_retryable(), "{last}");
        let visits = visits.load(Ordering::SeqCst);
        assert!((5..=AT_ONCE + MOST_VISITS).contains(&visits), "{refusal:?}: {visits}");
    }
}
