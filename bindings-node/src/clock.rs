//! The clock that stands still.

use std::time::Duration;

use napi_derive::napi;

/// The native part of `ManualClock`, which validates what it passes.
#[napi]
pub struct NativeClock(pub(crate) sluicegate::ManualClock);

#[napi]
impl NativeClock {
    /// A clock that shows `now_us`.
    #[napi(constructor, catch_unwind)]
    pub fn new(now_us: f64) -> Self {
        Self(sluicegate::ManualClock::new(now_us as u64))
    }

    /// Moves the clock forward.
    #[napi(catch_unwind)]
    pub fn advance(&self, us: f64) {
        self.0.advance(Duration::from_micros(us as u64));
    }

    /// Sets the clock.
    #[napi(catch_unwind)]
    pub fn set(&self, now_us: f64) {
        self.0.set_us(now_us as u64);
    }

    /// What the clock shows; at most 2^53, so exact.
    #[napi(getter, catch_unwind)]
    pub fn now_us(&self) -> f64 {
        self.0.now_us() as f64
    }
}
