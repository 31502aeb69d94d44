//! Where the time comes from.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A time, or a span of time, in microseconds.
pub(crate) type Micros = i64;

/// The latest time there is: whole microseconds in a double are exact up to here (year 2255).
pub(crate) const LATEST: Micros = 1 << 53;

/// A clock that moves only when it is advanced, for testing an application's limits without
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
    /// A clock that shows `now_us` microseconds since 1970; 2^53 in place of any later time.
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

    /// Sets the clock, also backwards: how a server's clock looks after a failover. It shows 2^53 in place of any
    /// later time.
    pub fn set_us(&self, now_us: u64) {
        self.0.store(Micros::try_from(now_us).unwrap_or(LATEST).min(LATEST), Ordering::SeqCst);
    }

    /// Returns the time of the clock, in microseconds since 1970.
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
    /// The system's time when the clock that is never set showed zero.
    origin: Micros,
}

impl SystemClock {
    pub(crate) fn new() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { origin: since.as_micros() as Micros - monotonic() }
    }

    #[inline(always)]
    pub(crate) fn now(&self) -> Micros {
        self.origin + monotonic()
    }
}

/// Microseconds since some moment in the past. With `Instant`, an in-memory decision takes a fifteenth more:
/// it tells time only as a difference, with checks of both its parts.
#[cfg(unix)]
#[inline(always)]
#[allow(unsafe_code, reason = "nothing safe reads the clock without that")]
fn monotonic() -> Micros {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` may be written to. Every Unix has this clock, so the call does not fail.
    let _ = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Micros::from(time.tv_sec) * 1_000_000 + Micros::from(time.tv_nsec) / 1_000
}

#[cfg(not(unix))]
fn monotonic() -> Micros {
    use std::sync::LazyLock;
    use std::time::Instant;

    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    Micros::try_from(BEGAN.elapsed().as_micros()).unwrap_or(LATEST)
}
