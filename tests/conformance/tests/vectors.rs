//! The vectors, on every backend, through both limiters.

use sluicegate_conformance::{Backend, Driver, run_all};

fn passes(driver: Driver, backend: &Backend) {
    let tally = run_all(driver, backend);
    let total = tally.passed + tally.failed.len();
    println!("vectors: {driver:?}: {} of {total} passed", tally.passed);
    assert!(tally.failed.is_empty(), "{}", tally.failed.join("\n"));
    assert!(total > 100, "only {total} vectors were found");
    assert_eq!(backend.immortal_keys(), Vec::<String>::new());
}

#[test]
fn blocking_in_memory() {
    passes(Driver::Blocking, &Backend::Memory);
}

#[test]
fn blocking_on_redis() {
    passes(Driver::Blocking, &Backend::redis());
}

#[test]
fn blocking_on_a_cluster() {
    passes(Driver::Blocking, &Backend::cluster());
}

#[test]
fn async_in_memory() {
    passes(Driver::Async, &Backend::Memory);
}

#[test]
fn async_on_redis() {
    passes(Driver::Async, &Backend::redis());
}

#[test]
fn async_on_a_cluster() {
    passes(Driver::Async, &Backend::cluster());
}
