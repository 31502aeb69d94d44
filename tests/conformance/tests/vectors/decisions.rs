//! The vectors: with `SLUICEGATE_LONG_TESTS` on every backend through both limiters, otherwise each backend by one of them.

use std::env;
use std::io::{self, Write};

use sluicegate_conformance::{Backend, Driver, Tally, run_all};

fn passes(driver: Driver, name: &str, backend: &Backend) -> io::Result<()> {
    let Tally { passed, failed } = run_all(driver, backend);
    let driver = if driver == Driver::Blocking { "blocking" } else { "async" };
    let count = failed.len();
    let line = format!("vectors: Rust {driver}, {name}: {passed} passed, {count} failed, 0 skipped\n");
    // Not by a macro, whose output is not shown when a test passes.
    io::stdout().write_all(line.as_bytes())?;
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 100, "only {passed} vectors were found");
    // A stored limit that does not expire has no lifetime.
    let mut immortal = backend.immortal_keys();
    immortal.retain(|name| !name.ends_with(":st"));
    assert_eq!(immortal, Vec::<String>::new());
    Ok(())
}

/// By day through one of the limiters.
fn play(name: &str, by_day: Driver, backend: impl Fn() -> Backend) -> io::Result<()> {
    let is_night = env::var_os("SLUICEGATE_LONG_TESTS").is_some();
    let drivers =
        [Driver::Blocking, Driver::Async].into_iter().filter(|driver| is_night || *driver == by_day);
    drivers.into_iter().try_for_each(|driver| passes(driver, name, &backend()))
}

#[test]
fn in_memory() -> io::Result<()> {
    play("memory", Driver::Blocking, || Backend::Memory)
}

#[test]
fn on_redis() -> io::Result<()> {
    play("redis", Driver::Async, Backend::redis)
}

#[test]
fn on_a_cluster() -> io::Result<()> {
    play("cluster", Driver::Blocking, Backend::cluster)
}
