//! Errors of the limiter as exceptions.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyModule, PyString};
use sluicegate::{Error, ErrorKind};

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    new(py, error.kind(), error.message(), error.is_retryable(), error.key())
}

/// For what only Python can get wrong.
pub(crate) fn invalid_argument(py: Python<'_>, message: &str) -> PyErr {
    new(py, ErrorKind::InvalidArgument, message, false, None)
}

/// For an argument of the wrong type: for who catches either, an error of the limiter, and a `TypeError`.
pub(crate) fn of_wrong_type(py: Python<'_>, message: &str) -> PyErr {
    build(py, intern!(py, "WrongTypeError"), message, false, None)
}

/// For rules that cannot even be made into JSON.
pub(crate) fn invalid_rule(py: Python<'_>, message: &str) -> PyErr {
    new(py, ErrorKind::InvalidRule, message, false, None)
}

/// For calls that a closed limiter still had under way, and those that come later.
pub(crate) fn closed(py: Python<'_>) -> PyErr {
    new(py, ErrorKind::Closed, "the limiter is closed", false, None)
}

fn new(py: Python<'_>, kind: ErrorKind, message: &str, retryable: bool, key: Option<&str>) -> PyErr {
    build(py, class(py, kind), message, retryable, key)
}

/// Made without the `__init__` of the class: native code of a daemon thread must not run Python code, see
/// `asynchronous`.
fn build(
    py: Python<'_>,
    class: &Bound<'_, PyString>,
    message: &str,
    retryable: bool,
    key: Option<&str>,
) -> PyErr {
    let build = || {
        let class = classes(py)?.getattr(class)?;
        let exception = class.call_method1(intern!(py, "__new__"), (&class, message))?;
        exception.setattr(intern!(py, "retryable"), retryable)?;
        exception.setattr(intern!(py, "key"), key)?;
        Ok(exception)
    };
    build().map_or_else(|failure: PyErr| failure, PyErr::from_value)
}

fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("sluicegate.errors").map(Bound::unbind))?;
    Ok(module.bind(py))
}

fn class(py: Python<'_>, kind: ErrorKind) -> &Bound<'_, PyString> {
    match kind {
        ErrorKind::InvalidRule => intern!(py, "InvalidRuleError"),
        ErrorKind::UnknownRule => intern!(py, "UnknownRuleError"),
        ErrorKind::InvalidArgument => intern!(py, "InvalidArgumentError"),
        ErrorKind::Connection => intern!(py, "ConnectionFailedError"),
        ErrorKind::Timeout => intern!(py, "ResponseTimeoutError"),
        ErrorKind::Server => intern!(py, "ServerError"),
        ErrorKind::Closed => intern!(py, "ClosedError"),
        // Kinds may be added; code that catches the base class handles them, too.
        _ => intern!(py, "SluicegateError"),
    }
}
