//! Since when the fallback has decided in a server's place, and the log lines about it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::events::event;
use crate::sync::lock::Mutex;

/// How often the log says that an outage goes on.
const REPORT_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Outage {
    is_on: AtomicBool,
    has_been: AtomicBool,
    report: Mutex<Option<Report>>,
}

#[derive(Debug)]
struct Report {
    began: Instant,
    reported: Instant,
    /// How many calls the fallback has decided since it began.
    calls: u64,
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
        self.is_on.store(true, Ordering::Relaxed);
        self.has_been.store(true, Ordering::Relaxed);
        // In a forked child, a thread that does not exist there may hold it.
        let Ok(mut report) = self.report.try_lock() else { return };
        let now = Instant::now();
        match &mut *report {
            None => {
                *report = Some(Report { began: now, reported: now, calls: 1 });
                event!(Warn, fallback_began, "no server can decide; the fallback decides: {error}");
            }
            Some(report) => {
                report.calls += 1;
                if now.saturating_duration_since(report.reported) >= REPORT_EVERY {
                    report.reported = now;
                    let seconds = now.saturating_duration_since(report.began).as_secs();
                    event!(
                        Warn,
                        fallback_lasts,
                        "the fallback has decided {} calls in {seconds} s: {error}",
                        report.calls
                    );
                }
            }
        }
    }

    /// A server decides again.
    #[cold]
    pub(super) fn end(&self) {
        self.is_on.store(false, Ordering::Relaxed);
        let Ok(mut report) = self.report.try_lock() else { return };
        if let Some(Report { began, calls, .. }) = report.take() {
            let seconds = began.elapsed().as_secs_f64();
            event!(
                Warn,
                fallback_ended,
                "a server decides again; the fallback has decided {calls} calls in {seconds:.1} s"
            );
        }
    }
}
