//! What a limiter has counted, as plain values. Made without a call of Python code, which a thread of an interpreter that ends
//! must not be in.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;
use sluicegate::metrics::Metrics;

use crate::arguments::Object;

pub(crate) fn plain<'py>(py: Python<'py>, metrics: &Metrics) -> PyResult<Object<'py>> {
    let value = serde_json::from_str(&metrics.to_json());
    of(py, &value.map_err(|error| PyValueError::new_err(error.to_string()))?)
}

fn of<'py>(py: Python<'py>, value: &Value) -> PyResult<Object<'py>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => value.into_bound_py_any(py),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => whole.into_bound_py_any(py),
            None => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let list = PyList::empty(py);
            values.iter().try_for_each(|value| list.append(of(py, value)?))?;
            Ok(list.into_any())
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            fields.iter().try_for_each(|(name, value)| dict.set_item(name, of(py, value)?))?;
            Ok(dict.into_any())
        }
    }
}
