//! What is logged once a minute, however often it happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::sync::lock::Mutex;

const EVERY: Duration = Duration::from_secs(60);

/// How often something has happened since the log said so.
#[derive(Debug, Default)]
pub(crate) struct Seldom {
    said: Mutex<Option<Instant>>,
    times: AtomicU64,
}

impl Seldom {
    pub(crate) const fn new() -> Self {
        Self { said: Mutex::new(None), times: AtomicU64::new(0) }
    }

    /// Takes note that it happens at `now`. Answers how often it has happened since the log said so, when the log is to
    /// say it again.
    pub(crate) fn due(&self, now: Instant) -> Option<u64> {
        self.times.fetch_add(1, Ordering::Relaxed);
        self.overdue(now)
    }

    /// How often it has happened since the log said so, if it has, when the log may say it again.
    pub(crate) fn overdue(&self, now: Instant) -> Option<u64> {
        if self.times.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // Who finds it locked is counted by who holds it, or by the next.
        let mut said = self.said.try_lock().ok()?;
        if said.is_some_and(|said| now.saturating_duration_since(said) < EVERY) {
            return None;
        }
        *said = Some(now);
        Some(self.times.swap(0, Ordering::Relaxed))
    }

    /// Logs a warning unless it was said within the last minute, with how often it happened.
    #[cfg(feature = "tower")]
    pub(crate) fn warn(&self, what: impl std::fmt::Display) {
        match self.due(Instant::now()) {
            None => {}
            Some(1) => log::warn!("{what}"),
            Some(times) => log::warn!("{what} ({times} times since this was last said)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_a_minute_with_the_count() {
        let (seldom, start) = (Seldom::default(), Instant::now());
        let at = |seconds| seldom.due(start + Duration::from_secs(seconds));
        assert_eq!(
            [at(0), at(1), at(59), at(60), at(61), at(130)],
            [Some(1), None, None, Some(3), None, Some(2)]
        );
    }

    #[test]
    fn what_was_not_said_is_overdue_after_a_minute() {
        let (seldom, start) = (Seldom::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!([seldom.overdue(at(0)), seldom.due(at(0)), seldom.overdue(at(90))], [None, Some(1), None]);
        assert_eq!(
            [seldom.due(at(100)), seldom.due(at(101)), seldom.overdue(at(159))],
            [Some(1), None, None]
        );
        assert_eq!([seldom.overdue(at(160)), seldom.overdue(at(300))], [Some(1), None]);
    }
}
