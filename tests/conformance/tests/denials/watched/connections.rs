//! What becomes of what a server watches when its connection does not last, or the slot of a key moves.

use std::thread::sleep;
use std::time::Duration;

use redis::Value;
use sluicegate::Builder;
use sluicegate_test_servers::{Cluster, Node, Redis, Relay};

use super::command;
use super::world::World;

/// Long enough for servers on a machine that has other things to do.
pub(crate) fn patient(builder: Builder) -> Builder {
    builder.response_timeout(Duration::from_secs(5)).connect_timeout(Duration::from_secs(5))
}

#[test]
fn a_silent_connection_is_not_trusted_for_longer_than_a_second() {
    let server = Redis::start().unwrap();
    let relay = Relay::start(server.port(), Duration::ZERO).unwrap();
    let world =
        World::through(&format!("redis://127.0.0.1:{}", relay.port()), server.url(), |builder| builder);
    world.deny("bucket", "k");
    relay.cut();
    world.other().refund("bucket", "k").unwrap();
    world.forgets("bucket", "k");
    relay.heal();
    world.sees("bucket", "k");
}

#[test]
fn a_server_that_stops_is_not_trusted_for_longer_than_a_second() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    world.deny("bucket", "k");
    server.pause().unwrap();
    world.forgets("bucket", "k");
    server.resume().unwrap();
}

#[test]
fn a_connection_that_is_quiet_is_asked_whether_it_lasts() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    // On a machine that is busy, the limiter may ask too late.
    let lasts = (0..40).any(|_| {
        world.deny("bucket", "k");
        // Nothing passes but what the limiter asks by itself.
        sleep(Duration::from_millis(1500));
        world.is_remembered("bucket", "k")
    });
    assert!(lasts);
}

#[test]
fn a_connection_that_ends_ends_what_was_watched() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    world.deny("bucket", "k");
    command(&mut server.client().unwrap(), &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    world.other().refund("bucket", "k").unwrap();
    world.sees("bucket", "k");
}

#[test]
fn a_script_that_was_forgotten_is_watched_all_the_same() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    for key in ["one", "two", "three"] {
        while world.check("bucket", key).unwrap().0 {}
        world.clock.advance(super::world::OLD);
        // The denial that is to be watched is answered by NOSCRIPT first.
        command(&mut server.client().unwrap(), &["SCRIPT", "FLUSH"]);
        assert!(!world.check("bucket", key).unwrap().0);
        world.clock.advance(super::world::OLD);
        world.deny("bucket", key);
        world.other().refund("bucket", key).unwrap();
        world.sees("bucket", key);
    }
}

#[test]
fn a_slot_that_moves_ends_what_was_watched() {
    let cluster = Cluster::start().unwrap();
    let world = World::through(&cluster.url(), &cluster.url(), patient);
    for key in ["one", "two", "three"] {
        world.deny("stored", key);
        let source =
            cluster.nodes().iter().find(|node| !keys(node, key).is_empty() && is_primary(node)).unwrap();
        let target =
            cluster.nodes().iter().find(|node| node.port() != source.port() && is_primary(node)).unwrap();
        move_slot(source, target, key);
        world.other().set_limit("stored", key, 5, None).unwrap();
        world.sees("stored", key);
    }
}

pub(crate) fn is_primary(node: &Node) -> bool {
    matches!(command(&mut node.client().unwrap(), &["ROLE"]), Value::Array(role) if role[0] == Value::BulkString(b"master".to_vec()))
}

pub(crate) fn keys(node: &Node, key: &str) -> Vec<String> {
    redis::cmd("KEYS").arg(format!("*{key}*")).query(&mut node.client().unwrap()).unwrap()
}

/// Moves a slot with all its keys, as tools for Clusters do.
fn move_slot(source: &Node, target: &Node, key: &str) {
    let id = |node: &Node| -> String {
        redis::cmd("CLUSTER").arg("MYID").query(&mut node.client().unwrap()).unwrap()
    };
    let (from, to) = (id(source), id(target));
    let names = keys(source, key);
    let slot: u16 =
        redis::cmd("CLUSTER").arg("KEYSLOT").arg(&names[0]).query(&mut source.client().unwrap()).unwrap();
    let set = |node: &Node, words: &[&str]| {
        let slot = slot.to_string();
        let words = [&["CLUSTER", "SETSLOT", &slot], words].concat();
        command(&mut node.client().unwrap(), &words);
    };
    set(target, &["IMPORTING", &from]);
    set(source, &["MIGRATING", &to]);
    for name in names {
        let port = target.public_port().to_string();
        command(&mut source.client().unwrap(), &["MIGRATE", "127.0.0.1", &port, &name, "0", "5000"]);
    }
    for node in [target, source] {
        set(node, &["NODE", &to]);
    }
}
