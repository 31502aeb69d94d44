//! What has to hold for every rule and every history, tried on random ones.
//!
//! With `SLUICEGATE_LONG_TESTS` nine times as many; `PROPTEST_CASES` takes the place of every number of cases.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::panic, reason = "a property that does not hold panics")]

mod bounds;
mod calls;
mod exactness;
mod history;
mod lifetimes;
mod lua_against_rust;
mod outages;
mod remembered;
mod rules;
mod together;
mod unchanged;
mod world;

use std::env;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseResult, TestRunner};

/// Tries a property on random values; one that fails is made as small as possible and remembered.
fn holds<S: Strategy>(cases: u32, values: S, property: impl Fn(S::Value) -> TestCaseResult) {
    let mut config = Config {
        source_file: Some(file!()),
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        max_shrink_time: 20_000,
        ..Config::default()
    };
    if env::var_os("PROPTEST_CASES").is_none() {
        config.cases =
            if env::var_os("SLUICEGATE_LONG_TESTS").is_some() { 3 * cases } else { cases.div_ceil(3) };
    }
    if let Err(failure) = TestRunner::new(config).run(&values, property) {
        panic!("{failure}");
    }
}
