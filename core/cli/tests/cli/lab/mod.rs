//! What each rule lets through.

mod recording;
mod replaying;
mod running;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use redis::Value as Reply;
use serde_json::Value;
use sluicegate_test_servers::Redis;

use crate::{run, stderr, stdout};

/// A folder that does not exist yet.
fn folder(name: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lab-{name}-{number}"));
    let _ = fs::remove_dir_all(&path);
    path
}

/// The figures of a run that ends well.
fn figures(args: &[&str]) -> Value {
    let output = run(&[&["lab", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// What a run that fails says.
fn failure(args: &[&str]) -> String {
    let output = run(&[&["lab"], args].concat());
    assert_eq!(output.status.code(), Some(2));
    stderr(&output)
}

/// A server's answer to a command, as flat texts.
fn answers(redis: &Redis, command: &[&str]) -> Vec<String> {
    let mut call = redis::cmd(command[0]);
    call.arg(&command[1..]);
    let mut texts = Vec::new();
    flatten(call.query(&mut redis.client().unwrap()).unwrap(), &mut texts);
    texts
}

fn flatten(reply: Reply, texts: &mut Vec<String>) {
    match reply {
        Reply::Array(replies) => replies.into_iter().for_each(|reply| flatten(reply, texts)),
        Reply::Nil => {}
        reply => texts.push(redis::from_redis_value(reply).unwrap()),
    }
}
