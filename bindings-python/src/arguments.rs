//! What Python passes, made into what the limiter accepts. A wrong type is a `TypeError` that names the
//! argument, by pyo3; what is out of range is clamped to what the limiter refuses, so that its message
//! is the same in every language.

use std::time::Duration;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use sluicegate::CheckOptions;

use crate::errors::invalid_argument;

/// A cost, a limit or a size. Negative numbers become 0, and those beyond 64 bits the largest there is:
/// the limiter refuses both.
#[derive(Clone, Copy)]
pub(crate) struct Amount(pub(crate) u64);

impl<'py> FromPyObject<'_, 'py> for Amount {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.extract::<u64>() {
            Ok(amount) => Ok(Self(amount)),
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                Ok(Self(if value.lt(0)? { 0 } else { u64::MAX }))
            }
            Err(error) => Err(error),
        }
    }
}

/// Text in UTF-8, which a `str` with a lone surrogate has none of.
pub(crate) fn text<'a>(value: &'a Bound<'_, PyString>, name: &str) -> PyResult<&'a str> {
    value.to_str().map_err(|_| invalid_argument(value.py(), &format!("{name} is not UTF-8")))
}

/// The options of one check.
pub(crate) fn options<'a>(
    cost: Amount,
    resource: Option<&'a Bound<'_, PyString>>,
    limit: Option<Amount>,
) -> PyResult<CheckOptions<'a>> {
    let mut options = CheckOptions::new().cost(cost.0);
    options.resource = resource.map(|resource| text(resource, "resource")).transpose()?;
    options.limit = limit.map(|limit| limit.0);
    Ok(options)
}

/// How long to open a connection or to wait for an answer.
pub(crate) fn timeout(seconds: f64) -> Duration {
    let refused = if seconds > 0.0 { Duration::MAX } else { Duration::ZERO };
    Duration::try_from_secs_f64(seconds).unwrap_or(refused)
}

/// A span that may be as long as one likes, infinity included.
pub(crate) fn span(py: Python<'_>, seconds: f64, name: &str) -> PyResult<Duration> {
    if seconds >= 0.0 {
        return Ok(timeout(seconds));
    }
    Err(invalid_argument(py, &format!("{name} must be 0 seconds or more")))
}

/// A `TypeError` worded like those of pyo3.
pub(crate) fn wrong_type(name: &str, expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let class = value.get_type();
    let got = class.name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("argument '{name}': expected {expected}, not '{got}'"))
}
