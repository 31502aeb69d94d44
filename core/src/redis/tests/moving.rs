//! Slots of a real Cluster that are being moved.

use std::thread;

use sluicegate_test_servers::{Cluster, Node, Transport};

use super::cluster::connected;
use super::*;
use crate::keys::slots::slot_of;

/// A slot on its way from one server to another.
struct Migration<'a> {
    slot: u16,
    source: &'a Node,
    target: &'a Node,
}

impl<'a> Migration<'a> {
    /// Begins with the slot of a key, and moves no key yet.
    fn begin(cluster: &'a Cluster, key: &str) -> Self {
        let source = cluster.primary_of(key).unwrap();
        let target = (0..100)
            .map(|number| cluster.primary_of(&format!("{{{number}}}")).unwrap())
            .find(|node| node.port() != source.port())
            .unwrap();
        let this = Self { slot: slot_of(key.as_bytes()), source, target };
        this.set(target, "IMPORTING", source);
        this.set(source, "MIGRATING", target);
        this
    }

    /// Tells a node about another.
    fn set(&self, node: &Node, state: &str, other: &Node) {
        let id: String = ::redis::cmd("CLUSTER").arg("MYID").query(&mut other.client().unwrap()).unwrap();
        let mut cmd = ::redis::cmd("CLUSTER");
        cmd.arg("SETSLOT").arg(self.slot).arg(state).arg(id);
        cmd.exec(&mut node.client().unwrap()).unwrap();
    }

    fn move_key(&self, key: &str) {
        let mut migrate = ::redis::cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(self.target.public_port()).arg(key).arg(0).arg(1000);
        migrate.exec(&mut self.source.client().unwrap()).unwrap();
    }

    fn end(&self) {
        for node in [self.target, self.source] {
            self.set(node, "NODE", self.target);
        }
    }
}

#[test]
fn a_moved_slot_is_followed_and_a_moving_one_too() {
    redirections_are_followed(Transport::Tcp);
}

#[test]
fn a_moved_slot_is_followed_and_a_moving_one_too_with_tls() {
    redirections_are_followed(Transport::MutualTls);
}

fn redirections_are_followed(transport: Transport) {
    let cluster = Cluster::with(transport).unwrap();
    let drivers = connected(&cluster);
    let key = "{moving}";
    for driver in &drivers {
        driver.increment(key).unwrap();
    }
    let migration = Migration::begin(&cluster, key);
    // The key is still at the source: no redirection.
    assert_eq!(drivers[0].increment(key).unwrap(), 3);
    migration.move_key(key);
    // Now it is at the target: ASK.
    for (driver, count) in drivers.iter().zip([4, 5]) {
        assert_eq!(driver.increment(key).unwrap(), count);
    }
    migration.end();
    // The slot has moved: MOVED.
    for (driver, count) in drivers.iter().zip([6, 7]) {
        assert_eq!(driver.increment(key).unwrap(), count);
        thread::sleep(Duration::from_millis(110));
    }
    for (driver, count) in drivers.iter().zip([8, 9]) {
        assert_eq!(driver.increment(key).unwrap(), count);
    }
}

/// Counts under one key, and touches another.
const PAIR: &str = "redis.call('EXISTS', KEYS[2]) return redis.call('INCR', KEYS[1])";

/// A call of several keys is carried out by neither server while some are on each, nor while the new one lacks some.
#[test]
fn keys_that_are_being_moved_are_waited_for_and_then_named() {
    let cluster = Cluster::start().unwrap();
    let drivers = connected(&cluster);
    let keys = ["{moving}1", "{moving}2"];
    for driver in &drivers {
        for key in keys {
            driver.increment(key).unwrap();
        }
    }
    let migration = Migration::begin(&cluster, keys[0]);
    let says_so = |keys: &[&str], node: &Node| {
        for driver in &drivers {
            let (outcome, took) = timed(|| driver.run(PAIR, keys, &[]));
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Server, "{error}");
            assert!(error.is_retryable(), "{error}");
            let words =
                format!("slot {} is being moved, and 127.0.0.1:{}", migration.slot, node.public_port());
            assert!(error.message().contains(&words), "{error}");
            let whole =
                ConnectOptions::default().connect_timeout + ConnectOptions::default().response_timeout;
            // The last try is left out where it would end too late, if it took as long as the one before.
            assert!(took > whole / 2 && took < whole + PROMPT, "{took:?}");
        }
    };
    migration.move_key(keys[0]);
    says_so(&keys, migration.source);
    migration.move_key(keys[1]);
    says_so(&[keys[0], "{moving}3"], migration.target);
    // The servers have answered: their circuit breakers are closed.
    for (driver, count) in drivers.iter().zip([3, 4]) {
        assert_eq!(driver.run(PAIR, &keys, &[]), Ok(Value::Int(count)));
    }
    thread::scope(|scope| {
        let waiting =
            drivers.each_ref().map(|driver| scope.spawn(|| driver.run(PAIR, &[keys[0], "{moving}3"], &[])));
        // Until both wait, most likely.
        thread::sleep(Duration::from_millis(200));
        migration.end();
        let mut counts = waiting.map(|call| call.join().unwrap().unwrap());
        counts.sort_by_key(|count| *count == Value::Int(6));
        assert_eq!(counts, [Value::Int(5), Value::Int(6)]);
    });
}
