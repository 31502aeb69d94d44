//! What follows from a limit that differs: the parts of regions that are cut off, and the burst of a stored limit.

use std::time::Duration;

use sluicegate::{Check, Source};

use super::{RULES, World, admitted};

/// The limit that decisions state, what they say is left, and what is admitted are those of one limit.
#[test]
fn a_part_is_of_the_limit_of_the_region_in_charge() {
    let world = World::start();
    let [window, bucket] = ["all", "bucket"].map(|rule| world.key_of(rule, 1));
    world.differing("all", ("\"limit\": 10", "\"limit\": 4"), 4);
    world.differing("bucket", ("\"20/day\", \"burst\": 10", "\"40/day\", \"burst\": 7"), 7);
    let here = world.builder(0, RULES).fallback("local").build().unwrap();
    for (rule, key) in [("all", &window), ("bucket", &bucket)] {
        here.peek(rule, key).unwrap();
    }
    let parts = |source: Source| {
        for (rule, key, limit, part) in [("all", &window, 4, 2), ("bucket", &bucket, 7, 3)] {
            for left in (0..part).rev() {
                let decision = here.check(rule, key).unwrap();
                assert_eq!(
                    (decision.allowed, decision.limit, decision.remaining),
                    (true, limit, left),
                    "{rule}"
                );
                assert_eq!(decision.source, source);
            }
            assert!(!here.check(rule, key).unwrap().allowed, "{rule}: more than the part of {limit}");
        }
    };
    world.servers[1].kill();
    parts(Source::Share);
    world.servers[0].kill();
    parts(Source::Fallback);
}

#[test]
fn so_is_the_burst_of_a_key_with_a_stored_limit() {
    let world = World::start();
    let key = world.key_of("plans", 1);
    let own = "\"plans\", \"rate\": \"20/day\", \"burst\": 10";
    let there = world.differing("plans", (own, "\"plans\", \"rate\": \"20/day\", \"burst\": 3"), 3);
    there.set_limit("plans", &key, 40, None).unwrap();
    let here = world.limiter(0, RULES);
    let first = here.check("plans", &key).unwrap();
    assert_eq!((first.limit, first.remaining), (3, 2));
    assert_eq!([admitted(&here, "plans", &key, 6), admitted(&there, "plans", &key, 6)], [2, 0]);
    // In this time one is admitted anew.
    world.clock.advance(Duration::from_secs(86_400 / 40));
    assert_eq!([admitted(&here, "plans", &key, 6), admitted(&there, "plans", &key, 6)], [1, 0]);
    let together = here.check_all(&[Check::new("near", "k"), Check::new("plans", &key)]).unwrap();
    assert_eq!((together.allowed, together.limit), (false, 3));
}
