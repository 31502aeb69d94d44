//! The library's warnings, such as of rules that were refused while they are followed, for Python's `logging`.

use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use sluicegate::bridge::{end_background_log, log_in_background};

/// What is not written in this time after the program's end is lost.
const LAST_WORDS: Duration = Duration::from_secs(1);

static LOGGER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Begins to log. Whoever warns may hold the lock of the interpreter, or others that Python's threads wait for; so another
/// thread calls Python.
pub(crate) fn begin(py: Python<'_>) -> PyResult<()> {
    LOGGER.get_or_try_init(py, || {
        py.import("logging")?.call_method1("getLogger", ("sluicegate",)).map(Bound::unbind)
    })?;
    resume();
    // Registered after what `logging` does at the end, and so done before. No thread may run Python after it: the end of
    // the interpreter would unwind it, through frames that cannot be unwound.
    let end = wrap_pyfunction!(end_logging, py)?;
    py.import("atexit")?.call_method1("register", (end,)).map(drop)
}

/// Logs from now on.
pub(crate) fn resume() {
    log_in_background(warn);
}

fn warn(message: &str) {
    // Not while the interpreter ends.
    Python::try_attach(|py| {
        let Some(logger) = LOGGER.get(py) else { return };
        let logger = logger.bind(py);
        if let Err(error) = logger.call_method1(intern!(py, "warning"), ("%s", message)) {
            error.write_unraisable(py, Some(logger));
        }
    });
}

#[pyfunction]
fn end_logging(py: Python<'_>) {
    py.detach(|| end_background_log(LAST_WORDS));
}
