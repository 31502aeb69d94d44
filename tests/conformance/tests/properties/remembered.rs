//! What a limiter remembers of denials changes no decision, in no field, while nobody else changes the key.

use std::cell::Cell;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate_conformance::{Backend, Driver};

use crate::history::{any_start, any_steps, busy_steps};
use crate::holds;
use crate::rules::{any_rule, plain_rule};
use crate::world::{World, one};

const DAY: Duration = Duration::from_secs(86_400);

fn decides_alike(
    driver: Driver,
    cases: u32,
    rules: impl Strategy<Value = crate::rules::RandomRule>,
    histories: impl Strategy<Value = Vec<crate::history::Step>>,
) {
    let server = Backend::redis();
    let (remembered, number) = (Cell::new(0), Cell::new(0));
    holds(cases, (rules, any_start(), histories), |(rule, start, steps)| {
        number.set(number.get() + 1);
        let prefix = format!("remembering{}", number.get());
        let mut asks = World::new(driver, &server.url(), &one(&rule), start);
        let mut remembers = World::remembering(driver, (&server.url(), &prefix), &one(&rule), start, DAY);
        for (number, step) in steps.iter().enumerate() {
            prop_assert_eq!(remembers.play(&rule, step), asks.play(&rule, step), "step {}", number);
        }
        remembered.set(remembered.get() + remembers.remembered);
        Ok(())
    });
    assert!(remembered.get() > 0, "no denial came from memory");
}

#[test]
fn one_check_at_a_time() {
    decides_alike(Driver::Blocking, 600, any_rule(), any_steps());
}

#[test]
fn keys_in_constant_use() {
    decides_alike(Driver::Blocking, 60, plain_rule(), busy_steps());
}

#[test]
fn keys_in_constant_use_async() {
    decides_alike(Driver::Async, 20, any_rule(), busy_steps());
}
