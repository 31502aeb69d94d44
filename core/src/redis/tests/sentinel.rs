//! Real Sentinels: the primary is found, and found again.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sluicegate_test_servers::{Node, Options, Redis, Sentinel, Transport};

use super::*;

fn connected(sentinel: &Sentinel) -> [Driver; 2] {
    both_with(&sentinel.url(), &identified(sentinel.certificates()))
}

#[test]
fn calls_recover_from_a_killed_primary() {
    a_killed_primary_is_replaced(Transport::Tcp);
}

#[test]
fn calls_recover_from_a_killed_primary_with_tls() {
    a_killed_primary_is_replaced(Transport::MutualTls);
}

fn a_killed_primary_is_replaced(transport: Transport) {
    let sentinel = Sentinel::with(transport).unwrap();
    let drivers = connected(&sentinel);
    for driver in &drivers {
        driver.increment("key").unwrap();
    }
    let killed = sentinel.kill_primary().unwrap();
    for driver in &drivers {
        assert_eq!(kind(&driver.increment("key")), Some(ErrorKind::Connection));
    }
    sentinel.wait_for_failover(killed).unwrap();
    let took = recoveries(&drivers, "key");
    let options = identified(sentinel.certificates());
    assert_followed(took, || Driver::blocking(&sentinel.url(), &options));
}

#[test]
fn calls_follow_a_planned_failover() {
    a_planned_failover_is_followed(Transport::Tcp);
}

#[test]
fn calls_follow_a_planned_failover_with_tls() {
    a_planned_failover_is_followed(Transport::MutualTls);
}

fn a_planned_failover_is_followed(transport: Transport) {
    let sentinel = Sentinel::with(transport).unwrap();
    let drivers = connected(&sentinel);
    for driver in &drivers {
        driver.increment("key").unwrap();
    }
    let old = sentinel.primary().unwrap();
    let mut failover = ::redis::cmd("SENTINEL");
    failover.arg("FAILOVER").arg("mymaster").exec(&mut sentinel.sentinels()[0].client().unwrap()).unwrap();
    let new = sentinel.wait_for_failover(old).unwrap();
    let finished = Instant::now();
    // The old primary takes calls until Sentinel demotes it.
    let mut arrived = [false; 2];
    while arrived != [true; 2] {
        for (driver, arrived) in drivers.iter().zip(&mut arrived) {
            let before = scripts_run(new);
            let _ = driver.increment("key");
            *arrived |= scripts_run(new) > before;
        }
        assert!(finished.elapsed() < FOLLOWED, "{arrived:?}");
    }
}

/// How many scripts the server has run for clients.
fn scripts_run(node: &Node) -> u64 {
    let mut client = node.client().unwrap();
    let stats: String = ::redis::cmd("INFO").arg("commandstats").query(&mut client).unwrap();
    let calls = |line: &str| line.split(['=', ',']).nth(1).unwrap().parse::<u64>().unwrap();
    stats.lines().filter(|line| line.starts_with("cmdstat_eval")).map(calls).sum()
}

#[test]
fn no_call_reaches_the_old_primary_a_second_after_the_new_one_is_announced() {
    let sentinel = Sentinel::start().unwrap();
    let drivers = connected(&sentinel);
    let old = sentinel.primary().unwrap();
    let call = || drivers.iter().map(|driver| driver.increment("key")).collect::<Vec<_>>();
    call();
    let mut witness = sentinel.sentinels()[0].client().unwrap();
    ::redis::cmd("SENTINEL").arg("FAILOVER").arg("mymaster").exec(&mut witness).unwrap();
    while sentinel.primary().unwrap().port() == old.port() {
        call();
    }
    let announced = Instant::now();
    while announced.elapsed() < Duration::from_secs(1) {
        call();
    }
    // Sentinel demotes it after ten seconds only: until then it takes whatever it is sent.
    let before = scripts_run(old);
    for _ in 0..200 {
        for outcome in call() {
            outcome.unwrap();
        }
    }
    assert_eq!(scripts_run(old), before);
}

#[test]
fn two_silent_sentinels_cost_two_hedges() {
    let sentinel = Sentinel::start().unwrap();
    let (first, second) = (&sentinel.sentinels()[0], &sentinel.sentinels()[1]);
    first.pause().unwrap();
    second.pause().unwrap();
    let (drivers, took) = timed(|| connected(&sentinel));
    assert!(took < Duration::from_millis(600), "{took:?}");
    let (outcome, took) = timed(|| drivers[0].increment("key"));
    outcome.unwrap();
    assert!(took < Duration::from_millis(600), "{took:?}");
}

#[test]
fn one_sentinel_is_enough_and_the_database_counts() {
    one_sentinel_leads_to_the_database(Transport::Tcp);
}

#[test]
fn one_sentinel_is_enough_and_the_database_counts_with_tls() {
    one_sentinel_leads_to_the_database(Transport::MutualTls);
}

fn one_sentinel_leads_to_the_database(transport: Transport) {
    let sentinel = Sentinel::with(transport).unwrap();
    sentinel.sentinels()[0].kill();
    sentinel.sentinels()[1].pause().unwrap();
    let options =
        ConnectOptions { connect_timeout: Duration::from_secs(3), ..identified(sentinel.certificates()) };
    for driver in both_with(&sentinel.url().replace("/mymaster", "/mymaster/2"), &options) {
        driver.increment("key").unwrap();
    }
    let mut client = sentinel.primary().map(|node| node.client().unwrap());
    if let Ok(client) = &mut client {
        ::redis::cmd("SELECT").arg(2).exec(client).unwrap();
        assert_eq!(::redis::cmd("GET").arg("key").query::<i64>(client).unwrap(), 2);
    }
}

#[test]
fn an_unknown_service_is_named() {
    let sentinel = Sentinel::start().unwrap();
    let url = sentinel.url().replace("mymaster", "nobody");
    for error in refusals(&url, &ConnectOptions::default()) {
        assert!(error.message().contains("\"nobody\""), "{error}");
    }
}

#[test]
fn who_trusts_sentinels_trusts_no_server_that_they_name() {
    let sentinel = Sentinel::with(Transport::Tls).unwrap();
    let stranger = Redis::with(&Options { transport: Transport::Tls, ..Options::default() }).unwrap();
    let without_tls = stranger.port();
    for (port, expected, words) in [
        (stranger.public_port(), ErrorKind::Connection, ["invalid peer certificate"; 2]),
        // Whichever is known first: that the server is silent, or that the time is up.
        (without_tls, ErrorKind::Timeout, ["timed out connecting", " within "]),
    ] {
        for client in sentinel.sentinels().iter().map(|node| node.client()) {
            let mut name = ::redis::pipe();
            name.cmd("SENTINEL").arg("REMOVE").arg("mymaster");
            name.cmd("SENTINEL").arg("MONITOR").arg("mymaster").arg("127.0.0.1").arg(port).arg(2);
            name.exec(&mut client.unwrap()).unwrap();
        }
        for error in refusals(&sentinel.url(), &trusting(sentinel.certificates())) {
            assert_eq!(error.kind(), expected, "{error}");
            assert!(words.iter().any(|words| error.message().contains(words)), "{error}");
        }
    }
}

#[test]
fn sentinels_without_tls_lead_to_no_server_with_tls() {
    let sentinel = Sentinel::with(Transport::Tls).unwrap();
    let url = format!("redis-sentinel://{}/mymaster", sentinel.sentinels()[0].address());
    for error in refusals(&url, &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
}

/// A server that never answers and reports whether it received the password.
fn eavesdropper() -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(AtomicBool::new(false));
    let hears = Arc::clone(&heard);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let hears = Arc::clone(&hears);
            thread::spawn(move || {
                let mut words = [0; 1024];
                while let Ok(size @ 1..) = stream.read(&mut words) {
                    let is_password = String::from_utf8_lossy(&words[..size]).contains("s3cret");
                    hears.fetch_or(is_password, Ordering::SeqCst);
                }
            });
        }
    });
    (port, heard)
}

#[test]
fn a_server_outside_the_networks_of_the_url_is_sent_no_password() {
    let sentinel = Sentinel::start().unwrap();
    let (port, heard) = eavesdropper();
    for node in sentinel.sentinels() {
        let mut name = ::redis::pipe();
        name.cmd("SENTINEL").arg("REMOVE").arg("mymaster");
        name.cmd("SENTINEL").arg("MONITOR").arg("mymaster").arg("127.0.0.2").arg(port).arg(2);
        name.exec(&mut node.client().unwrap()).unwrap();
    }
    let url = sentinel.url().replace("://", "://:s3cret@");
    for error in refusals(&format!("{url}?redirects=127.0.0.1"), &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.message().contains("`redirects`"), "{error}");
    }
    assert!(!heard.load(Ordering::SeqCst));
    refusals(&url, &ConnectOptions::default());
    assert!(heard.load(Ordering::SeqCst));
}
