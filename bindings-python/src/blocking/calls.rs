//! How the limiter for threads makes its calls.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use sluicegate::bridge::StandingChange;
use sluicegate::{Result, bridge};

use super::RateLimiter;
use crate::arguments::{Given, Key, requested};
use crate::decision::Decision;
use crate::reservation::Reservation;

impl RateLimiter {
    /// Changes a block or a stored limit of one key.
    pub(super) fn stand(
        &self,
        rule: &Bound<'_, PyAny>,
        key: &Key<'_>,
        change: StandingChange,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let check = requested(rule, key, &Given(None), None, None, timeout)?;
        self.shared.call(rule.py(), |limiter| bridge::stand(limiter, &check, change))
    }

    pub(super) fn decide(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&sluicegate::RateLimiter) -> Result<sluicegate::Decision> + Send,
    ) -> PyResult<Decision> {
        self.shared.call(py, call).map(Decision::from)
    }

    /// Makes a call that sleeps, and ends with the exception of a signal that comes meanwhile.
    pub(super) fn wait_interruptible<T: Send>(
        &self,
        py: Python<'_>,
        wait: impl FnOnce(&sluicegate::RateLimiter, &mut (dyn FnMut(Duration) -> bool + Send)) -> Result<T> + Send,
    ) -> PyResult<T> {
        let mut interrupted = None;
        let mut sleep = |span| match Python::attach(|py| sleep(py, span)) {
            Ok(()) => true,
            Err(exception) => {
                interrupted = Some(exception);
                false
            }
        };
        let answer = self.shared.call(py, |limiter| wait(limiter, &mut sleep));
        interrupted.map_or(answer, Err)
    }

    pub(super) fn hold<'py>(
        slf: &Bound<'py, Self>,
        reserve: impl FnOnce(
            &sluicegate::RateLimiter,
            &mut (dyn FnMut(Duration) -> bool + Send),
        ) -> Result<bridge::Reserved>
        + Send,
    ) -> PyResult<Bound<'py, Reservation>> {
        let reserved = slf.get().wait_interruptible(slf.py(), reserve)?;
        Reservation::create(slf.py(), Arc::clone(&slf.get().shared), reserved)
    }
}

/// A short sleep that ends when the thread is unparked, and with the signals that came meanwhile or while the server
/// was asked. It is not that of Python: see `asynchronous` for why.
fn sleep(py: Python<'_>, span: Duration) -> PyResult<()> {
    py.check_signals()?;
    py.detach(|| thread::park_timeout(span));
    py.check_signals()
}
