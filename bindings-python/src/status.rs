//! The status of the rules in force.

use std::time::SystemTime;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sluicegate::sources;

use crate::representation::representation;

/// The rules in force: which, since when, and what was refused.
#[pyclass(module = "sluicegate", frozen, eq)]
#[derive(PartialEq, Eq)]
pub(crate) struct RulesStatus(pub(crate) sources::RulesStatus);

#[pymethods]
impl RulesStatus {
    /// Where the rules come from, without passwords; `fixed` for rules that never change.
    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    /// Identifies the rules in force.
    #[getter]
    fn version(&self) -> &str {
        &self.0.version
    }

    /// How many rules are in force.
    #[getter]
    fn rules(&self) -> usize {
        self.0.rules
    }

    /// When the rules in force were loaded, in UTC.
    #[getter]
    fn loaded_at(&self) -> SystemTime {
        self.0.loaded_at
    }

    /// How often rules took effect, those of the start included.
    #[getter]
    fn updates(&self) -> u64 {
        self.0.updates
    }

    /// How many updates were refused since the start.
    #[getter]
    fn refusals(&self) -> u64 {
        self.0.refusals
    }

    /// What is refused at present; its last good version, if there is one, is in force instead.
    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let refusal = |refusal: &sources::Refusal| Refusal {
            unit: refusal.unit.clone(),
            reason: refusal.reason.clone(),
        };
        PyTuple::new(py, self.0.refused.iter().map(refusal))
    }

    /// Whether the source could be read the last time. Changes go unnoticed as long as it cannot.
    #[getter]
    fn reachable(&self) -> bool {
        self.0.reachable
    }

    /// Whether the rules are the copy of the cache, as the source could not be read yet.
    #[getter]
    fn cached(&self) -> bool {
        self.0.cached
    }

    /// What last went wrong, even if it is well again.
    #[getter]
    fn last_error(&self) -> Option<&str> {
        self.0.last_error.as_deref()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = PyDict::new(py);
        fields.set_item("source", self.source())?;
        fields.set_item("version", self.version())?;
        fields.set_item("rules", self.rules())?;
        fields.set_item("loaded_at", self.loaded_at())?;
        fields.set_item("updates", self.updates())?;
        fields.set_item("refusals", self.refusals())?;
        fields.set_item("refused", self.refused(py)?)?;
        fields.set_item("reachable", self.reachable())?;
        fields.set_item("cached", self.cached())?;
        fields.set_item("last_error", self.last_error())?;
        representation("RulesStatus", &fields)
    }
}

/// A unit of a source that is not in force as it stands there.
#[pyclass(module = "sluicegate", frozen, get_all, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Refusal {
    /// The name of the rule, or of the source where that is updated as a whole.
    unit: String,
    /// Why.
    reason: String,
}

#[pymethods]
impl Refusal {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = PyDict::new(py);
        fields.set_item("unit", &self.unit)?;
        fields.set_item("reason", &self.reason)?;
        representation("Refusal", &fields)
    }
}
