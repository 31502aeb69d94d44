//! Which keys are busy enough to borrow for, and what a clock that steps makes of that.

use std::time::Duration;

use sluicegate::Source;
use sluicegate_conformance::ClockedRedis;

use crate::{MS, RULES, ask, count, warm_up};

/// Ten units in the 20 ms of a lease are 500 a second.
#[test]
fn a_slow_key_is_decided_by_the_server() {
    let world = ClockedRedis::start(RULES);
    for (pause, calls) in [(Duration::from_secs(1), 60), (Duration::from_micros(2_200), 2_000)] {
        let limiter = world.limiter();
        for rule in ["busy", "window"] {
            let decisions = ask(&world, &limiter, rule, (pause, calls));
            assert_eq!(count(&decisions, Source::Server), calls, "{rule}: once in {pause:?}");
            assert_eq!(limiter.metrics().rules[rule].loans.asked, 0, "{rule}: once in {pause:?}");
        }
    }
}

#[test]
fn a_key_that_becomes_slow_is_decided_by_the_server() {
    let world = ClockedRedis::start(RULES);
    let limiter = world.limiter();
    let busy = warm_up(&world, &limiter, "busy", 600);
    assert!(count(&busy, Source::Lease) > 200, "it is busy");
    let pause = Duration::from_secs(1);
    let slow = ask(&world, &limiter, "busy", (pause, 20));
    assert_eq!(count(&slow, Source::Server), 20, "once in {pause:?}");
}

#[test]
fn a_clock_that_steps_back_lets_no_unit_last_longer_than_it_may() {
    let world = ClockedRedis::start(RULES);
    for back in [Duration::from_millis(1), Duration::from_millis(90), Duration::from_secs(3_600)] {
        let limiter = world.limiter();
        let busy = warm_up(&world, &limiter, "busy", 900);
        assert!(count(&busy, Source::Lease) > 400, "{back:?}: it is busy");
        world.clock.set_us(world.clock.now_us() - back.as_micros() as u64);
        limiter.check("busy", "k").unwrap();
        world.clock.advance(MS * 20);
        assert_eq!(
            limiter.check("busy", "k").unwrap().source,
            Source::Server,
            "{back:?}: the lease has ended"
        );
        let again = warm_up(&world, &limiter, "busy", 1_000);
        assert!(count(&again, Source::Lease) > 400, "{back:?}: it borrows again");
    }
}
