//! A denial changes nothing, and looking never does: not one byte, not one lifetime.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proptest::prelude::*;
use sluicegate_conformance::{Driver, Entry, Stored};
use sluicegate_test_servers::Redis;

use crate::history::{Act, Jump, any_start, any_steps};
use crate::holds;
use crate::rules::any_rule;
use crate::world::{World, fits, one};

/// Equal values under equal names, none of which lives longer than before.
fn unchanged(before: &BTreeMap<String, Entry>, after: &BTreeMap<String, Entry>) -> bool {
    let same = |((name, old), (same_name, new)): ((&String, &Entry), (&String, &Entry))| {
        name == same_name && old.value == new.value && new.ttl_ms <= old.ttl_ms
    };
    before.len() == after.len() && before.iter().zip(after).all(same)
}

#[test]
fn by_a_denial_or_a_peek() {
    let redis = Redis::start().unwrap();
    let stored = RefCell::new(Stored::on(&redis));
    holds(500, (any_rule(), any_start(), any_steps()), |(rule, start, steps)| {
        let mut stored = stored.borrow_mut();
        stored.clear();
        let mut world = World::new(Driver::Blocking, redis.url(), &one(&rule), start);
        let mut stepped_back = false;
        for (number, step) in steps.iter().enumerate() {
            stepped_back |= matches!(step.jump, Jump::Back(_));
            let before = stored.entries();
            let Some(Ok(decision)) = world.play(&rule, step) else { continue };
            let denied = step.act == Act::Check && !fits(&decision);
            // A denied cost may be charged by rules that say so, and a clock step may be healed.
            let quiet = step.act == Act::Peek || denied && !rule.counts_denied() && !stepped_back;
            if quiet {
                let after = stored.entries();
                prop_assert!(unchanged(&before, &after), "step {}: {:?} became {:?}", number, before, after);
            }
        }
        Ok(())
    });
}
