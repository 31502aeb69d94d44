//! Several servers, of which a call needs one.

use sluicegate_test_servers::{Cluster, Node, Sentinel};

use super::*;

#[test]
fn no_call_waits_for_a_server_that_it_does_not_need() {
    let cluster = Cluster::start().unwrap();
    let mut own = Loop::patient(&cluster.url(), Duration::from_secs(5));
    let keys: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let primary = |key: &str| cluster.primary_of(&format!("{{{key}}}")).unwrap().port();
    let (silent, others): (Vec<_>, Vec<_>) = keys.iter().partition(|key| primary(key) == primary(&keys[0]));
    assert!(keys.iter().all(|key| own.admitted(1, key) == 1));
    let node = cluster.primary_of(&format!("{{{}}}", keys[0])).unwrap();
    node.pause().unwrap();
    for (token, key) in (100..).zip(&silent) {
        own.check(token..token + 1, key);
    }
    for key in &others {
        own.check(1..2, key);
        let answers = own.take(1);
        // None of those that were asked first has an answer yet.
        assert!(answers[0].token == 1 && allowed(&answers[0]), "{answers:?}");
    }
    node.resume().unwrap();
    assert!(own.take(silent.len()).iter().all(allowed));
}

#[test]
fn a_call_waits_no_longer_for_sentinels_than_they_take() {
    let servers = Sentinel::start().unwrap();
    let mut own = Loop::open(&servers.url());
    let took = |_| {
        // What they said is so old by then that a call asks again first.
        let rested = Instant::now() + Duration::from_millis(900);
        own.run_until(|_| Instant::now() >= rested);
        let began = Instant::now();
        assert_eq!(own.admitted(1, "k"), 1);
        began.elapsed()
    };
    let took: Vec<_> = (0..5).map(took).collect();
    // The machine may have been busy once.
    let slow = took.iter().filter(|took| **took > Duration::from_millis(90));
    assert!(slow.count() < 2, "{took:?}");
}

#[test]
fn keys_that_are_being_moved_are_asked_for_again_soon() {
    let cluster = Cluster::start().unwrap();
    let mut own = Loop::patient(&cluster.url(), Duration::from_secs(5));
    let both = || OwnedCall::All(vec![item("k"), Item { rule: "quick".into(), ..item("k") }], None);
    own.submit(vec![(1, both())]);
    assert!(allowed(&own.take(1)[0]));
    // One of the keys has been moved, the other has not: nobody can execute the call.
    let source = cluster.primary_of("{k}").unwrap();
    let others = (0..100).map(|number| cluster.primary_of(&format!("{{{number}}}")).unwrap());
    let target = others.into_iter().find(|node| node.port() != source.port()).unwrap();
    let mut client = source.client().unwrap();
    let key: String = redis::cmd("RANDOMKEY").query(&mut client).unwrap();
    let slot: u16 = redis::cmd("CLUSTER").arg("KEYSLOT").arg(&key).query(&mut client).unwrap();
    let id = |node: &Node| -> String {
        redis::cmd("CLUSTER").arg("MYID").query(&mut node.client().unwrap()).unwrap()
    };
    let set = |node: &Node, state: &str, id: &str| {
        let mut cmd = redis::cmd("CLUSTER");
        cmd.arg("SETSLOT").arg(slot).arg(state).arg(id).exec(&mut node.client().unwrap()).unwrap();
    };
    let migrate = |client: &mut redis::Connection, key: &str| {
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(target.public_port()).arg(key).arg(0).arg(1000);
        migrate.exec(client).unwrap();
    };
    set(target, "IMPORTING", &id(source));
    set(source, "MIGRATING", &id(target));
    migrate(&mut client, &key);

    own.submit(vec![(2, both())]);
    let asked = Instant::now();
    own.run_until(|_| asked.elapsed() > Duration::from_millis(200));
    assert!(own.answers.is_empty(), "{:?}", own.answers);
    // It may have expired.
    let other: Option<String> = redis::cmd("RANDOMKEY").query(&mut client).unwrap();
    other.iter().for_each(|other| migrate(&mut client, other));
    for node in [target, source] {
        set(node, "NODE", &id(target));
    }
    let moved = Instant::now();
    assert!(allowed(&own.take(1)[0]));
    // It is asked for again every 10 ms.
    assert!(moved.elapsed() < Duration::from_secs(1), "{:?}", moved.elapsed());
}
