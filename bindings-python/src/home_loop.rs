//! The event loop that a limiter belongs to.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Not a reference: the loop is kept by the limiter's part in Python, where the garbage collector sees the circle.
pub(crate) struct HomeLoop {
    address: usize,
    /// Of asyncio; it runs no Python code.
    running: Py<PyAny>,
}

impl HomeLoop {
    /// The loop that runs now.
    pub(crate) fn of_now(py: Python<'_>) -> PyResult<Self> {
        let running = py.import("asyncio")?.getattr("_get_running_loop")?;
        Ok(Self { address: address(&running)?, running: running.unbind() })
    }

    /// Fails while another loop runs, or none.
    pub(crate) fn ensure_runs(&self, py: Python<'_>) -> PyResult<()> {
        if address(self.running.bind(py))? == self.address {
            return Ok(());
        }
        let message = "the limiter belongs to another event loop; connect one in each loop";
        Err(PyRuntimeError::new_err(message))
    }
}

#[inline(always)]
fn address(running: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(running.call0()?.as_ptr().addr())
}
