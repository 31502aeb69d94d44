//! Waits of both limiters until a cost is admitted.

use std::pin::pin;
use std::thread;
use std::time::{Duration, Instant};

use tokio::select;

use super::asynchronous::AsyncRateLimiter;
use super::blocking::RateLimiter;
use super::budget::WaitBudget;
use super::centre::Passed;
use super::sleeper;
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::plan::Op;
use crate::request::{Check, CheckOptions};

/// How long a wait sleeps before it looks whether the limiter was closed. A sleep that `close` would end at once
/// needs a lock, which a forked child may inherit locked.
const NAP: Duration = Duration::from_millis(50);

/// When a sleep ends whose end the clock cannot show.
const LONGEST_SLEEP: Duration = Duration::from_secs(86400 * 365);

impl RateLimiter {
    /// Checks until the cost is admitted, sleeping for `retry_after` in between, for `timeout` at most. That is the time
    /// to be admitted: each of the checks may take as long as any. A timeout of zero makes this a check.
    ///
    /// The last decision is returned: a denial as soon as it is known that the wait would go beyond the
    /// timeout. With a [`ManualClock`](crate::ManualClock) nothing sleeps; the clock is moved on instead.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn wait(&self, rule: &str, key: &str, timeout: Duration) -> Result<Decision> {
        self.wait_with(rule, key, CheckOptions::new(), timeout)
    }

    /// [`wait`](Self::wait) with a cost, a resource or another limit.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn wait_with(
        &self,
        rule: &str,
        key: &str,
        options: CheckOptions<'_>,
        timeout: Duration,
    ) -> Result<Decision> {
        self.wait_sleeping(rule, key, options, timeout, |span| {
            thread::sleep(span);
            true
        })
    }

    /// `wait_with` by a sleep that is asked for short spans: where it answers false, the wait ends with the
    /// last decision.
    pub(crate) fn wait_sleeping(
        &self,
        rule: &str,
        key: &str,
        options: CheckOptions<'_>,
        timeout: Duration,
        mut sleep: impl FnMut(Duration) -> bool,
    ) -> Result<Decision> {
        let check = Check::new(rule, key).with(options);
        let mut budget = WaitBudget::new(timeout);
        loop {
            let decision = self.single(&check, Op::Check)?;
            let Some(wait) = budget.next(&decision) else { return Ok(decision) };
            match self.centre.pass(wait) {
                Passed::Already => budget.pass(wait),
                Passed::ToSleep => {
                    let began = Instant::now();
                    while let Some(left) = wait.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
                        if !sleep(left.min(NAP)) {
                            return Ok(decision);
                        }
                        self.ensure_open()?;
                    }
                }
            }
        }
    }
}

impl AsyncRateLimiter {
    /// Checks until the cost is admitted, sleeping for `retry_after` in between, for `timeout` at most. That is the time
    /// to be admitted: each of the checks may take as long as any. A timeout of zero makes this a check.
    ///
    /// The last decision is returned: a denial as soon as it is known that the wait would go beyond the
    /// timeout. With a [`ManualClock`](crate::ManualClock) nothing sleeps; the clock is moved on instead.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn wait(&self, rule: &str, key: &str, timeout: Duration) -> Result<Decision> {
        self.wait_with(rule, key, CheckOptions::new(), timeout).await
    }

    /// [`wait`](Self::wait) with a cost, a resource or another limit.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn wait_with(
        &self,
        rule: &str,
        key: &str,
        options: CheckOptions<'_>,
        timeout: Duration,
    ) -> Result<Decision> {
        let check = Check::new(rule, key).with(options);
        let mut budget = WaitBudget::new(timeout);
        loop {
            let decision = self.single(&check, Op::Check).await?;
            let Some(wait) = budget.next(&decision) else { return Ok(decision) };
            match self.centre.pass(wait) {
                Passed::Already => budget.pass(wait),
                Passed::ToSleep => self.sleep(wait).await?,
            }
        }
    }

    /// Sleeps until the limiter is closed.
    async fn sleep(&self, span: Duration) -> Result<()> {
        let sleeper = match &self.sleeper {
            Some(sleeper) => sleeper.as_ref(),
            None => sleeper::tokio()?,
        };
        let end = Instant::now().checked_add(span).unwrap_or_else(|| Instant::now() + LONGEST_SLEEP);
        // First in line, then a look: a `close` in between is noticed by the one or the other.
        let mut closing = pin!(self.closing().notified());
        closing.as_mut().enable();
        self.ensure_open()?;
        select! {
            () = sleeper.sleep(end) => Ok(()),
            () = closing => Err(Error::closed()),
        }
    }
}
