//! A real Cluster: routing, redirections, failover.

use std::net::TcpListener;
use std::thread;

use sluicegate_test_servers::{Cluster, Node, Redis, Transport};

use super::fake_server::{moving_to, reluctant, scattered};
use super::*;
use crate::keys::slots::slot_of;

/// By one seed, which has to lead to the other nodes.
pub(super) fn connected(cluster: &Cluster) -> [Driver; 2] {
    let url = cluster.url();
    let (seed, others) = url.split_once(',').unwrap();
    let (_, query) = others.split_once('?').unwrap_or_default();
    both_with(&format!("{seed}?{query}"), &identified(cluster.certificates()))
}

#[test]
fn keys_find_their_nodes() {
    each_key_finds_its_node(Transport::Tcp);
}

#[test]
fn keys_find_their_nodes_with_tls() {
    each_key_finds_its_node(Transport::MutualTls);
}

fn each_key_finds_its_node(transport: Transport) {
    let cluster = Cluster::with(transport).unwrap();
    let mut node = cluster.nodes()[0].client().unwrap();
    for driver in connected(&cluster) {
        for number in 0..100 {
            let key = format!("rule:{{{number}}}");
            let slot: u16 = ::redis::cmd("CLUSTER").arg("KEYSLOT").arg(&key).query(&mut node).unwrap();
            assert_eq!(slot_of(key.as_bytes()), slot);
            assert_eq!(driver.increment(&key).unwrap(), 1);
            driver.delete(&[&key]).unwrap();
        }
        driver.ping().unwrap();
    }
}

/// `MOVED 1234 :6379` and `MOVED 1234 ?:6379`.
#[test]
fn a_moved_slot_is_followed_whatever_the_server_calls_its_owner() {
    let cluster = Cluster::start().unwrap();
    let drivers = connected(&cluster);
    let primaries: Vec<&Node> = ["{a}", "{b}", "{c}"].map(|key| cluster.primary_of(key).unwrap()).into();
    let slot = slot_of(b"{a}");
    let ask = |node: &Node, words: &[&str]| -> Value {
        let mut cmd = ::redis::cmd(words[0]);
        words[1..].iter().for_each(|word| _ = cmd.arg(word));
        cmd.query(&mut node.client().unwrap()).unwrap()
    };
    for (kind, owner, next) in [("unknown-endpoint", 0, 1), ("hostname", 1, 2)] {
        for driver in &drivers {
            driver.increment("{a}").unwrap();
            // By then it has learned who is the owner now.
            thread::sleep(Duration::from_millis(210));
            driver.increment("{a}").unwrap();
            thread::sleep(Duration::from_millis(210));
            driver.delete(&["{a}"]).unwrap();
        }
        ask(primaries[owner], &["CONFIG", "SET", "cluster-preferred-endpoint-type", kind]);
        let id: String = ::redis::from_redis_value(ask(primaries[next], &["CLUSTER", "MYID"])).unwrap();
        for node in &primaries {
            ask(node, &["CLUSTER", "SETSLOT", &slot.to_string(), "NODE", &id]);
        }
        for driver in &drivers {
            assert_eq!(driver.increment("{a}"), Ok(1), "{kind}");
            driver.delete(&["{a}"]).unwrap();
        }
        ask(primaries[owner], &["CONFIG", "SET", "cluster-preferred-endpoint-type", "ip"]);
    }
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
    let cluster = Cluster::with(transport).unwrap();
    let drivers = connected(&cluster);
    let key = "{failover}";
    for driver in &drivers {
        driver.increment(key).unwrap();
    }
    let killed = cluster.kill_primary_of(key).unwrap();
    let elsewhere = (0..100)
        .map(|n| format!("{{{n}}}"))
        .find(|key| cluster.primary_of(key).is_ok_and(|node| node.is_running()));
    for driver in &drivers {
        let error = driver.increment(key).unwrap_err();
        assert!(error.is_retryable(), "{error}");
        // The other nodes go on meanwhile.
        driver.increment(elsewhere.as_ref().unwrap()).unwrap();
    }
    cluster.wait_for_failover(key, killed).unwrap();
    let took = recoveries(&drivers, key);
    let options = identified(cluster.certificates());
    assert_followed(took, || Driver::blocking(&cluster.url(), &options));
}

#[test]
fn calls_recover_from_a_silent_primary() {
    a_silent_primary_is_replaced(Transport::Tcp);
}

#[test]
fn calls_recover_from_a_silent_primary_with_tls() {
    a_silent_primary_is_replaced(Transport::MutualTls);
}

fn a_silent_primary_is_replaced(transport: Transport) {
    let cluster = Cluster::with(transport).unwrap();
    let drivers = connected(&cluster);
    let key = "{silence}";
    for driver in &drivers {
        driver.increment(key).unwrap();
    }
    let silent = cluster.primary_of(key).unwrap();
    silent.pause().unwrap();
    for driver in &drivers {
        let (outcome, took) = timed(|| driver.increment(key));
        assert_eq!(kind(&outcome), Some(ErrorKind::Timeout));
        assert!(took < PROMPT, "{took:?}");
    }
    // Calls come all the while.
    let late = thread::scope(|scope| {
        let served = drivers.each_ref().map(|driver| {
            scope.spawn(|| {
                recovery(driver, key);
                Instant::now()
            })
        });
        cluster.wait_for_failover(key, silent).unwrap();
        let finished = Instant::now();
        served.map(|served| served.join().unwrap().saturating_duration_since(finished))
    });
    assert!(late.iter().all(|late| *late < FOLLOWED), "{late:?}");
    silent.resume().unwrap();
}

#[test]
fn a_call_that_waits_for_a_connection_follows_a_failover() {
    let cluster = Cluster::start().unwrap();
    let options = ConnectOptions { connect_timeout: Duration::from_secs(5), ..ConnectOptions::default() };
    let drivers = both_with(&cluster.url(), &options);
    let key = "{silence}";
    let silent = cluster.primary_of(key).unwrap();
    let is_its_replica = |node: &&Node| {
        let mut client = node.client().unwrap();
        let role: String = ::redis::cmd("INFO").arg("replication").query(&mut client).unwrap();
        role.contains("role:slave") && role.contains(&format!("master_port:{}\r", silent.port()))
    };
    let replica = cluster.nodes().iter().find(is_its_replica).unwrap();
    for driver in &drivers {
        driver.increment(key).unwrap();
    }
    silent.pause().unwrap();
    thread::scope(|scope| {
        let callers = drivers.each_ref().map(|driver| {
            scope.spawn(|| {
                // From now on there is no connection.
                driver.increment(key).unwrap_err();
                let outcome = driver.increment(key);
                (outcome, Instant::now())
            })
        });
        thread::sleep(ConnectOptions::default().response_timeout + Duration::from_millis(200));
        let mut takeover = ::redis::cmd("CLUSTER");
        takeover.arg("FAILOVER").arg("TAKEOVER").exec(&mut replica.client().unwrap()).unwrap();
        let finished = Instant::now();
        for (outcome, ended) in callers.map(|caller| caller.join().unwrap()) {
            outcome.unwrap();
            assert!(ended.saturating_duration_since(finished) < FOLLOWED);
        }
    });
    silent.resume().unwrap();
}

#[test]
fn a_server_that_owns_nothing_yet_is_waited_for() {
    for driver in both(&moving_to(reluctant(Duration::from_millis(300)))) {
        driver.increment("key").unwrap();
    }
}

#[test]
fn a_silent_seed_leaves_time_for_the_next() {
    let cluster = Cluster::start().unwrap();
    for node in cluster.nodes() {
        let mut cmd = ::redis::cmd("CONFIG");
        cmd.arg("SET").arg("requirepass").arg("secret").exec(&mut node.client().unwrap()).unwrap();
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    // The answer to a login may come as late as a connection.
    let seed = format!("://:secret@{},", silent.local_addr().unwrap());
    let url = cluster.url().replace("://", &seed);
    for driver in both(&url) {
        driver.increment("key").unwrap();
    }
}

#[test]
fn an_unreachable_cluster_is_a_connection_error() {
    for error in refusals("redis-cluster://127.0.0.1:1,127.0.0.1:2", &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
}

#[test]
fn a_server_that_is_no_cluster_is_recognized() {
    let redis = Redis::start().unwrap();
    for error in refusals(&format!("redis-cluster://{}", redis.address()), &ConnectOptions::default()) {
        assert_eq!(error.kind(), ErrorKind::Server, "{error}");
        assert!(error.message().contains("cluster support disabled"), "{error}");
    }
}

#[test]
fn announced_servers_are_used_only_in_the_networks_of_the_url() {
    let cluster = Cluster::start().unwrap();
    let seed = &cluster.nodes()[0];
    let url = |networks: &str| format!("redis-cluster://{}?redirects={networks}", seed.address());
    let keys: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    for driver in both(&url("10.0.0.0/8,127.0.0.0/8")) {
        assert!(keys.iter().all(|key| driver.increment(key).is_ok()));
    }
    for driver in both(&url("10.0.0.0/8")) {
        for key in &keys {
            let is_at_seed = cluster.primary_of(key).unwrap().port() == seed.port();
            match driver.increment(key) {
                Ok(_) => assert!(is_at_seed),
                Err(error) => {
                    assert!(!is_at_seed, "{error}");
                    assert_eq!(error.kind(), ErrorKind::Connection);
                    let is_open = error.message().contains("circuit breaker open");
                    assert!(is_open || error.message().contains("`redirects`"), "{error}");
                }
            }
        }
    }
}

#[test]
fn every_slot_may_be_a_range_of_its_own() {
    // A build for tests takes a while to read so much.
    let options = ConnectOptions { response_timeout: Duration::from_secs(10), ..ConnectOptions::default() };
    for driver in both_with(&scattered(), &options) {
        for key in 0..100 {
            let key = key.to_string();
            let owner = i64::from(slot_of(key.as_bytes()) % 2);
            assert_eq!(driver.increment(&key).unwrap(), owner);
        }
    }
}
