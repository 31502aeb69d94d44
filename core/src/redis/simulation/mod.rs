//! Deterministic simulation of the driver: see `README.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod breaker;
mod client;
mod crowds;
mod discoverer;
mod faults;
mod ledger;
mod network;
mod order;
mod plan;
mod protocol;
mod random;
mod remembered;
mod run;
mod sent;
mod servers;
mod serving;
mod watched;
mod wire;
mod world;

use std::thread;

use run::{Violation, run, trace};
use world::{CROWDED, TRACKED};

/// The histories of a usual test run: a few seconds without optimization.
const FEW: u64 = 4000;

/// A number from the environment.
fn given(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

/// More violations than this are not looked for.
const MAX_REPORTED: usize = 30;

/// The violations in every `stride`-th history.
fn violations(first: u64, end: u64, stride: usize) -> Vec<Violation> {
    (first..end).step_by(stride).filter_map(|seed| run(seed).err()).take(MAX_REPORTED).collect()
}

/// `SLUICEGATE_SIMULATION_HISTORIES` histories from `SLUICEGATE_SIMULATION_SEED` on, on all processors.
#[test]
fn histories() {
    let first = given("SLUICEGATE_SIMULATION_SEED", 1);
    play(first, given("SLUICEGATE_SIMULATION_HISTORIES", FEW));
}

/// A quarter as many in which some calls are alike.
#[test]
fn histories_with_crowds() {
    let first = CROWDED + given("SLUICEGATE_SIMULATION_SEED", 1) % CROWDED;
    play(first, given("SLUICEGATE_SIMULATION_HISTORIES", FEW).div_ceil(4));
}

/// As many in which servers watch keys.
#[test]
fn histories_with_watched_keys() {
    let first = TRACKED + given("SLUICEGATE_SIMULATION_SEED", 1) % CROWDED;
    play(first, given("SLUICEGATE_SIMULATION_HISTORIES", FEW).div_ceil(4));
}

fn play(first: u64, histories: u64) {
    let end = first + histories;
    let stride = thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<Violation> = thread::scope(|scope| {
        let threads: Vec<_> =
            (first..).take(stride).map(|first| scope.spawn(move || violations(first, end, stride))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    found.sort_by_key(|violation| violation.seed);
    if let Some(violation) = found.first() {
        eprintln!("{}", trace(violation.seed).join("\n"));
        for Violation { seed, check, text } in &found {
            eprintln!("seed {seed}: {check:?}: {text}");
        }
        panic!("{} violations, the first with seed {}", found.len(), violation.seed);
    }
}
