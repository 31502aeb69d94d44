//! The library's events, such as that rules were refused while they are followed, for Python's `logging`.

use std::time::Duration;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use sluicegate::bridge::{LogLine, end_background_log, log_in_background};

/// What is not written in this time after the program's end is lost.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Levels of `logging`.
const WARNING: u8 = 30;
const INFO: u8 = 20;
const DEBUG: u8 = 10;

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
    log_in_background(write);
}

/// By its level, with the name of the event as an attribute of the record.
fn write(line: &LogLine) {
    // Not while the interpreter ends.
    Python::try_attach(|py| {
        let Some(logger) = LOGGER.get(py) else { return };
        let logger = logger.bind(py);
        if let Err(error) = log(logger, line) {
            error.write_unraisable(py, Some(logger));
        }
    });
}

fn log(logger: &Bound<'_, PyAny>, line: &LogLine) -> PyResult<()> {
    let (py, extra, named) = (logger.py(), PyDict::new(logger.py()), PyDict::new(logger.py()));
    extra.set_item(intern!(py, "event"), &line.event)?;
    named.set_item(intern!(py, "extra"), extra)?;
    let level = match (line.is_warning, line.is_debug) {
        (true, _) => WARNING,
        (false, true) => DEBUG,
        (false, false) => INFO,
    };
    logger.call_method(intern!(py, "log"), (level, "%s", &line.message), Some(&named)).map(drop)
}

#[pyfunction]
fn end_logging(py: Python<'_>) {
    py.detach(|| end_background_log(LAST_WORDS));
}
