//! A clock that the caller moves.

use std::time::Duration;

use sluicegate::ManualClock;
use sluicegate::bridge::showable;

use crate::argument::Handle;

/// A clock that moves only when it is advanced, for testing an application's limits without
/// waiting. Give it to a limiter through its options; threads may share it.
pub struct Clock(pub(crate) ManualClock);

impl Handle for Clock {}

export! {
    /// Makes a clock that shows `now_us` microseconds since 1970, at most 2^53. To be freed.
    fn sluicegate_clock_new(now_us: u64, clock: *mut *mut Clock) {
        let now_us = showable(now_us)?;
        clock.write(Box::into_raw(Box::new(Clock(ManualClock::new(now_us)))));
        Ok(())
    }
}

export! {
    /// Moves a clock forward by so many microseconds; it stops at 2^53.
    fn sluicegate_clock_advance(clock: *const Clock, by_us: u64) {
        clock.0.advance(Duration::from_micros(by_us));
        Ok(())
    }
}

export! {
    /// Sets a clock, also backwards: how a server's clock looks after a failover. At most 2^53.
    fn sluicegate_clock_set(clock: *const Clock, now_us: u64) {
        clock.0.set_us(showable(now_us)?);
        Ok(())
    }
}

export! {
    /// Returns the time of a clock, in microseconds since 1970.
    fn sluicegate_clock_now(clock: *const Clock, now_us: *mut u64) {
        now_us.write(clock.0.now_us());
        Ok(())
    }
}

export! {
    /// Frees a clock; limiters that were made with it keep its time. NULL is fine.
    fn sluicegate_clock_free(clock: Option<Box<Clock>>) -> () {
        drop(clock);
    }
}
