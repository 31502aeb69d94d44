//! The library's events, such as that rules were refused while they are followed, for Python's `logging`.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use sluicegate::bridge::{LogLine, end_background_log, log_in_background};

/// What is not written in this time after the program's end is lost.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Levels of `logging`.
const WARNING: u8 = 30;
const INFO: u8 = 20;
const DEBUG: u8 = 10;

/// Has a thread of Python write a line.
static HAND_ON: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Begins to log. Whoever warns may hold the lock of the interpreter, or others that Python's threads wait for; so another
/// thread calls Python, for a moment: handlers run on one of Python's.
pub(crate) fn begin(py: Python<'_>) -> PyResult<()> {
    HAND_ON.get_or_try_init(py, || py.import("sluicegate._events")?.getattr("hand_on").map(Bound::unbind))?;
    resume();
    // Registered after what `logging` does at the end, and so done before. No thread of Rust may run Python after it: the end of
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
    let level = match (line.is_warning, line.is_debug) {
        (true, _) => WARNING,
        (false, true) => DEBUG,
        (false, false) => INFO,
    };
    // Not while the interpreter ends.
    Python::try_attach(|py| {
        let Some(hand_on) = HAND_ON.get(py) else { return };
        if let Err(error) = hand_on.call1(py, (level, &line.message, &line.event)) {
            error.write_unraisable(py, None);
        }
    });
}

#[pyfunction]
fn end_logging(py: Python<'_>) -> PyResult<()> {
    py.detach(|| end_background_log(LAST_WORDS));
    py.import("sluicegate._events")?.call_method1("finish", (LAST_WORDS.as_secs_f64(),)).map(drop)
}
