//! Several rules decided together are charged together or not at all; a changed limit forgets nothing.

use std::cell::RefCell;

use proptest::prelude::*;
use serde_json::{Value, json};
use sluicegate::Check;
use sluicegate_conformance::{Driver, Stored};
use sluicegate_test_servers::Redis;

use crate::history::{Cost, Jump, any_cost, any_jump, any_start, checks};
use crate::holds;
use crate::rules::{RandomRule, any_rule, plain_rule};
use crate::world::{KEYS, RULE, World, bare, fits, one, options};

const NAMES: [&str; 3] = ["first", "second", "third"];

fn enforced(mut rule: RandomRule) -> RandomRule {
    rule.shadow = false;
    rule.count_denied = false;
    rule
}

/// Calls whose items touch no state twice, so that what each part says can be looked up alone.
fn calls() -> impl Strategy<Value = Vec<(Jump, Vec<Cost>)>> {
    let jump =
        any_jump().prop_map(|jump| if let Jump::Back(part) = jump { Jump::Windows(part) } else { jump });
    prop::collection::vec((jump, prop::collection::vec(any_cost(), 1..=3)), 1..15)
}

#[test]
fn all_or_nothing() {
    let redis = Redis::start().unwrap();
    let stored = RefCell::new(Stored::on(&redis));
    let rules = prop::collection::vec(any_rule().prop_map(enforced), 3);
    holds(500, (rules, any_start(), calls()), |(rules, start, calls)| {
        let mut stored = stored.borrow_mut();
        stored.clear();
        let json = Value::Array(rules.iter().zip(NAMES).map(|(rule, name)| rule.json(name)).collect());
        let mut world = World::new(Driver::Blocking, redis.url(), &json, start);
        for (jump, costs) in calls {
            world.jump(&jump, rules[0].longest_us());
            let options = |(rule, cost)| options(rule, world.cost(cost, rule), 0);
            let options: Vec<_> = rules.iter().zip(&costs).map(options).collect();
            let items = NAMES.iter().zip(&options);
            let checks: Vec<_> =
                items.map(|(name, options)| Check::new(name, KEYS[0]).with(*options)).collect();
            let before = stored.entries();
            let decision = world.limiter.check_all(&checks).unwrap();
            prop_assert_eq!(decision.allowed, decision.parts.iter().all(fits));
            if !decision.allowed {
                let after = stored.entries();
                prop_assert!(after.keys().eq(before.keys()));
                prop_assert!(after.iter().all(|(name, entry)| entry.value == before[name].value));
                prop_assert!(decision.parts.iter().any(|part| part.rule == decision.rule && !part.allowed));
            }
            for (check, part) in checks.iter().zip(&decision.parts) {
                let now = world.limiter.peek(check.rule, check.key, check.options).unwrap();
                prop_assert_eq!((now.remaining, now.reset_after), (part.remaining, part.reset_after));
            }
            world.note(Ok(decision)).unwrap();
        }
        Ok(())
    });
}

/// Usage is what was charged, so after a change of the limit a limiter answers as one that always had the
/// new limit and was charged the same.
#[test]
fn a_changed_limit_forgets_no_usage() {
    let redis = Redis::start().unwrap();
    let counting = plain_rule()
        .prop_filter("a debt is time, which another rate counts otherwise", |rule| !rule.is_gcra());
    holds(500, (counting, any_start(), checks(), 1..=2_000_u64), |(rule, start, steps, limit)| {
        let limit = rule.bounded(limit);
        let mut changed = rule.clone();
        changed.limits[0].limit = limit;
        let huge = if rule.algorithm() == "sliding_log" { json!(100_000) } else { json!(1_u64 << 45) };
        let mut generous = one(&changed);
        generous[0]["limit"] = huge;
        let prefix = format!("changed{}", stored_number());
        let at = |rules: &Value, prefix: &str| {
            World::with_prefix(Driver::Blocking, redis.url(), rules, start, prefix)
        };
        let mut old = at(&one(&rule), &prefix);
        // Admits whatever the old one admitted.
        let always_new = at(&generous, &format!("{prefix}-reference"));
        for step in &steps {
            old.jump(&step.jump, rule.longest_us());
            always_new.clock.set_us(old.clock.now_us());
            let cost = old.cost(&step.cost, &rule);
            let decision = old.check(&rule, cost);
            if fits(&decision) {
                always_new.check(&rule, cost);
            }
            old.note(Ok(decision)).unwrap();
        }
        let new = at(&one(&changed), &prefix);
        let reference = at(&one(&changed), &format!("{prefix}-reference"));
        for world in [&new, &reference] {
            world.clock.set_us(old.clock.now_us());
        }
        for cost in [1, limit] {
            let answer = bare(new.peek(&rule, cost, 0));
            prop_assert_eq!(&answer, &bare(reference.peek(&rule, cost, 0)));
            // The same by an override for one call, which is whole where the limit of the rule is not.
            if rule.algorithm() != "decay" {
                let overridden =
                    old.limiter.peek(RULE, KEYS[0], options(&rule, cost, 0).limit(limit)).unwrap();
                prop_assert_eq!(&answer, &bare(overridden));
            }
        }
        Ok(())
    });
}

/// A prefix is used by one case only.
fn stored_number() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}
