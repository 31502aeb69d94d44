//! How objects show themselves.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `Name(field=value, ...)`
pub(crate) fn representation(name: &str, fields: &Bound<'_, PyDict>) -> PyResult<String> {
    let field = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<String> {
        Ok(format!("{name}={}", value.repr()?))
    };
    Ok(format!("{name}({})", fields.iter().map(field).collect::<PyResult<Vec<_>>>()?.join(", ")))
}
