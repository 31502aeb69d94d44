//! The limiter for threads, as it and its reservations share it, and how its calls are made.

use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use sluicegate::bridge::{self, End, KeyRecordChange, Used};
use sluicegate::{RateLimiter, Result};

use crate::arguments::{Given, Key, Object, Optional, requested};
use crate::decision::Decision;
use crate::errors::exception;
use crate::reserved::Reference;

/// Sleeps for a while; false when the wait is over before its time.
pub(crate) type Sleep<'a> = &'a mut (dyn FnMut(Duration) -> bool + Send);

pub(crate) struct Shared {
    pub(crate) limiter: RateLimiter,
    /// Then nothing is gained by letting other threads run meanwhile.
    pub(crate) is_in_memory: bool,
}

impl Shared {
    pub(crate) fn new(limiter: RateLimiter) -> Self {
        Self { is_in_memory: limiter.is_in_memory(), limiter }
    }

    pub(crate) fn end(
        &self,
        py: Python<'_>,
        end: End,
        reservation: &Reference<'_, '_>,
        used: &Used,
    ) -> PyResult<bool> {
        let id = reservation.id_to(end);
        self.call(py, |limiter| bridge::end(limiter, end, id, used))
    }

    /// Lets other threads run while the server answers.
    pub(crate) fn call<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&RateLimiter) -> Result<T> + Send,
    ) -> PyResult<T> {
        let limiter = &self.limiter;
        let result = if self.is_in_memory { call(limiter) } else { py.detach(|| call(limiter)) };
        result.map_err(|error| exception(py, &error))
    }

    /// Changes a block or a stored limit of one key.
    pub(crate) fn change_key_record(
        &self,
        rule: &Object<'_>,
        key: &Key<'_>,
        change: KeyRecordChange,
        timeout: Optional<'_>,
    ) -> PyResult<bool> {
        let check = requested(rule, key, &Given(None), None, None, timeout, None)?;
        self.call(rule.py(), |limiter| bridge::change_key_record(limiter, &check, change))
    }

    pub(crate) fn decide(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&RateLimiter) -> Result<sluicegate::Decision> + Send,
    ) -> PyResult<Decision> {
        self.call(py, call).map(Decision::from)
    }

    pub(crate) fn wait(
        &self,
        py: Python<'_>,
        wait: impl FnOnce(&RateLimiter, Sleep<'_>) -> Result<sluicegate::Decision> + Send,
    ) -> PyResult<Decision> {
        self.wait_interruptible(py, wait).map(Decision::from)
    }

    /// Makes a call that sleeps, and ends with the exception of a signal that comes meanwhile.
    pub(crate) fn wait_interruptible<T: Send>(
        &self,
        py: Python<'_>,
        wait: impl FnOnce(&RateLimiter, Sleep<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let mut interrupted = None;
        let mut sleep = |span| match Python::attach(|py| sleep(py, span)) {
            Ok(()) => true,
            Err(exception) => {
                interrupted = Some(exception);
                false
            }
        };
        let answer = self.call(py, |limiter| wait(limiter, &mut sleep));
        interrupted.map_or(answer, Err)
    }
}

/// A short sleep that ends when the thread is unparked, and with the signals that came meanwhile or while the server
/// was asked. It is not that of Python: see `asynchronous` for why.
fn sleep(py: Python<'_>, span: Duration) -> PyResult<()> {
    py.check_signals()?;
    py.detach(|| thread::park_timeout(span));
    py.check_signals()
}
