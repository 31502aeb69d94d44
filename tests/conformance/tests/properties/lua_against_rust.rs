//! The scripts and the engine in the process decide alike, in every field, for the same history.

use proptest::prelude::*;
use serde_json::Value;
use sluicegate::{Check, CheckOptions};
use sluicegate_conformance::{Backend, Driver};

use crate::history::{Cost, Jump, Step, any_cost, any_jump, any_start, any_steps, busy_steps};
use crate::holds;
use crate::rules::{RandomRule, any_rule, many_buckets};
use crate::world::{KEYS, World, one, options};

const NAMES: [&str; 3] = ["first", "second", "third"];

fn decides_alike(
    driver: Driver,
    cases: u32,
    rules: impl Strategy<Value = RandomRule>,
    histories: impl Strategy<Value = Vec<Step>>,
) {
    let server = Backend::redis();
    holds(cases, (rules, any_start(), histories), |(rule, start, steps)| {
        let mut in_lua = World::new(driver, &server.url(), &one(&rule), start);
        let mut in_rust = World::new(driver, "memory://", &one(&rule), start);
        for (number, step) in steps.iter().enumerate() {
            prop_assert_eq!(in_lua.play(&rule, step), in_rust.play(&rule, step), "step {}", number);
        }
        Ok(())
    });
}

#[test]
fn one_check_at_a_time() {
    decides_alike(Driver::Blocking, 1_500, any_rule(), any_steps());
}

#[test]
fn one_check_at_a_time_in_many_buckets() {
    decides_alike(Driver::Blocking, 150, many_buckets(), busy_steps());
}

#[test]
fn one_check_at_a_time_async() {
    decides_alike(Driver::Async, 200, any_rule(), any_steps());
}

/// One item of a call.
type Item = (usize, usize, Cost, usize);

#[test]
fn several_checks_together() {
    let server = Backend::redis();
    let item = (0..NAMES.len(), 0..3_usize, any_cost(), 0..2_usize);
    let call = (any_jump(), prop::collection::vec(item, 1..6));
    let histories =
        (prop::collection::vec(any_rule(), 1..=3), any_start(), prop::collection::vec(call, 1..20));
    holds(800, histories, |(rules, start, calls)| {
        let json = Value::Array(rules.iter().zip(NAMES).map(|(rule, name)| rule.json(name)).collect());
        let mut in_lua = World::new(Driver::Blocking, &server.url(), &json, start);
        let mut in_rust = World::new(Driver::Blocking, "memory://", &json, start);
        for (number, (jump, items)) in calls.iter().enumerate() {
            let answers = [&mut in_lua, &mut in_rust].map(|world| together(world, &rules, jump, items));
            prop_assert_eq!(&answers[0], &answers[1], "call {}", number);
        }
        Ok(())
    });
}

fn together(
    world: &mut World,
    rules: &[RandomRule],
    jump: &Jump,
    items: &[Item],
) -> crate::world::CheckResult {
    world.jump(jump, rules.iter().map(RandomRule::longest_us).max().unwrap());
    let checks: Vec<_> = items.iter().map(|item| check(world, rules, item)).collect();
    let answer = world.limiter.check_all(&checks);
    world.note(answer)
}

fn check(world: &World, rules: &[RandomRule], (rule, key, cost, resource): &Item) -> Check<'static> {
    let number = rule % rules.len();
    let rule = &rules[number];
    let options: CheckOptions<'static> = options(rule, world.cost(cost, rule), *resource);
    Check::new(NAMES[number], KEYS[*key]).with(options)
}
