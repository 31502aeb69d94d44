//! The limiter for threads.

use std::fmt;
use std::future::ready;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use super::backend::{Backend, Calls, Limiter};
use super::driver::Driver;
use super::queue::{Moment, Retryable, Waiter};
use super::rest::Rest;
use super::shared::Shared;
use crate::decision::Decision;
use crate::error::{Error, ErrorKind, Result};
use crate::matching::Request;
#[cfg(feature = "bridge")]
use crate::plan::RawDecision;
use crate::plan::{End, Form, KeyRecordChange, Op};
use crate::redis::BlockingRedis;
use crate::request::{Check, CheckOptions};
use crate::reservation::{Reservation, ReservationRef, Usage};

/// How long a wait sleeps before it looks whether the limiter was closed. A sleep that `close` would end at once
/// needs a lock, which a forked child may inherit locked.
const NAP: Duration = Duration::from_millis(50);

/// Decides whether a cost is admitted; blocks the calling thread for one round trip.
///
/// Safe to share between threads, which also share one connection to each server. It is opened when it is first needed.
///
/// ```
/// use sluicegate::{RateLimiter, Rules};
///
/// let rules = Rules::from_json(
///     r#"[{"rule_id": "login", "algorithm": "fixed_window", "limit": 2, "window_size_seconds": 60}]"#,
/// )?;
/// let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
///
/// assert_eq!(limiter.check("login", "alice")?.remaining, 1);
/// assert!(limiter.check("login", "alice")?.allowed);
/// let denied = limiter.check("login", "alice")?;
/// assert!(!denied.allowed && denied.retry_after.as_secs() < 60);
/// # Ok::<(), sluicegate::Error>(())
/// ```
///
/// What a key has used under every rule:
///
/// ```
/// use sluicegate::{RateLimiter, Rules};
///
/// let rules = r#"[{"rule_id": "login", "rate": "5/minute"}, {"rule_id": "orders", "rate": "9/s"}]"#;
/// let limiter = RateLimiter::builder("memory://").rules(Rules::from_json(rules)?).build()?;
/// limiter.check("login", "alice")?;
///
/// let remaining = |part: &sluicegate::Decision| (part.rule.to_string(), part.remaining);
/// let parts: Vec<_> = limiter.inspect("alice")?.parts.iter().map(remaining).collect();
/// assert_eq!(parts, [("login".to_owned(), 4), ("orders".to_owned(), 9)]);
/// limiter.reset_all("alice")?;
/// assert_eq!(limiter.peek("login", "alice")?.remaining, 5);
/// # Ok::<(), sluicegate::Error>(())
/// ```
pub struct RateLimiter {
    pub(super) limiter: Limiter<BlockingRedis>,
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = &self.limiter.shared.wire.prefix;
        f.debug_struct("RateLimiter").field("prefix", prefix).finish_non_exhaustive()
    }
}

impl RateLimiter {
    pub(super) fn new(shared: Shared, backend: Backend<BlockingRedis>) -> Self {
        Self { limiter: Limiter { shared, backend } }
    }

    /// Closes the connections. Final: later calls, and waits of other threads, end with
    /// [`Closed`](crate::ErrorKind::Closed). What only looks at the rules still answers, by the last ones.
    pub fn close(&self) {
        self.limiter.close();
    }

    #[cfg(feature = "bridge")]
    pub(crate) fn ensure_open(&self) -> Result<()> {
        self.limiter.ensure_open()
    }
}

/// What bindings to other languages need.
#[cfg(feature = "bridge")]
#[doc(hidden)]
impl RateLimiter {
    /// Whether the limiter is in memory, so that no call blocks for long.
    pub fn is_in_memory(&self) -> bool {
        self.limiter.is_in_memory()
    }

    /// Decides a single item, and returns what `make` builds of the raw decision.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    #[inline]
    pub fn decide<T>(&self, op: Op, check: &Check<'_>, make: impl FnOnce(RawDecision<'_>) -> T) -> Result<T> {
        match self.limiter.calls() {
            Calls::Memory(calls) => calls.decide(check, op, make),
            Calls::Server(calls) => {
                now(move || calls.single(check, op)).map(|decision| make(RawDecision::from(&decision)))
            }
        }
    }
}

/// The result of a call by a driver that blocks: its future is ready when it is first polled. It is made here, so that
/// callers which need none do not keep room for it.
#[inline(never)]
pub(super) fn now<T, F: Future<Output = Result<T>>>(call: impl FnOnce() -> F) -> Result<T> {
    match pin!(call()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => {
            let what = "internal error: a call that blocks was left waiting (report it)";
            Err(Error::new(ErrorKind::Connection, what).lasting().maybe_done())
        }
    }
}

/// The result of a call, which is [polled once](now) where a server has to be asked. Arguments are values, or references that outlive the call.
macro_rules! polled {
    ($limiter:expr, $call:ident($($argument:expr),* $(,)?)) => {
        match $limiter.calls() {
            Calls::Memory(calls) => calls.$call($($argument),*),
            Calls::Server(calls) => {
                now(move || calls.$call($($argument),*))
            }
        }
    };
}

/// What the public methods call: what is decided in memory at once, without a future, is so here.
impl RateLimiter {
    #[inline(always)]
    pub(super) fn single(&self, check: &Check<'_>, op: Op) -> Result<Decision> {
        polled!(self.limiter, single(check, op))
    }

    #[inline]
    pub(super) fn together(&self, checks: &[Check<'_>], request_id: Option<&str>) -> Result<Decision> {
        let catalog = &self.limiter.catalog();
        polled!(self.limiter, together(catalog, checks, Op::Check, request_id))
    }

    pub(super) fn check_matching(&self, request: &Request<'_>) -> Result<Decision> {
        now(|| self.limiter.check_matching(request))
    }

    pub(super) fn reserve_matching(&self, request: &Request<'_>) -> Result<Reservation> {
        now(|| self.limiter.reserve_matching(request))
    }

    pub(super) fn look_at(&self, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        now(|| self.limiter.look_at(key, options))
    }

    pub(super) fn forget(&self, check: &Check<'_>) -> Result<()> {
        polled!(self.limiter, forget(check))
    }

    pub(super) fn forget_all(&self, key: &str, options: CheckOptions<'_>) -> Result<()> {
        polled!(self.limiter, forget_all(key, options))
    }

    #[inline]
    pub(super) fn reserve_in_turn(
        &self,
        checks: &[Check<'_>],
        form: Form,
        wait: Duration,
    ) -> Result<Reservation> {
        self.reserve_sleeping(checks, form, wait, park)
    }

    /// Waits as [`wait_sleeping`](Self::wait_sleeping) does.
    #[inline]
    pub(crate) fn reserve_sleeping(
        &self,
        checks: &[Check<'_>],
        form: Form,
        wait: Duration,
        sleep: impl FnMut(Duration) -> bool,
    ) -> Result<Reservation> {
        if wait.is_zero() {
            return polled!(self.limiter, reserve(checks, form));
        }
        now(|| self.limiter.reserve_waiting(checks, form, wait, Parked(sleep)))
    }

    #[inline]
    pub(crate) fn end(&self, reservation: ReservationRef<'_>, end: End, usage: Usage<'_>) -> Result<bool> {
        polled!(self.limiter, end(reservation, end, usage))
    }

    pub(crate) fn change_key_record(&self, check: &Check<'_>, change: KeyRecordChange) -> Result<bool> {
        polled!(self.limiter, change_key_record(check, change))
    }

    pub(super) fn change(&self, check: &Check<'_>, change: KeyRecordChange) -> Result<()> {
        self.change_key_record(check, change).map(drop)
    }

    pub(super) fn try_server(&self, timeout: Option<Duration>) -> Result<()> {
        now(|| self.limiter.ping(timeout))
    }

    pub(super) fn wait_in_turn(
        &self,
        checks: &[Check<'_>],
        form: Form,
        timeout: Duration,
    ) -> Result<Decision> {
        self.wait_sleeping(checks, form, timeout, park)
    }

    /// Waits by a sleep that is asked for short spans and ends when the thread is unparked: where it answers false,
    /// the wait ends with an error.
    pub(crate) fn wait_sleeping(
        &self,
        checks: &[Check<'_>],
        form: Form,
        timeout: Duration,
        sleep: impl FnMut(Duration) -> bool,
    ) -> Result<Decision> {
        now(|| self.limiter.wait(checks, form, timeout, Parked(sleep)))
    }
}

fn park(span: Duration) -> bool {
    thread::park_timeout(span);
    true
}

/// How threads sleep: for a span, or until they are unparked. False: the wait is to end.
struct Parked<F>(F);

impl<F: FnMut(Duration) -> bool> Parked<F> {
    fn sleep<T, D: Driver>(
        &mut self,
        limiter: &Limiter<D>,
        waiter: &Waiter<'_, T>,
        until: Moment,
    ) -> Result<()> {
        while !waiter.is_called() {
            let left = Duration::from_micros(until.saturating_sub(limiter.shared.moment()));
            if left.is_zero() {
                break;
            }
            if !(self.0)(left.min(NAP)) {
                return Err(Error::new(ErrorKind::Timeout, "the wait was interrupted"));
            }
            limiter.ensure_open()?;
        }
        Ok(())
    }
}

impl<F: FnMut(Duration) -> bool> Rest for Parked<F> {
    fn rest<T: Retryable, D: Driver>(
        &mut self,
        limiter: &Limiter<D>,
        waiter: &Waiter<'_, T>,
        until: Moment,
    ) -> impl Future<Output = Result<()>> + Send {
        ready(self.sleep(limiter, waiter, until))
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::rules::Rules;

    #[test]
    fn close_ends_a_wait() {
        let rule = r#"[{ "rule_id": "r", "algorithm": "gcra", "limit": 1, "window_size_seconds": 60 }]"#;
        let rules = Rules::from_json(rule).unwrap();
        let limiter = RateLimiter::builder("memory://").rules(rules).build().unwrap();
        assert!(limiter.check("r", "k").unwrap().allowed);
        let began = Instant::now();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| limiter.wait("r", "k", Duration::MAX));
            thread::sleep(Duration::from_millis(20));
            limiter.close();
            assert_eq!(waiting.join().unwrap().unwrap_err().kind(), ErrorKind::Closed);
        });
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_blocking_call_that_is_left_waiting_is_an_error() {
        let error = now(pending::<Result<()>>).unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, false), "{error}");
        assert!(error.is_maybe_done());
        assert_eq!(now(|| ready(Ok(1))), Ok(1));
    }
}
