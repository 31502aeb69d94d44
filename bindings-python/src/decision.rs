//! The answer to a check.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::invalid_argument;

/// A time that does not come.
const NEVER: u64 = u64::MAX;

/// Whether a cost is admitted, and what the caller may want to tell the one who asked.
///
/// True or false like `allowed`. A denial is a decision too, never an exception.
#[pyclass(module = "sluicegate", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Decision {
    /// Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow.
    #[pyo3(get)]
    allowed: bool,
    /// True when a rule in shadow would have denied.
    #[pyo3(get)]
    shadow_denied: bool,
    source: &'static str,
    rule: Arc<str>,
    /// The most that the deciding limit admits at once from a key never seen, in units of cost.
    #[pyo3(get)]
    limit: u64,
    /// The most cost that would still be admitted now.
    #[pyo3(get)]
    remaining: u64,
    retry_after_us: u64,
    reset_after_us: u64,
    parts: Vec<Decision>,
}

#[pymethods]
impl Decision {
    #[new]
    #[pyo3(
        signature = (
            *, allowed, rule, limit, remaining, retry_after=0.0, reset_after=0.0, shadow_denied=false,
            source="embedded", parts=Vec::new()
        ),
        text_signature = "(*, allowed, rule, limit, remaining, retry_after=0.0, reset_after=0.0, \
            shadow_denied=False, source='embedded', parts=())"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        allowed: bool,
        rule: &str,
        limit: u64,
        remaining: u64,
        retry_after: f64,
        reset_after: f64,
        shadow_denied: bool,
        source: &str,
        parts: Vec<PyRef<'_, Self>>,
    ) -> PyResult<Self> {
        Ok(Self {
            allowed,
            shadow_denied,
            source: known_source(py, source)?,
            rule: rule.into(),
            limit,
            remaining,
            retry_after_us: from_seconds(py, retry_after, "retry_after")?,
            reset_after_us: from_seconds(py, reset_after, "reset_after")?,
            parts: parts.iter().map(|part| Self::clone(part)).collect(),
        })
    }

    /// The rule that decided: when denied, the one that makes the caller wait the longest.
    #[getter]
    fn rule(&self) -> &str {
        &self.rule
    }

    /// Seconds after which the same cost would be admitted if nobody else came: 0.0 when it fits,
    /// `math.inf` when it never can.
    #[getter]
    fn retry_after(&self) -> f64 {
        to_seconds(self.retry_after_us)
    }

    /// Seconds until the key is as if never seen.
    #[getter]
    fn reset_after(&self) -> f64 {
        to_seconds(self.reset_after_us)
    }

    /// Who decided: `"server"`, or `"embedded"` for the engine inside the process.
    #[getter]
    fn source(&self) -> &'static str {
        self.source
    }

    /// One decision per item of a `check_all`, in order; empty otherwise.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.parts.iter().cloned())
    }

    fn __bool__(&self) -> bool {
        self.allowed
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let fields = slf.get().fields(slf.py())?;
        let field = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<String> {
            Ok(format!("{name}={}", value.repr()?))
        };
        Ok(format!("Decision({})", fields.iter().map(field).collect::<PyResult<Vec<_>>>()?.join(", ")))
    }

    /// For `pickle` and `copy`.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        Ok((PyTuple::empty(py), self.fields(py)?))
    }
}

impl Decision {
    /// The keyword arguments that make the same decision.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("allowed", self.allowed)?;
        fields.set_item("rule", self.rule())?;
        fields.set_item("limit", self.limit)?;
        fields.set_item("remaining", self.remaining)?;
        fields.set_item("retry_after", self.retry_after())?;
        fields.set_item("reset_after", self.reset_after())?;
        fields.set_item("shadow_denied", self.shadow_denied)?;
        fields.set_item("source", self.source)?;
        if !self.parts.is_empty() {
            fields.set_item("parts", self.parts(py)?)?;
        }
        Ok(fields)
    }
}

impl From<sluicegate::Decision> for Decision {
    fn from(decision: sluicegate::Decision) -> Self {
        Self {
            allowed: decision.allowed,
            shadow_denied: decision.shadow_denied,
            source: decision.source.name(),
            rule: decision.rule,
            limit: decision.limit,
            remaining: decision.remaining,
            retry_after_us: micros(decision.retry_after),
            reset_after_us: micros(decision.reset_after),
            parts: decision.parts.into_iter().map(Self::from).collect(),
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(NEVER)
}

/// One division, so that the result is the double nearest to the microseconds.
fn to_seconds(us: u64) -> f64 {
    if us == NEVER { f64::INFINITY } else { us as f64 / 1e6 }
}

fn from_seconds(py: Python<'_>, seconds: f64, name: &str) -> PyResult<u64> {
    if seconds >= 0.0 {
        // Infinity becomes the largest number, which is NEVER.
        return Ok((seconds * 1e6).round() as u64);
    }
    Err(invalid_argument(py, &format!("{name} must be 0 or more")))
}

fn known_source(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    let sources = [sluicegate::Source::Server, sluicegate::Source::Embedded].map(sluicegate::Source::name);
    let known = sources.into_iter().find(|source| *source == name);
    known.ok_or_else(|| invalid_argument(py, "source must be \"server\" or \"embedded\""))
}
