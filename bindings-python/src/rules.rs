//! Rules in the forms that Python has for them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyList, PyString, PyTuple};
use sluicegate::Rules;
use sluicegate::sources::{FileSource, RuleSource, named};

use crate::arguments::{text, wrong_type};
use crate::errors::{exception, invalid_rule, of_wrong_type};

/// Rules from JSON text, a path, the address of a ZooKeeper, or what JSON would be made from.
pub(crate) fn source(rules: &Bound<'_, PyAny>) -> PyResult<Arc<dyn RuleSource>> {
    let py = rules.py();
    let read: sluicegate::Result<Arc<dyn RuleSource>> = if is_data(rules) {
        Rules::from_json(&to_json(rules)?).map(|rules| Arc::new(rules) as _)
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
    let json = if is_data(rules) {
        to_json(rules)?
    } else if rules.is_instance_of::<PyString>() {
        text(rules, "rules")?.to_owned()
    } else {
        return Err(wrong_type("rules", "JSON text or a list of dict", rules));
    };
    Rules::from_json(&json).map_err(|error| exception(rules.py(), &error))
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
