//! The limiter for tasks.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::select;
use tokio::sync::Notify;

#[cfg(feature = "bridge")]
use super::backend::Calls;
use super::backend::{Backend, Limiter, awaited};
use super::driver::Driver;
use super::queue::{Moment, Retryable, Waiter};
use super::rest::Rest;
use super::shared::Shared;
use super::sleeper::{Sleeper, sleeper};
use super::tasks::Tasks;
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::matching::Request;
#[cfg(feature = "bridge")]
use crate::plan::RawDecision;
use crate::plan::{End, Form, KeyRecordChange, Op};
#[cfg(feature = "bridge")]
use crate::redis::Hub;
use crate::request::{Check, CheckOptions};
use crate::reservation::{Reservation, ReservationRef, Usage};
use crate::sync::fork::PerProcess;

/// When a sleep ends whose end the clock cannot show.
const LONGEST_SLEEP: Duration = Duration::from_secs(86400 * 365);

/// Decides whether a cost is admitted; each call is a future that takes one round trip.
///
/// Calls share one multiplexed connection per server. A dropped future does not disturb the others; its
/// cost may have been charged.
///
/// To be used on a Tokio runtime with timers and I/O enabled (`enable_all`): on one without them, Tokio panics.
/// Outside any runtime, what needs one ends with a [`Connection`](crate::ErrorKind::Connection) error.
/// The runtime on which the limiter was connected serves the connections and ends calls in time, also for calls from other
/// runtimes: while nothing drives it, calls wait.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), sluicegate::Error> {
/// use sluicegate::{AsyncRateLimiter, Rules};
///
/// let rules = Rules::from_json(
///     r#"[{"rule_id": "login", "algorithm": "gcra", "limit": 2, "window_size_seconds": 60}]"#,
/// )?;
/// let limiter = AsyncRateLimiter::builder("memory://").rules(rules).connect().await?;
///
/// assert_eq!(limiter.check("login", "alice").await?.remaining, 1);
/// # Ok(())
/// # }
/// ```
pub struct AsyncRateLimiter {
    pub(super) limiter: Limiter<Tasks>,
    sleep: TaskSleep,
}

impl fmt::Debug for AsyncRateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = &self.limiter.shared.wire.prefix;
        f.debug_struct("AsyncRateLimiter").field("prefix", prefix).finish_non_exhaustive()
    }
}

impl AsyncRateLimiter {
    /// `sleeper`: what tasks sleep by; `None`: Tokio.
    pub(super) fn new(shared: Shared, backend: Backend<Tasks>, sleeper: Option<Arc<dyn Sleeper>>) -> Self {
        let sleep = TaskSleep { closing: PerProcess::new(Notify::new()), sleeper };
        let limiter = Limiter { shared, backend };
        limiter.warn_of_empty_shares();
        Self { limiter, sleep }
    }

    /// Closes the connections. Final: later calls, and waits that sleep, end with
    /// [`Closed`](crate::ErrorKind::Closed). What only looks at the rules still answers, by the last ones.
    pub fn close(&self) {
        self.limiter.close();
        self.sleep.closing().notify_waiters();
    }

    #[cfg(feature = "bridge")]
    pub(crate) fn ensure_open(&self) -> Result<()> {
        self.limiter.ensure_open()
    }
}

/// What bindings to other languages need.
#[cfg(feature = "bridge")]
impl AsyncRateLimiter {
    /// Tries a server, unless it is lazy. Fails if none answers, unless calls are decided all the same.
    pub(crate) async fn connected(&self) -> Result<()> {
        if self.limiter.shared.is_lazy {
            return Ok(());
        }
        self.limiter.shared.tolerates(self.try_server(None).await)
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        self.limiter.is_in_memory()
    }

    /// The connections, if there are any: those of the near server first.
    pub(crate) fn hubs(&self) -> Vec<Arc<Hub>> {
        match &self.limiter.backend {
            Backend::Server(servers) => servers.all().map(|tasks| Arc::clone(&tasks.redis.hub)).collect(),
            Backend::Memory(_) => Vec::new(),
        }
    }

    /// Whether checks may be decided by what a server lent or said before.
    pub(crate) fn uses_cells(&self) -> bool {
        match self.limiter.calls() {
            Calls::Memory(_) => false,
            Calls::Server(calls) => calls.uses_cells(&self.limiter.catalog(), Op::Check),
        }
    }

    /// Decides a single check in memory, or by what a server lent or said before, and returns what `make` builds of the raw decision;
    /// `None` where a server has to be asked, which takes I/O.
    #[inline]
    pub(crate) fn at_once<T>(
        &self,
        op: Op,
        check: &Check<'_>,
        make: impl FnOnce(RawDecision<'_>) -> T,
    ) -> Option<Result<T>> {
        match self.limiter.calls() {
            Calls::Memory(calls) => Some(calls.decide(check, op, make)),
            Calls::Server(calls) => {
                let catalog = self.limiter.catalog();
                if !calls.uses_cells(&catalog, op) {
                    return None;
                }
                calls.server.usable().ok()?;
                // A mistake is answered by the call itself.
                let decision = calls.by_cell(&catalog, check, op).ok()??;
                Some(Ok(make(RawDecision::from(&decision))))
            }
        }
    }
}

/// What the public methods call.
impl AsyncRateLimiter {
    pub(crate) async fn single(&self, check: &Check<'_>, op: Op) -> Result<Decision> {
        awaited!(self.limiter, single(check, op))
    }

    pub(super) async fn together(&self, checks: &[Check<'_>], request_id: Option<&str>) -> Result<Decision> {
        let catalog = self.limiter.catalog();
        awaited!(self.limiter, together(&catalog, checks, Op::Check, request_id))
    }

    pub(super) async fn check_matching(&self, request: &Request<'_>) -> Result<Decision> {
        self.limiter.check_matching(request).await
    }

    pub(super) async fn reserve_matching(&self, request: &Request<'_>) -> Result<Reservation> {
        self.limiter.reserve_matching(request).await
    }

    pub(super) async fn look_at(&self, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.limiter.look_at(key, options).await
    }

    pub(super) async fn forget(&self, check: &Check<'_>) -> Result<()> {
        awaited!(self.limiter, forget(check))
    }

    pub(super) async fn forget_all(&self, key: &str, options: CheckOptions<'_>) -> Result<()> {
        awaited!(self.limiter, forget_all(key, options))
    }

    pub(super) async fn reserve_in_turn(
        &self,
        checks: &[Check<'_>],
        form: Form,
        wait: Duration,
    ) -> Result<Reservation> {
        if wait.is_zero() {
            return awaited!(self.limiter, reserve(checks, form));
        }
        self.limiter.reserve_waiting(checks, form, wait, &self.sleep).await
    }

    pub(crate) async fn end(
        &self,
        reservation: ReservationRef<'_>,
        end: End,
        usage: Usage<'_>,
    ) -> Result<bool> {
        awaited!(self.limiter, end(reservation, end, usage))
    }

    pub(crate) async fn change_key_record(&self, check: &Check<'_>, change: KeyRecordChange) -> Result<bool> {
        awaited!(self.limiter, change_key_record(check, change))
    }

    pub(super) async fn change(&self, check: &Check<'_>, change: KeyRecordChange) -> Result<()> {
        self.change_key_record(check, change).await.map(drop)
    }

    pub(crate) async fn try_server(&self, timeout: Option<Duration>) -> Result<()> {
        self.limiter.ping(timeout).await
    }

    pub(super) async fn wait_in_turn(
        &self,
        checks: &[Check<'_>],
        form: Form,
        timeout: Duration,
    ) -> Result<Decision> {
        self.limiter.wait(checks, form, timeout, &self.sleep).await
    }
}

/// How tasks sleep.
struct TaskSleep {
    closing: PerProcess<Notify>,
    sleeper: Option<Arc<dyn Sleeper>>,
}

impl TaskSleep {
    /// Wakes those who wait when the limiter is closed. A forked child has its own: the lock in it may have been
    /// in the hands of a thread that does not exist in the child.
    fn closing(&self) -> &Notify {
        self.closing.get(|_| Notify::new())
    }
}

impl Rest for &TaskSleep {
    async fn rest<T: Retryable, D: Driver>(
        &mut self,
        limiter: &Limiter<D>,
        waiter: &Waiter<'_, T>,
        until: Moment,
    ) -> Result<()> {
        let sleeper = sleeper(self.sleeper.as_ref())?;
        let span = Duration::from_micros(until.saturating_sub(limiter.shared.moment()));
        let end = Instant::now().checked_add(span).unwrap_or_else(|| Instant::now() + LONGEST_SLEEP);
        // First in line, then a look: a `close` in between is noticed by the one or the other.
        let mut closing = pin!(self.closing().notified());
        closing.as_mut().enable();
        limiter.ensure_open()?;
        select! {
            () = std::future::poll_fn(|context| waiter.poll_called(context)) => Ok(()),
            () = sleeper.sleep(end) => Ok(()),
            () = closing => Err(Error::closed()),
        }
    }
}

#[cfg(test)]
mod tests;
