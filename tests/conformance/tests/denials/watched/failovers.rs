//! What becomes of what a server watches when another one takes over: after its end, or since somebody asked for that.

use std::time::Duration;

use sluicegate::Builder;
use sluicegate_test_servers::{Cluster, Node, Replicated, Sentinel, Transport};

use super::command;
use super::connections::{is_primary, keys, patient};
use super::world::World;

#[test]
fn a_failover_ends_what_was_watched() {
    fail_over(Transport::Tcp);
}

#[test]
fn a_failover_ends_what_was_watched_with_tls() {
    fail_over(Transport::MutualTls);
}

fn fail_over(transport: Transport) {
    let sentinel = Sentinel::with(transport).unwrap();
    let files = sentinel.certificates().map(|files| (files.ca_pem(), files.cert_pem(), files.key_pem()));
    let options = move |builder: Builder| match &files {
        None => patient(builder),
        Some((ca, cert, key)) => patient(builder).tls_ca(ca).tls_cert(cert).tls_key(key),
    };
    let world = World::through(&sentinel.url(), &sentinel.url(), options);
    world.deny("bucket", "k");
    let killed = sentinel.kill_primary().unwrap();
    sentinel.wait_for_failover(killed).unwrap();
    world.other().reset("bucket", "k").unwrap();
    world.sees("bucket", "k");
    // The new primary watches too.
    world.deny("bucket", "k");
    world.other().reset("bucket", "k").unwrap();
    world.sees("bucket", "k");
}

/// The old primary keeps its connections, and follows the new one.
#[test]
fn a_failover_that_sentinels_are_asked_for_ends_what_was_watched() {
    let sentinel = Sentinel::start().unwrap();
    let world = World::through(&sentinel.url(), &sentinel.url(), patient);
    world.deny("bucket", "k");
    let old = sentinel.primary().unwrap();
    command(&mut sentinel.sentinels()[0].client().unwrap(), &["SENTINEL", "FAILOVER", "mymaster"]);
    sentinel.wait_for_failover(old).unwrap();
    world.other().reset("bucket", "k").unwrap();
    world.sees("bucket", "k");
}

#[test]
fn a_failover_that_a_node_of_a_cluster_is_asked_for_ends_what_was_watched() {
    let cluster = Cluster::start().unwrap();
    let world = World::through(&cluster.url(), &cluster.url(), patient);
    world.deny("bucket", "k");
    let has_key = |node: &&Node| !keys(node, "k").is_empty();
    let replica = cluster.nodes().iter().filter(has_key).find(|node| !is_primary(node)).unwrap();
    command(&mut replica.client().unwrap(), &["CLUSTER", "FAILOVER"]);
    world.waits_until("was not done", || is_primary(replica));
    world.other().reset("bucket", "k").unwrap();
    world.sees("bucket", "k");
}

/// The address of the limiter leads to the old primary, which is a replica by then.
#[test]
fn a_server_that_gave_its_part_away_is_not_trusted() {
    let servers = Replicated::start(&[Duration::ZERO]).unwrap();
    let (old, new) = (servers.primary(), servers.replicas().next().unwrap());
    let world = World::through(&old.url(), &new.url(), patient);
    let fail_over = |from: &Node, to: &Node| {
        command(&mut from.client().unwrap(), &["FAILOVER"]);
        world.waits_until("was not done", || is_primary(to) && !is_primary(from));
    };
    world.deny("bucket", "k");
    fail_over(old, new);
    world.forgets("bucket", "k");
    world.other().refund("bucket", "k").unwrap();
    fail_over(new, old);
    world.sees("bucket", "k");
}
