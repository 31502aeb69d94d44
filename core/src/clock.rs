//! Where the time comes from.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::algorithm::Micros;

/// The latest time there is: whole microseconds in a double are exact up to here (year 2255).
const LATEST: Micros = 1 << 53;

/// A clock that stands still until it is told to move, for testing an application's limits without
/// waiting. Clones share one time. With it a limiter on Redis passes the time to its scripts.
///
/// ```
/// use std::time::Duration;
/// use sluicegate::ManualClock;
///
/// let clock = ManualClock::new(0);
/// clock.advance(Duration::from_millis(1500));
/// assert_eq!(clock.now_us(), 1_500_000);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `now_us` microseconds since 1970; at most 2^53.
    pub fn new(now_us: u64) -> Self {
        let clock = Self::default();
        clock.set_us(now_us);
        clock
    }

    /// Moves the clock forward; it stops at 2^53 microseconds.
    pub fn advance(&self, by: Duration) {
        let by = Micros::try_from(by.as_micros()).unwrap_or(LATEST);
        let later = |now: Micros| Some(now.saturating_add(by).min(LATEST));
        // The closure always answers, so the update cannot fail.
        let _ = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, later);
    }

    /// Sets the clock, also backwards: how a server's clock looks after a failover.
    pub fn set_us(&self, now_us: u64) {
        self.0.store(Micros::try_from(now_us).unwrap_or(LATEST).min(LATEST), Ordering::SeqCst);
    }

    /// What the clock shows, in microseconds since 1970.
    pub fn now_us(&self) -> u64 {
        self.now().unsigned_abs()
    }

    pub(crate) fn now(&self) -> Micros {
        self.0.load(Ordering::SeqCst)
    }
}

/// The time of this process: the system's when it was made, and from then on never backwards.
#[derive(Debug)]
pub(crate) struct SystemClock {
    began: Instant,
    began_us: Micros,
}

impl SystemClock {
    pub(crate) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { began: Instant::now(), began_us: since.as_micros() as Micros }
    }

    pub(crate) fn now(&self) -> Micros {
        let passed = self.began.elapsed();
        // `as_micros` would count in 128 bits.
        self.began_us + passed.as_secs() as Micros * 1_000_000 + Micros::from(passed.subsec_micros())
    }
}
