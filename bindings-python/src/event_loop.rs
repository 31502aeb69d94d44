//! The asyncio event loop that a limiter belongs to.

use std::thread::{self, ThreadId};

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

/// A loop, with what every call needs of it at hand.
pub(crate) struct EventLoop {
    itself: Py<PyAny>,
    create_future: Py<PyAny>,
    call_soon: Py<PyAny>,
    get_running_loop: Py<PyAny>,
    thread: ThreadId,
}

impl EventLoop {
    /// The loop that runs on this thread.
    pub(crate) fn running(py: Python<'_>) -> PyResult<Self> {
        let get_running_loop = py.import("asyncio")?.getattr("get_running_loop")?;
        let itself = get_running_loop.call0()?;
        Ok(Self {
            create_future: itself.getattr("create_future")?.unbind(),
            call_soon: itself.getattr("call_soon")?.unbind(),
            get_running_loop: get_running_loop.unbind(),
            itself: itself.unbind(),
            thread: thread::current().id(),
        })
    }

    pub(crate) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.itself.bind(py)
    }

    /// Nothing of a loop may be used while another one, or none, runs on this thread.
    pub(crate) fn ensure_running(&self, py: Python<'_>) -> PyResult<()> {
        if self.get_running_loop.call0(py)?.is(&self.itself) {
            return Ok(());
        }
        Err(elsewhere())
    }

    /// A cheaper look, enough where the loop is known to have run since: a task of another loop on the same
    /// thread cannot await this one's futures.
    pub(crate) fn ensure_thread(&self) -> PyResult<()> {
        if thread::current().id() == self.thread { Ok(()) } else { Err(elsewhere()) }
    }

    pub(crate) fn is_closed(&self, py: Python<'_>) -> PyResult<bool> {
        self.bind(py).call_method0(intern!(py, "is_closed"))?.extract()
    }

    pub(crate) fn create_future<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.create_future.bind(py).call0()
    }

    pub(crate) fn call_soon(&self, py: Python<'_>, callback: &Bound<'_, PyAny>) -> PyResult<()> {
        self.call_soon.call1(py, (callback,)).map(drop)
    }

    pub(crate) fn call_soon_threadsafe(&self, callback: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = callback.py();
        self.bind(py).call_method1(intern!(py, "call_soon_threadsafe"), (callback,)).map(drop)
    }

    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        for object in [&self.itself, &self.create_future, &self.call_soon, &self.get_running_loop] {
            visit.call(object)?;
        }
        Ok(())
    }
}

fn elsewhere() -> PyErr {
    PyRuntimeError::new_err("the limiter belongs to another event loop; connect one in each loop")
}

/// Ends a future, unless whoever waited has given up.
pub(crate) fn settle(future: &Bound<'_, PyAny>, result: PyResult<Bound<'_, PyAny>>) -> PyResult<()> {
    let py = future.py();
    if future.call_method0(intern!(py, "done"))?.is_truthy()? {
        return Ok(());
    }
    match result {
        Ok(value) => future.call_method1(intern!(py, "set_result"), (value,))?,
        Err(error) => future.call_method1(intern!(py, "set_exception"), (error,))?,
    };
    Ok(())
}
