//! Since when the fallback has decided in a server's place, and the log lines about it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::events::event;
use crate::sync::lock::Mutex;

/// How often the log speaks of outages, but for their ends.
const REPORT_EVERY: Duration = Duration::from_secs(60);

/// For so long no call may have needed the fallback before an outage is over. Where one of several servers is away, or
/// only writes fail, servers decide other calls all the time.
const OVER_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Outage {
    is_on: AtomicBool,
    has_been: AtomicBool,
    /// Calls that the report does not know yet.
    unreported: AtomicU64,
    report: Mutex<Report>,
}

#[derive(Debug, Default)]
struct Report {
    /// When the log last spoke of an outage.
    logged: Option<Instant>,
    current: Option<Current>,
}

/// The outage that is on.
#[derive(Debug)]
struct Current {
    began: Instant,
    /// When the fallback last decided.
    last: Instant,
    /// How many calls it has decided.
    calls: u64,
    is_logged: bool,
}

/// What the log is to say.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Began,
    Lasts { calls: u64, time: Duration },
    Ended { calls: u64, time: Duration },
}

impl Outage {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Whether the fallback has ever decided.
    pub(super) fn has_been(&self) -> bool {
        self.has_been.load(Ordering::Relaxed)
    }

    /// Takes note of a call that the fallback decides.
    pub(super) fn note(&self, error: &Error) {
        self.has_been.store(true, Ordering::Relaxed);
        self.unreported.fetch_add(1, Ordering::Relaxed);
        // Who holds it, or the next, counts this one. In a forked child, a thread that does not exist there may hold it.
        let Ok(mut report) = self.report.try_lock() else { return };
        let line = report.fell_back(self.unreported.swap(0, Ordering::Relaxed), Instant::now());
        self.is_on.store(true, Ordering::Relaxed);
        drop(report);
        match line {
            Some(Line::Lasts { calls, time }) => event!(
                Warn,
                fallback_lasts,
                "the fallback has decided {calls} calls in {} s: {error}",
                time.as_secs()
            ),
            Some(_) => event!(Warn, fallback_began, "no server can decide; the fallback decides: {error}"),
            None => {}
        }
    }

    /// A server has decided.
    #[cold]
    pub(super) fn decided(&self) {
        let Ok(mut report) = self.report.try_lock() else { return };
        let line = report.decided(&self.unreported, Instant::now());
        self.is_on.store(report.current.is_some(), Ordering::Relaxed);
        drop(report);
        if let Some(Line::Ended { calls, time }) = line {
            let seconds = time.as_secs_f64();
            event!(
                Warn,
                fallback_ended,
                "a server decides again; the fallback has decided {calls} calls in {seconds:.1} s"
            );
        }
    }
}

impl Report {
    /// The fallback decides so many calls.
    fn fell_back(&mut self, calls: u64, now: Instant) -> Option<Line> {
        let is_due = self.logged.is_none_or(|logged| now.saturating_duration_since(logged) >= REPORT_EVERY);
        if is_due {
            self.logged = Some(now);
        }
        let Some(current) = &mut self.current else {
            self.current = Some(Current { began: now, last: now, calls, is_logged: is_due });
            return is_due.then_some(Line::Began);
        };
        current.last = now;
        current.calls += calls;
        current.is_logged |= is_due;
        is_due.then(|| Line::Lasts { calls: current.calls, time: current.time() })
    }

    /// A server decides a call. The calls that the report does not know yet are of the outage that is on.
    fn decided(&mut self, unreported: &AtomicU64, now: Instant) -> Option<Line> {
        if let Some(current) = &mut self.current {
            current.calls += unreported.swap(0, Ordering::Relaxed);
        }
        let is_over = |current: &mut Current| now.saturating_duration_since(current.last) >= OVER_AFTER;
        let ended = self.current.take_if(is_over).filter(|ended| ended.is_logged)?;
        self.logged = Some(now);
        Some(Line::Ended { calls: ended.calls, time: ended.time() })
    }
}

impl Current {
    fn time(&self) -> Duration {
        self.last.saturating_duration_since(self.began)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// What is logged of an outage, by the milliseconds at which a call falls back or, `false`, a server decides.
    fn lines(calls: impl IntoIterator<Item = (u64, bool)>) -> Vec<(u64, Line)> {
        let (mut report, none, start) = (Report::default(), AtomicU64::new(0), Instant::now());
        let logged = calls.into_iter().filter_map(|(ms, falls_back)| {
            let now = start + Duration::from_millis(ms);
            let line = if falls_back { report.fell_back(1, now) } else { report.decided(&none, now) };
            line.map(|line| (ms, line))
        });
        logged.collect()
    }

    #[test]
    fn an_outage_is_logged_once_a_minute_until_its_end() {
        let calls = (0..150_000).step_by(1_000).map(|ms| (ms, true));
        let time = Duration::from_secs;
        assert_eq!(
            lines(calls.chain([(149_900, false), (160_000, false), (161_000, false)])),
            [
                (0, Line::Began),
                (60_000, Line::Lasts { calls: 61, time: time(60) }),
                (120_000, Line::Lasts { calls: 121, time: time(120) }),
                (160_000, Line::Ended { calls: 150, time: time(149) }),
            ]
        );
    }

    /// As where one server of several is away.
    #[test]
    fn servers_that_decide_in_between_do_not_end_it() {
        let calls = (0..100_000).map(|ms| (ms, ms % 2 == 0));
        let time = Duration::from_secs(60);
        assert_eq!(lines(calls), [(0, Line::Began), (60_000, Line::Lasts { calls: 30_001, time })]);
    }

    #[test]
    fn calls_of_threads_are_counted_each() {
        let outage = Outage::default();
        let note = || outage.note(&Error::closed());
        thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| (0..10_000).for_each(|_| note()))));
        note();
        assert_eq!(outage.report.lock().current.as_ref().map(|current| current.calls), Some(40_001));
    }

    #[test]
    fn calls_that_find_the_report_locked_are_of_the_outage_that_is_on() {
        let outage = Outage::default();
        outage.note(&Error::closed());
        let report = outage.report.lock();
        outage.note(&Error::closed());
        drop(report);
        outage.decided();
        assert_eq!(outage.report.lock().current.as_ref().map(|current| current.calls), Some(2));
    }

    #[test]
    fn outages_that_follow_within_a_minute_are_logged_if_they_last() {
        let flapping = (0..120_000).step_by(100).map(|ms| (ms, ms % 10_000 < 2_000));
        let told: Vec<_> = lines(flapping).into_iter().map(|(ms, _)| ms).collect();
        assert_eq!(told, [0, 2_900, 70_000, 72_900]);

        let second = (10_000..90_000).step_by(1_000).map(|ms| (ms, true));
        let lasting = lines([(0, true), (5_000, false)].into_iter().chain(second));
        let told: Vec<_> = lasting.into_iter().map(|(ms, _)| ms).collect();
        assert_eq!(told, [0, 5_000, 65_000]);
    }
}
