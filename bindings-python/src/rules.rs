//! Rules in the forms that Python has for them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use sluicegate::Rules;
use sluicegate::sources::{FileSource, RuleSource, named};

use crate::arguments::{text, wrong_type};
use crate::errors::{exception, invalid_rule, of_wrong_type};

/// Deeper than this, no rule has anything.
const DEPTH: usize = 16;

/// Rules from JSON text, a path, the address of a ZooKeeper, or what JSON would be made from.
pub(crate) fn source(rules: &Bound<'_, PyAny>) -> PyResult<Arc<dyn RuleSource>> {
    let py = rules.py();
    let read: sluicegate::Result<Arc<dyn RuleSource>> = if is_data(rules) {
        Ok(Arc::new(of_data(rules)?))
    } else if rules.is_instance_of::<PyString>() {
        named(text(rules, "rules")?)
    } else if let Ok(path) = rules.extract::<PathBuf>() {
        Ok(Arc::new(FileSource::new(path)))
    } else {
        return Err(wrong_type("rules", "a path, JSON text or a list of dict", rules));
    };
    read.map_err(|error| exception(py, &error))
}

/// Rules from JSON text, or what JSON would be made from.
pub(crate) fn stated(rules: &Bound<'_, PyAny>) -> PyResult<Rules> {
    if is_data(rules) {
        return of_data(rules);
    }
    if !rules.is_instance_of::<PyString>() {
        return Err(wrong_type("rules", "JSON text or a list of dict", rules));
    }
    Rules::from_json(text(rules, "rules")?).map_err(|error| exception(rules.py(), &error))
}

/// Rules from what JSON would be made from.
fn of_data(rules: &Bound<'_, PyAny>) -> PyResult<Rules> {
    let read = |rules: &Bound<'_, PyAny>| {
        Rules::from_json(&to_json(rules)?).map_err(|error| exception(rules.py(), &error))
    };
    // Of a number that JSON lacks, what reads JSON could not say where it is.
    read(rules).map_err(|error| match readable(rules, DEPTH).and_then(|rules| read(&rules)) {
        Err(better) if better.is_instance_of::<PyTypeError>(rules.py()) => error,
        Err(better) => better,
        Ok(_) => error,
    })
}

/// The same data, with texts for numbers that are none or too large.
fn readable<'py>(data: &Bound<'py, PyAny>, depth: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = data.py();
    if depth == 0 {
        return Ok(data.clone());
    }
    if let Ok(fields) = data.cast::<PyDict>() {
        let copy = PyDict::new(py);
        for (name, value) in fields {
            copy.set_item(name, readable(&value, depth - 1)?)?;
        }
        return Ok(copy.into_any());
    }
    if data.is_instance_of::<PyList>() || data.is_instance_of::<PyTuple>() {
        let values: PyResult<Vec<_>> = data.try_iter()?.map(|value| readable(&value?, depth - 1)).collect();
        return Ok(PyList::new(py, values?)?.into_any());
    }
    let is_number = data.is_instance_of::<PyFloat>() || data.is_instance_of::<PyInt>();
    if !is_number || data.is_instance_of::<PyBool>() || data.extract::<f64>().is_ok_and(f64::is_finite) {
        return Ok(data.clone());
    }
    // Python writes no number of more than some thousand digits.
    let written = data.str().unwrap_or_else(|_| PyString::new(py, "an integer of thousands of digits"));
    Ok(written.into_any())
}

fn is_data(rules: &Bound<'_, PyAny>) -> bool {
    rules.is_instance_of::<PyList>() || rules.is_instance_of::<PyTuple>() || rules.is_instance_of::<PyDict>()
}

fn to_json(rules: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = rules.py();
    let strict = [("allow_nan", false)].into_py_dict(py)?;
    let json = py.import("json")?.call_method("dumps", (rules,), Some(&strict)).map_err(|error| {
        let what = format!("rules: {}", error.value(py));
        if error.is_instance_of::<PyValueError>(py) {
            invalid_rule(py, &what)
        } else if error.is_instance_of::<PyTypeError>(py) {
            of_wrong_type(py, &what)
        } else {
            error
        }
    })?;
    json.extract()
}

/// Rules as lists, dicts, texts and numbers.
pub(crate) fn data<'py>(py: Python<'py>, rules: &sluicegate::Rules) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (rules.to_json(),))
}
