//! Rules in the forms that Python has for them.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyList, PyString, PyTuple};
use sluicegate::Rules;

use crate::arguments::{text, wrong_type};
use crate::errors::{exception, invalid_rule};

/// What JSON text begins with, comments included, and no path does.
const JSON: [&str; 4] = ["[", "{", "//", "/*"];

/// Rules from JSON text, a path, or what JSON would be made from.
pub(crate) fn read(rules: &Bound<'_, PyAny>) -> PyResult<Rules> {
    let py = rules.py();
    let read = if rules.is_instance_of::<PyList>()
        || rules.is_instance_of::<PyTuple>()
        || rules.is_instance_of::<PyDict>()
    {
        Rules::from_json(&to_json(rules)?)
    } else if rules.is_instance_of::<PyString>() {
        let given = text(rules, "rules")?;
        let begins = given.trim_start();
        if JSON.iter().any(|mark| begins.starts_with(mark)) {
            Rules::from_json(given)
        } else {
            Rules::from_file(given)
        }
    } else if let Ok(path) = rules.extract::<PathBuf>() {
        Rules::from_file(path)
    } else {
        return Err(wrong_type("rules", "a path, JSON text or a list of dict", rules));
    };
    read.map_err(|error| exception(py, &error))
}

fn to_json(rules: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = rules.py();
    let strict = [("allow_nan", false)].into_py_dict(py)?;
    let json = py.import("json")?.call_method("dumps", (rules,), Some(&strict)).map_err(|error| {
        if error.is_instance_of::<PyValueError>(py) {
            invalid_rule(py, &error.value(py).to_string())
        } else {
            error
        }
    })?;
    json.extract()
}
