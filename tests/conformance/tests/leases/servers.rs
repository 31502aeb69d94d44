//! Units borrowed through every way to a server: they are spent, and what is not spent is given back there.

use std::time::Duration;

use sluicegate::{Builder, ManualClock, Source};
use sluicegate_conformance::patient;
use sluicegate_test_servers::{Certificates, Cluster, Options, Redis, Sentinel, Transport};

use crate::{HOURLY, MS, borrow, used, wait_until};

/// Their slots are of three primaries.
const KEYS: [&str; 3] = ["a", "b", "c"];

fn open(url: &str, certificates: Option<&Certificates>) -> Builder {
    let builder = patient(url, HOURLY);
    match certificates {
        None => builder,
        Some(files) => builder.tls_ca(files.ca_pem()).tls_cert(files.cert_pem()).tls_key(files.key_pem()),
    }
}

fn borrow_and_give_back(url: &str, certificates: Option<&Certificates>) {
    let open = || open(url, certificates);
    let tasks = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let watching = open().build().unwrap();
    let (blocking, on_tasks) = (open().build().unwrap(), tasks.block_on(open().connect()).unwrap());
    for key in KEYS {
        let calls = borrow(|| blocking.check("hourly", key).unwrap());
        assert!(used(&watching, key) > calls, "{url}: units of {key} that are lent count as used");
        wait_until("idle threads give back", || used(&watching, key) == calls);
        let more = borrow(|| tasks.block_on(on_tasks.check("hourly", key)).unwrap());
        wait_until("idle tasks give back", || used(&watching, key) == calls + more);
    }
}

#[test]
fn every_primary_of_a_cluster_lends() {
    borrow_and_give_back(&Cluster::start().unwrap().url(), None);
}

#[test]
fn a_server_with_tls_lends() {
    let transport = Transport::MutualTls;
    let server = Redis::with(&Options { transport, ..Options::default() }).unwrap();
    borrow_and_give_back(server.url(), server.certificates());
}

#[test]
fn a_server_that_sentinels_name_lends() {
    let sentinel = Sentinel::with(Transport::MutualTls).unwrap();
    borrow_and_give_back(&sentinel.url(), sentinel.certificates());
}

/// What the old primary lent can be spent until it ends, with no server there.
#[test]
fn the_primary_that_takes_over_lends() {
    let (sentinel, clock) = (Sentinel::start().unwrap(), ManualClock::new(1_700_000_000_000_000));
    let limiter = open(&sentinel.url(), None).clock(clock.clone()).build().unwrap();
    let ask = || {
        clock.advance(MS);
        limiter.check("hourly", "k")
    };
    borrow(|| ask().unwrap());
    let killed = sentinel.kill_primary().unwrap();
    assert_eq!(limiter.check("hourly", "k").unwrap().source, Source::Lease, "no server is asked");
    clock.advance(Duration::from_secs(3));
    sentinel.wait_for_failover(killed).unwrap();
    wait_until("the new primary decides", || ask().is_ok());
    borrow(|| ask().unwrap());
}
