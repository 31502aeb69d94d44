//! The vectors, on every backend, through both limiters.

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

#[test]
fn blocking_in_memory() -> io::Result<()> {
    passes(Driver::Blocking, "memory", &Backend::Memory)
}

#[test]
fn blocking_on_redis() -> io::Result<()> {
    passes(Driver::Blocking, "redis", &Backend::redis())
}

#[test]
fn blocking_on_a_cluster() -> io::Result<()> {
    passes(Driver::Blocking, "cluster", &Backend::cluster())
}

#[test]
fn async_in_memory() -> io::Result<()> {
    passes(Driver::Async, "memory", &Backend::Memory)
}

#[test]
fn async_on_redis() -> io::Result<()> {
    passes(Driver::Async, "redis", &Backend::redis())
}

#[test]
fn async_on_a_cluster() -> io::Result<()> {
    passes(Driver::Async, "cluster", &Backend::cluster())
}
