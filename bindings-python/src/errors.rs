//! Errors of the limiter as exceptions.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyString};
use sluicegate::{Error, ErrorKind};

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    new(py, error.kind(), error.message(), error.is_retryable())
}

/// For what only Python can get wrong.
pub(crate) fn invalid_argument(py: Python<'_>, message: &str) -> PyErr {
    new(py, ErrorKind::InvalidArgument, message, false)
}

/// For rules that cannot even be made into JSON.
pub(crate) fn invalid_rule(py: Python<'_>, message: &str) -> PyErr {
    new(py, ErrorKind::InvalidRule, message, false)
}

/// For calls that a closed limiter still had under way, and those that come later.
pub(crate) fn closed(py: Python<'_>) -> PyErr {
    new(py, ErrorKind::Closed, "the limiter is closed", false)
}

fn new(py: Python<'_>, kind: ErrorKind, message: &str, retryable: bool) -> PyErr {
    let build = || {
        let class = py.import(intern!(py, "sluicegate.errors"))?.getattr(class(py, kind))?;
        class.call((message,), Some(&[("retryable", retryable)].into_py_dict(py)?))
    };
    build().map_or_else(|failure: PyErr| failure, PyErr::from_value)
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
        // Kinds may be added; whoever catches the base class is served then, too.
        _ => intern!(py, "SluicegateError"),
    }
}
