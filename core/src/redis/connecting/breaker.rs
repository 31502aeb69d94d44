//! The circuit breaker of one server: while it does not answer, calls fail at once instead of waiting for it.
//! Does no I/O (M. Nygard, "Release It!", 2007, names the pattern).

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ::redis::Value;

use crate::error::{Error, ErrorKind};
use crate::net::address::Address;
use crate::redis::errors::{self, CallError};
use crate::sync::lock::Mutex;

/// Opens after so many calls in a row without an answer; while it is open, one probe at a time tries the server.
pub(in crate::redis) struct Breaker {
    /// 0: it never opens.
    threshold: u32,
    /// The time between the beginnings of two probes.
    pause: Duration,
    failures: AtomicU32,
    is_open: AtomicBool,
    outage: Mutex<Option<Outage>>,
}

struct Outage {
    since: Instant,
    next_probe: Instant,
    probing: bool,
}

/// What a breaker that is open says to a call.
#[derive(Debug)]
pub(in crate::redis) struct Refusal {
    /// The call ends with it.
    pub(in crate::redis) error: Error,
    /// Whether the caller is to try the server, without the call.
    pub(in crate::redis) probe: bool,
}

impl Breaker {
    pub(in crate::redis) fn new(threshold: u32, pause: Duration) -> Self {
        Self {
            threshold,
            pause,
            failures: AtomicU32::new(0),
            is_open: AtomicBool::new(false),
            outage: Mutex::new(None),
        }
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
        let error = errors::breaker_open(address, now.saturating_duration_since(outage.since));
        Err(Refusal { error, probe })
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
            Err(failure) if failure.unanswered => self.unanswered(now),
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
    pub(in crate::redis) fn unanswered(&self, now: Instant) -> bool {
        if self.threshold == 0 || self.failures.fetch_add(1, Ordering::Relaxed) + 1 < self.threshold {
            return false;
        }
        let mut outage = self.outage.lock();
        let opens = outage.is_none();
        if opens {
            *outage = Some(Outage { since: now, next_probe: now + self.pause, probing: false });
            self.is_open.store(true, Ordering::Release);
        }
        opens
    }

    /// A probe has ended. The breaker closes if the server takes calls again.
    pub(in crate::redis) fn probed(&self, succeeded: bool) {
        let mut outage = self.outage.lock();
        if succeeded {
            // A connection says nothing about calls unless the breaker waits for one.
            if outage.take().is_some() {
                self.failures.store(0, Ordering::Relaxed);
                self.is_open.store(false, Ordering::Release);
            }
        } else if let Some(outage) = &mut *outage {
            outage.probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_millis(100);

    fn address() -> Address {
        Address::Tcp("host".to_owned(), 1)
    }

    /// Whether a call is refused, and whether it is to probe.
    fn refused(breaker: &Breaker, now: Instant) -> Option<bool> {
        breaker.admit(&address(), now).err().map(|refusal| refusal.probe)
    }

    #[test]
    fn opens_after_failures_in_a_row() {
        let (breaker, now) = (Breaker::new(3, PAUSE), Instant::now());
        assert!(!breaker.unanswered(now) && !breaker.unanswered(now));
        breaker.answered();
        assert!(!breaker.unanswered(now) && !breaker.unanswered(now));
        assert_eq!(refused(&breaker, now), None);
        assert!(breaker.unanswered(now));
        assert!(!breaker.unanswered(now), "it is open");
        assert_eq!(refused(&breaker, now), Some(false));
    }

    #[test]
    fn a_connection_is_no_answer_to_a_call() {
        let (breaker, now) = (Breaker::new(2, PAUSE), Instant::now());
        assert!(!breaker.unanswered(now));
        breaker.probed(true);
        assert!(breaker.unanswered(now), "a server that accepts connections but no calls");
    }

    #[test]
    fn one_probe_at_a_time_and_no_more_than_one_a_pause() {
        let (breaker, now) = (Breaker::new(1, PAUSE), Instant::now());
        breaker.unanswered(now);
        assert_eq!(refused(&breaker, now + PAUSE), Some(true));
        assert_eq!(refused(&breaker, now + PAUSE * 9), Some(false), "one is under way");
        breaker.probed(false);
        assert_eq!(refused(&breaker, now + PAUSE * 3 / 2), Some(false), "too early");
        assert_eq!(refused(&breaker, now + PAUSE * 2), Some(true));
        breaker.probed(true);
        assert_eq!(refused(&breaker, now + PAUSE * 2), None);
        assert!(breaker.unanswered(now + PAUSE * 2), "counts anew");
    }

    #[test]
    fn the_error_says_for_how_long() {
        let (breaker, now) = (Breaker::new(1, PAUSE), Instant::now());
        breaker.unanswered(now);
        let error = breaker.admit(&address(), now + PAUSE * 15).unwrap_err().error;
        let words = "circuit breaker open: no answer from host:1 for 1.5 s";
        assert_eq!(error.message(), words);
        assert!(error.is_retryable());
    }

    #[test]
    fn never_opens_where_it_is_off() {
        let breaker = Breaker::new(0, PAUSE);
        assert!((0..100).all(|_| !breaker.unanswered(Instant::now())));
        assert_eq!(refused(&breaker, Instant::now()), None);
    }
}
