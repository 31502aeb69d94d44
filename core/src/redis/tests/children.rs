//! Children of a fork.

use std::sync::Arc;

use super::super::tokio_host::TokioHost;
use super::*;

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
