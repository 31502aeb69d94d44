//! What rules have to do with a request.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluicegate::{Explanation, RuleId};

use crate::errors::exception;
use crate::representation::representation;

/// A rule that applies to a request or, when all rules are explained, one that does not.
#[pyclass(module = "sluicegate", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct RequestMatch {
    rule_id: RuleId,
    /// Who is counted; `None` if the rule does not apply.
    #[pyo3(get)]
    key: Option<String>,
    /// The resource that is used, if the rule applies and limits one.
    #[pyo3(get)]
    resource: Option<String>,
    /// Whether the rule applies.
    #[pyo3(get)]
    matched: bool,
    /// The first condition that does not hold, beginning with the field that states it, or `every condition
    /// holds`; `None` if no explanation was asked for.
    #[pyo3(get)]
    reason: Option<String>,
}

#[pymethods]
impl RequestMatch {
    /// The rule's name.
    #[getter]
    fn rule_id(&self) -> &str {
        &self.rule_id
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fields = PyDict::new(py);
        fields.set_item("rule_id", self.rule_id())?;
        fields.set_item("key", &self.key)?;
        fields.set_item("resource", &self.resource)?;
        fields.set_item("matched", self.matched)?;
        fields.set_item("reason", &self.reason)?;
        representation("RequestMatch", &fields)
    }
}

impl From<sluicegate::RequestMatch> for RequestMatch {
    fn from(found: sluicegate::RequestMatch) -> Self {
        let sluicegate::RequestMatch { rule_id, key, resource, .. } = found;
        Self { rule_id, key: Some(key), resource, matched: true, reason: None }
    }
}

impl From<Explanation> for RequestMatch {
    fn from(explanation: Explanation) -> Self {
        let Explanation { rule_id, matched, key, resource, reason, .. } = explanation;
        Self { rule_id, key, resource, matched, reason: Some(reason) }
    }
}

/// What a limiter found.
pub(crate) fn listed<T: Into<RequestMatch>>(
    py: Python<'_>,
    found: sluicegate::Result<Vec<T>>,
) -> PyResult<Vec<RequestMatch>> {
    let found = found.map_err(|error| exception(py, &error))?;
    Ok(found.into_iter().map(Into::into).collect())
}
