//! One item of a `check_all`.

use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sluicegate::bridge::Item;

use crate::arguments::{Given, Key, Object, Optional, Resource, instances, requested};

/// One item of a `check_all`: a rule, a key, and how much to admit.
#[pyclass(module = "sluicegate", frozen, eq, hash)]
#[derive(PartialEq, Eq)]
pub(crate) struct Check(pub(crate) Item);

#[pymethods]
impl Check {
    #[new]
    #[pyo3(
        signature = (rule, key, *, cost=Given(None), resource=None, limit=None, timeout=None),
        text_signature = "(rule, key, *, cost=1, resource=None, limit=None, timeout=None)"
    )]
    fn new(
        rule: &Object<'_>,
        key: Key<'_>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Self> {
        requested(rule, &key, &cost, resource.as_ref(), limit, timeout, None)
            .map(|check| Self(Item::from(&check)))
    }

    #[getter]
    fn rule(&self) -> &str {
        &self.0.rule
    }

    #[getter]
    fn key(&self) -> &str {
        &self.0.key
    }

    #[getter]
    fn cost(&self) -> u64 {
        self.0.cost
    }

    #[getter]
    fn resource(&self) -> Option<&str> {
        self.0.resource.as_deref()
    }

    #[getter]
    fn limit(&self) -> Option<u64> {
        self.0.limit
    }

    #[getter]
    fn timeout(&self) -> Option<f64> {
        self.0.timeout.map(|timeout| timeout.as_secs_f64())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let Item { cost, limit, .. } = slf.get().0;
        let mut text = format!("Check({}, {}", slf.getattr("rule")?.repr()?, slf.getattr("key")?.repr()?);
        if cost != 1 {
            text += &format!(", cost={cost}");
        }
        if slf.get().0.resource.is_some() {
            text += &format!(", resource={}", slf.getattr("resource")?.repr()?);
        }
        if let Some(limit) = limit {
            text += &format!(", limit={limit}");
        }
        if slf.get().0.timeout.is_some() {
            text += &format!(", timeout={}", slf.getattr("timeout")?.repr()?);
        }
        Ok(text + ")")
    }

    /// For `pickle` and `copy`.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let options = PyDict::new(py);
        options.set_item("cost", self.0.cost)?;
        options.set_item("resource", self.0.resource.as_deref())?;
        options.set_item("limit", self.0.limit)?;
        options.set_item("timeout", self.timeout())?;
        Ok(((self.0.rule.as_str(), self.0.key.as_str()).into_pyobject(py)?, options))
    }
}

impl Hash for Check {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Item { rule, key, cost, resource, limit, timeout, .. } = &self.0;
        (rule, key, cost, resource, limit, timeout).hash(state);
    }
}

/// The items of a `check_all`.
pub(crate) fn items<'py>(checks: &Object<'py>) -> PyResult<Vec<Bound<'py, Check>>> {
    instances(checks, "checks", "Check")
}

/// The same, as a limiter takes them.
pub(crate) fn borrowed<'a>(items: &'a [Bound<'_, Check>]) -> Vec<sluicegate::Check<'a>> {
    items.iter().map(|item| item.get().0.check()).collect()
}

/// The same, with texts of their own.
pub(crate) fn owned(checks: &Object<'_>) -> PyResult<Vec<Item>> {
    Ok(items(checks)?.iter().map(|item| item.get().0.clone()).collect())
}
