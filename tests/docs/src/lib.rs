//! The Rust blocks of the site's pages and of the README, each of them a test; `build.rs` finds them.

#[cfg(test)]
// Pages are written for their readers: blocks show results, and need no tests of their own names.
#[allow(unused, clippy::all, clippy::unwrap_used, clippy::expect_used)]
mod blocks {
    use std::sync::{LazyLock, Mutex};

    use sluicegate_test_servers::Redis;

    static REDIS: LazyLock<Redis> = LazyLock::new(|| Redis::start().unwrap());

    /// The blocks that have asked for a database, in the order of their databases.
    static BLOCKS: Mutex<Vec<&str>> = Mutex::new(Vec::new());

    /// A server in place of the one that pages name. Each block has a database of its own, since they run at once and count the
    /// same keys.
    fn redis(block: &'static str) -> &'static str {
        let mut blocks = BLOCKS.lock().unwrap();
        let place = blocks.iter().position(|other| *other == block).unwrap_or(blocks.len());
        if place == blocks.len() {
            blocks.push(block);
        }
        format!("{}/{place}", REDIS.url()).leak()
    }

    include!(concat!(env!("OUT_DIR"), "/blocks.rs"));
}
