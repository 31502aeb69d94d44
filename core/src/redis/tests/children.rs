//! Children of a fork.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use super::*;
use crate::redis::drivers::loops::tokio_host::TokioHost;

#[test]
fn a_child_closes_the_connections_that_it_inherits() {
    let owner = Arc::new(AtomicU16::new(0));
    let node = fake_server::node_led_by(&owner);
    owner.store(node.port(), Ordering::SeqCst);
    let url = parse(&format!("redis-cluster://{node}")).unwrap();
    let redis = BlockingRedis::new(&url, &ConnectOptions::default()).unwrap();
    redis.ping(redis.deadline(None)).unwrap();
    let files = || std::fs::read_dir("/dev/fd").unwrap().count();
    assert!(in_child(|| {
        let inherited = files();
        redis.close();
        // The connection for calls, the one by which the topology was asked for, and both ends of the bell.
        files() == inherited - 4
    }));
}

#[test]
fn a_child_forgets_calls_of_its_parent_without_a_lock() {
    let runtime = Runtime::new().unwrap();
    let host = Arc::new(TokioHost::new(runtime.handle().clone()));
    let options = ConnectOptions::default();
    let redis = AsyncRedis::on(&parse("redis://127.0.0.1:1").unwrap(), &options, host).unwrap();
    let deadline = redis.deadline(None);
    let script = eternal(Script::new(INCREMENT.to_owned()));
    let mut inherited = Some(redis.call(call(script, &["key"], &[]), deadline));
    // As a thread may that does not exist in the child.
    let lock = redis.hub.lock();
    assert!(in_child(|| {
        drop(inherited.take());
        true
    }));
    drop(lock);
}
