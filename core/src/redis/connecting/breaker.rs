//! The circuit breaker of one server: while it does not answer, calls fail at once instead of waiting for it.
//! Does no I/O (M. Nygard, "Release It!", 2007, names the pattern).

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ::redis::Value;

use crate::error::{Error, ErrorKind};
use crate::events::{Seldom, event};
use crate::metrics::ServerMetrics;
use crate::net::address::Address;
use crate::redis::errors::{self, CallError, Unanswered};
use crate::sync::lock::Mutex;

/// Opens after so many calls in a row without an answer; while it is open, one probe at a time tries the server.
pub(in crate::redis) struct Breaker {
    /// 0: it never opens.
    threshold: u32,
    /// The time between the beginnings of two probes.
    pause: Duration,
    failures: AtomicU32,
    is_open: AtomicBool,
    /// How often it has opened.
    openings: AtomicU64,
    row: Mutex<Row>,
    outage: Mutex<Option<Outage>>,
    log: OutageLog,
}

/// With no call for so long, the error of an open breaker would be about a server that may have been back for a while.
const QUIET: Duration = Duration::from_secs(1);

/// The failures in a row.
#[derive(Default)]
struct Row {
    /// When the call began that failed first.
    since: Option<Instant>,
    /// When a connection last broke. One that is older is as good as broken: what it takes along is the same failure.
    broken_at: Option<Instant>,
    /// Why the last one failed.
    cause: Option<String>,
}

struct Outage {
    next_probe: Instant,
    probing: bool,
    /// When the last call was refused.
    last_call: Instant,
}

/// What is logged of outages: each by itself, but for those that follow one another within a minute.
#[derive(Default)]
struct OutageLog {
    /// The server; nothing is logged without one.
    server: Option<Address>,
    seldom: Seldom,
    /// Whether the log says that the server does not answer.
    is_logged: AtomicBool,
}

/// What a breaker that is open says to a call.
#[derive(Debug)]
pub(in crate::redis) struct Refusal {
    /// The call ends with it.
    pub(in crate::redis) error: Error,
    /// Whether the caller is to try the server, without the call.
    pub(in crate::redis) probe: bool,
    /// Whether the call is to wait for the end of that all the same, for the time to answer at most: none came for long.
    pub(in crate::redis) awaits_probe: bool,
}

impl Breaker {
    pub(in crate::redis) fn new(threshold: u32, pause: Duration) -> Self {
        Self {
            threshold,
            pause,
            failures: AtomicU32::new(0),
            is_open: AtomicBool::new(false),
            openings: AtomicU64::new(0),
            row: Mutex::default(),
            outage: Mutex::new(None),
            log: OutageLog::default(),
        }
    }

    /// The same, which logs the outages of the server.
    pub(in crate::redis) fn of(self, server: Address) -> Self {
        Self { log: OutageLog { server: Some(server), ..self.log }, ..self }
    }

    /// Whether a call to the server at `address` may be sent now.
    pub(in crate::redis) fn admit(&self, address: &Address, now: Instant) -> Result<(), Refusal> {
        if !self.is_open() {
            return Ok(());
        }
        let mut outage = self.outage.lock();
        let Some(outage) = &mut *outage else { return Ok(()) };
        let probe = !outage.probing && now >= outage.next_probe;
        if probe {
            outage.probing = true;
            outage.next_probe = now + self.pause;
        }
        let last_call = std::mem::replace(&mut outage.last_call, now);
        let is_quiet = now.saturating_duration_since(last_call) >= QUIET.max(self.pause);
        Err(Refusal { error: self.refusal(address, now), probe, awaits_probe: probe && is_quiet })
    }

    /// The error of a call to the server at `address` that is not sent.
    pub(in crate::redis) fn refusal(&self, address: &Address, now: Instant) -> Error {
        let row = self.row.lock();
        let since = row.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        errors::breaker_open(address, row.cause.as_deref(), since)
    }

    /// What is counted of it.
    pub(in crate::redis) fn metrics(&self) -> ServerMetrics {
        ServerMetrics {
            breaker_open: self.is_open(),
            breaker_openings: self.openings.load(Ordering::Relaxed),
        }
    }

    pub(in crate::redis) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Takes note of the outcome of a call. Returns whether the breaker opens with this one. A call that leaves the server
    /// less time than it may take, which `allows_response` tells, says nothing about the server by a timeout.
    pub(in crate::redis) fn note(
        &self,
        result: &Result<Value, CallError>,
        allows_response: impl FnOnce() -> bool,
        now: Instant,
    ) -> bool {
        match result {
            Err(failure) if failure.error.kind() == ErrorKind::Timeout && !allows_response() => false,
            Err(CallError { unanswered: Some(unanswered), .. }) => self.unanswered(unanswered, now),
            Err(failure) if failure.error.kind() != ErrorKind::Server => false,
            Ok(_) | Err(_) => {
                self.answered();
                false
            }
        }
    }

    /// The server answered a call, if only with an error.
    pub(in crate::redis) fn answered(&self) {
        // Only if needed: what nobody writes to, all processors can keep in their caches.
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// The server did not answer a call. Answers whether the breaker opens with this one.
    pub(in crate::redis) fn unanswered(&self, unanswered: &Unanswered, now: Instant) -> bool {
        if self.threshold == 0 || !self.counts(unanswered, now) {
            return false;
        }
        if self.failures.fetch_add(1, Ordering::Relaxed) + 1 < self.threshold {
            return false;
        }
        let mut outage = self.outage.lock();
        let opens = outage.is_none();
        if opens {
            *outage = Some(Outage { next_probe: now + self.pause, probing: false, last_call: now });
            self.is_open.store(true, Ordering::Release);
            self.openings.fetch_add(1, Ordering::Relaxed);
        }
        drop(outage);
        if opens {
            self.log_open();
        }
        opens
    }

    /// Takes note of a failure. Answers whether it is one of its own.
    fn counts(&self, unanswered: &Unanswered, now: Instant) -> bool {
        let mut row = self.row.lock();
        let began = now.checked_sub(unanswered.waited);
        // One that was not sent in time may fail before those that are under way, which began earlier.
        row.since = if self.failures.load(Ordering::Relaxed) == 0 { began } else { row.since.min(began) };
        if let Some(cause) = &unanswered.cause {
            row.cause = Some(cause.clone());
        }
        let Some(opened) = unanswered.opened else { return true };
        let is_new = row.broken_at.is_none_or(|broken_at| broken_at < opened);
        if is_new {
            row.broken_at = Some(now);
        }
        is_new
    }

    /// A probe has ended; `failure` is why it did not succeed. The breaker closes if the server takes calls again.
    pub(in crate::redis) fn probed(&self, failure: Option<&CallError>) {
        let mut outage = self.outage.lock();
        let Some(failure) = failure else {
            // A connection says nothing about calls unless the breaker waits for one.
            if outage.take().is_some() {
                self.failures.store(0, Ordering::Relaxed);
                self.is_open.store(false, Ordering::Release);
                drop(outage);
                self.log.closed();
            }
            return;
        };
        if let Some(found) = &mut *outage {
            found.probing = false;
            if let Some(cause) = failure.cause() {
                self.row.lock().cause = Some(cause);
            }
            drop(outage);
            self.log_open();
        }
    }

    fn log_open(&self) {
        let cause = self.row.lock().cause.clone();
        self.log.open(cause.as_deref().unwrap_or("no answer"));
    }
}

impl OutageLog {
    /// The server does not answer: logged at once, and once a minute while that lasts.
    fn open(&self, cause: &str) {
        if let Some(server) = &self.server
            && self.seldom.due(Instant::now()).is_some()
        {
            self.is_logged.store(true, Ordering::Relaxed);
            event!(
                Warn,
                breaker_open,
                "{server} does not answer ({cause}): calls to it end at once until it does"
            );
        }
    }

    fn closed(&self) {
        if let Some(server) = self.server.as_ref().filter(|_| self.is_logged.swap(false, Ordering::Relaxed)) {
            event!(Info, breaker_closed, "{server} answers again");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;
    use crate::redis::errors::ConnectionError;
    use crate::redis::settings::login::Role;

    const PAUSE: Duration = Duration::from_millis(100);

    fn address() -> Address {
        Address::Tcp("host".to_owned(), 1)
    }

    fn silent() -> CallError {
        errors::opening(&ConnectionError::Silent, &address(), Role::Data, Duration::from_millis(500))
    }

    /// Takes note of a server that says nothing.
    fn fails(breaker: &Breaker, now: Instant) -> bool {
        breaker.unanswered(&silent().unanswered.unwrap(), now)
    }

    /// Whether a call is refused, and whether it is to probe.
    fn refused(breaker: &Breaker, now: Instant) -> Option<bool> {
        breaker.admit(&address(), now).err().map(|refusal| refusal.probe)
    }

    #[test]
    fn opens_after_failures_in_a_row() {
        let (breaker, now) = (Breaker::new(3, PAUSE), Instant::now());
        assert!(!fails(&breaker, now) && !fails(&breaker, now));
        breaker.answered();
        assert!(!fails(&breaker, now) && !fails(&breaker, now));
        assert_eq!(refused(&breaker, now), None);
        assert!(fails(&breaker, now));
        assert!(!fails(&breaker, now), "it is open");
        assert_eq!(refused(&breaker, now), Some(false));
    }

    #[test]
    fn a_connection_is_no_answer_to_a_call() {
        let (breaker, now) = (Breaker::new(2, PAUSE), Instant::now());
        assert!(!fails(&breaker, now));
        breaker.probed(None);
        assert!(fails(&breaker, now), "a server that accepts connections but no calls");
    }

    #[test]
    fn one_probe_at_a_time_and_no_more_than_one_a_pause() {
        let (breaker, now) = (Breaker::new(1, PAUSE), Instant::now());
        fails(&breaker, now);
        assert_eq!(refused(&breaker, now + PAUSE), Some(true));
        assert_eq!(refused(&breaker, now + PAUSE * 9), Some(false), "one is under way");
        breaker.probed(Some(&silent()));
        assert_eq!(refused(&breaker, now + PAUSE * 3 / 2), Some(false), "too early");
        assert_eq!(refused(&breaker, now + PAUSE * 2), Some(true));
        breaker.probed(None);
        assert_eq!(refused(&breaker, now + PAUSE * 2), None);
        assert!(fails(&breaker, now + PAUSE * 2), "counts anew");
    }

    #[test]
    fn what_one_broken_connection_takes_along_is_one_failure() {
        let (breaker, start) = (Breaker::new(2, PAUSE), Instant::now());
        let fault = ConnectionError::Io(Arc::new(io::ErrorKind::ConnectionReset.into()));
        let broken = errors::broken(&fault, &address(), PAUSE);
        let breaks =
            |opened, now| breaker.unanswered(&broken.clone().of_connection(opened).unanswered.unwrap(), now);
        assert!((0..9).all(|_| !breaks(start, start + PAUSE)));
        assert!(!breaks(start + PAUSE / 2, start + PAUSE * 2), "it was open when the other one broke");
        assert!(breaks(start + PAUSE * 3, start + PAUSE * 4));
    }

    #[test]
    fn the_error_begins_with_the_last_cause_and_says_for_how_long() {
        let (breaker, now) = (Breaker::new(2, PAUSE), Instant::now() + PAUSE * 10);
        fails(&breaker, now);
        fails(&breaker, now + PAUSE * 5);
        let said = |after| breaker.admit(&address(), now + after).unwrap_err().error;
        // The first call had begun 0.5 s before it failed.
        let words = "no answer for 0.5 s: circuit breaker open, host:1 has not answered for 2.0 s";
        assert_eq!(said(PAUSE * 15).message(), words);
        let refused = ConnectionError::Io(Arc::new(io::Error::other("certificate expired")));
        breaker.probed(Some(&errors::opening(&refused, &address(), Role::Data, PAUSE)));
        let error = said(PAUSE * 15);
        assert!(error.message().starts_with("certificate expired: circuit breaker open"), "{error}");
        assert!(error.is_retryable());
    }

    #[test]
    fn a_call_that_failed_later_may_have_begun_before() {
        let (breaker, now) = (Breaker::new(2, PAUSE), Instant::now() + PAUSE * 10);
        breaker.unanswered(&Unanswered::default(), now);
        fails(&breaker, now);
        let error = breaker.refusal(&address(), now);
        assert!(error.message().ends_with("has not answered for 0.5 s"), "{error}");
    }

    #[test]
    fn the_first_call_after_a_quiet_time_waits_for_the_probe() {
        let (breaker, now) = (Breaker::new(1, PAUSE), Instant::now());
        fails(&breaker, now);
        let waits = |after| breaker.admit(&address(), now + after).unwrap_err().awaits_probe;
        assert!(!waits(QUIET / 2));
        breaker.probed(Some(&silent()));
        assert!(waits(QUIET * 2));
        assert!(!waits(QUIET * 4), "the probe is under way");
    }

    #[test]
    fn never_opens_where_it_is_off() {
        let breaker = Breaker::new(0, PAUSE);
        assert!((0..100).all(|_| !fails(&breaker, Instant::now())));
        assert_eq!(refused(&breaker, Instant::now()), None);
    }
}
