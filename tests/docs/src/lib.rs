//! The Rust blocks of the site's pages and of the README, each of them a test; `build.rs` finds them.

#[cfg(test)]
// Pages are written for their readers: blocks show results, and need no tests of their own names.
#[allow(unused, clippy::all, clippy::unwrap_used, clippy::expect_used)]
mod blocks {
    use std::sync::LazyLock;

    use sluicegate_test_servers::Redis;

    static REDIS: LazyLock<Redis> = LazyLock::new(|| Redis::start().unwrap());

    /// A server in place of the one that pages name. Blocks share it.
    fn redis() -> &'static str {
        REDIS.url()
    }

    include!(concat!(env!("OUT_DIR"), "/blocks.rs"));
}
