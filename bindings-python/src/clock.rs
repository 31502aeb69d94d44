//! The clock for tests.

use std::time::Duration;

use pyo3::prelude::*;
use sluicegate::bridge::showable;

use crate::arguments::{Given, span, whole};
use crate::errors::exception;

/// Rounds what is not in whole microseconds: 0.3 s is a little less than 300,000 of them in binary.
const HALF_A_MICROSECOND: Duration = Duration::from_nanos(500);

/// A clock that moves only when `advance` is called, for testing limits without waiting.
///
/// With it a limiter on Redis passes the time to its scripts instead of using the server's.
#[pyclass(module = "sluicegate", frozen)]
pub(crate) struct ManualClock(pub(crate) sluicegate::ManualClock);

#[pymethods]
impl ManualClock {
    #[new]
    #[pyo3(signature = (now_us=Given(None)), text_signature = "(now_us=0)")]
    fn new(now_us: Given<'_>) -> PyResult<Self> {
        now_us.or(0, "now_us", time).map(|now_us| Self(sluicegate::ManualClock::new(now_us)))
    }

    /// Moves the clock forward, to the nearest microsecond.
    fn advance(&self, seconds: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.advance(span(seconds, "seconds")?.saturating_add(HALF_A_MICROSECOND));
        Ok(())
    }

    /// Sets the clock, also backwards: how a server's clock looks after a failover.
    fn set(&self, now_us: &Bound<'_, PyAny>) -> PyResult<()> {
        time(now_us, "now_us").map(|now_us| self.0.set_us(now_us))
    }

    /// What the clock shows, in microseconds since 1970.
    #[getter]
    fn now_us(&self) -> u64 {
        self.0.now_us()
    }

    fn __repr__(&self) -> String {
        format!("ManualClock(now_us={})", self.0.now_us())
    }
}

fn time(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    let now_us = whole(value, name, "must be a whole number from 0 to 2^53")?;
    showable(now_us).map_err(|error| exception(value.py(), &error))
}
