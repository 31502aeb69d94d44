//! The vectors, on every backend, through both limiters.

use std::io::{self, Write};

use sluicegate_conformance::{Backend, Driver, Tally, run_all};

fn passes(driver: Driver, name: &str, backend: &Backend) {
    let Tally { passed, failed } = run_all(driver, backend);
    // Not by a macro, whose output is not shown when a test passes.
    let driver = if driver == Driver::Blocking { "blocking" } else { "async" };
    let count = failed.len();
    writeln!(io::stdout(), "vectors: Rust {driver}, {name}: {passed} passed, {count} failed, 0 skipped")
        .unwrap();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 100, "only {passed} vectors were found");
    assert_eq!(backend.immortal_keys(), Vec::<String>::new());
}

#[test]
fn blocking_in_memory() {
    passes(Driver::Blocking, "memory", &Backend::Memory);
}

#[test]
fn blocking_on_redis() {
    passes(Driver::Blocking, "redis", &Backend::redis());
}

#[test]
fn blocking_on_a_cluster() {
    passes(Driver::Blocking, "cluster", &Backend::cluster());
}

#[test]
fn async_in_memory() {
    passes(Driver::Async, "memory", &Backend::Memory);
}

#[test]
fn async_on_redis() {
    passes(Driver::Async, "redis", &Backend::redis());
}

#[test]
fn async_on_a_cluster() {
    passes(Driver::Async, "cluster", &Backend::cluster());
}
