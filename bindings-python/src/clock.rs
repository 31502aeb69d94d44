//! The clock for tests.

use pyo3::prelude::*;

use crate::arguments::{Amount, span};

/// A clock that stands still until it is told to move, for testing limits without waiting.
///
/// With it a limiter on Redis passes the time to its scripts instead of using the server's.
#[pyclass(module = "sluicegate", frozen)]
pub(crate) struct ManualClock(pub(crate) sluicegate::ManualClock);

#[pymethods]
impl ManualClock {
    #[new]
    #[pyo3(signature = (now_us=Amount(0)), text_signature = "(now_us=0)")]
    fn new(now_us: Amount) -> Self {
        Self(sluicegate::ManualClock::new(now_us.0))
    }

    /// Moves the clock forward, to the nearest microsecond.
    fn advance(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        // Rounded, because 0.3 s is a little less than 300,000 microseconds in binary.
        self.0.advance(span(py, (seconds * 1e6).round(), "seconds")? / 1_000_000);
        Ok(())
    }

    /// Sets the clock, also backwards: how a server's clock looks after a failover.
    fn set(&self, now_us: Amount) {
        self.0.set_us(now_us.0);
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
