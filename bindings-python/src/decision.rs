//! The answer to a check.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sluicegate::{HeaderStyle, Source};

use crate::arguments::{Given, text, whole};
use crate::errors::{exception, invalid_argument};
use crate::representation::representation;

/// Whether a cost is admitted, and what the caller may want to tell the one who asked.
///
/// True or false like `allowed`. A denial is a decision too, never an exception.
#[pyclass(module = "sluicegate", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Decision(sluicegate::Decision);

#[pymethods]
impl Decision {
    #[new]
    #[pyo3(
        signature = (
            *, allowed, rule, limit, remaining, retry_after=0.0, reset_after=0.0, shadow_denied=false,
            source="embedded", parts=Vec::new(), window=0.0, shadow=false
        ),
        text_signature = "(*, allowed, rule, limit, remaining, retry_after=0.0, reset_after=0.0, \
            shadow_denied=False, source='embedded', parts=(), window=0.0, shadow=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        allowed: bool,
        rule: &str,
        limit: &Bound<'_, PyAny>,
        remaining: &Bound<'_, PyAny>,
        retry_after: f64,
        reset_after: f64,
        shadow_denied: bool,
        source: &str,
        parts: Vec<PyRef<'_, Self>>,
        window: f64,
        shadow: bool,
    ) -> PyResult<Self> {
        let mut decision = sluicegate::Decision::blank();
        decision.allowed = allowed;
        decision.rule = rule.into();
        decision.limit = units(limit, "limit")?;
        decision.window = from_seconds(py, window, "window")?;
        decision.remaining = units(remaining, "remaining")?;
        decision.retry_after = from_seconds(py, retry_after, "retry_after")?;
        decision.reset_after = from_seconds(py, reset_after, "reset_after")?;
        decision.shadow_denied = shadow_denied;
        decision.shadow = shadow;
        decision.source = known_source(py, source)?;
        decision.parts = parts.iter().map(|part| part.0.clone()).collect();
        Ok(Self(decision))
    }

    /// Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow.
    #[getter]
    fn allowed(&self) -> bool {
        self.0.allowed
    }

    /// The rule that decided: when denied, the one that makes the caller wait the longest. Empty when no rule
    /// applied to a request.
    #[getter]
    fn rule(&self) -> &str {
        &self.0.rule
    }

    /// Whether any rule applied. Only a request can find that none does; it is admitted.
    #[getter]
    fn rule_applied(&self) -> bool {
        self.0.rule_applied()
    }

    /// The most that the deciding limit admits at once from a key never seen, in units of cost.
    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Seconds in which `limit` is admitted anew, over and over; 0.0 for `decay`, which has no window.
    #[getter]
    fn window(&self) -> f64 {
        to_seconds(self.0.window)
    }

    /// The most cost that would still be admitted now.
    #[getter]
    fn remaining(&self) -> u64 {
        self.0.remaining
    }

    /// Seconds after which the same cost would be admitted if nobody else came: 0.0 when it fits,
    /// `math.inf` when it never can.
    #[getter]
    fn retry_after(&self) -> f64 {
        to_seconds(self.0.retry_after)
    }

    /// Seconds until the key is as if never seen.
    #[getter]
    fn reset_after(&self) -> f64 {
        to_seconds(self.0.reset_after)
    }

    /// True when a rule in shadow would have denied.
    #[getter]
    fn shadow_denied(&self) -> bool {
        self.0.shadow_denied
    }

    /// Whether nothing but rules in shadow decided.
    #[getter]
    fn shadow(&self) -> bool {
        self.0.shadow
    }

    /// Who decided: `"server"`, or `"embedded"` for the engine inside the process.
    #[getter]
    fn source(&self) -> &'static str {
        self.0.source.name()
    }

    /// One decision per item of a `check_all`, in order; empty otherwise.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.parts.iter().cloned().map(Self))
    }

    /// The headers of the answer to an HTTP request, as names and values: `"ietf"` (`RateLimit-Policy` and
    /// `RateLimit`, with all rules that were applied) or `"x-ratelimit"` (`X-RateLimit-Limit`, `-Remaining`
    /// and `-Reset` of the one that decided). A denial adds `Retry-After`, unless the cost never fits.
    #[pyo3(signature = (style=Given(None)), text_signature = "($self, style='ietf')")]
    fn headers(&self, py: Python<'_>, style: Given<'_>) -> PyResult<Vec<(&'static str, String)>> {
        let style = style.or(HeaderStyle::Ietf, "style", |style, name| {
            text(style, name)?.parse().map_err(|error| exception(py, &error))
        })?;
        Ok(self.0.headers(style))
    }

    fn __bool__(&self) -> bool {
        self.0.allowed
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        representation("Decision", &slf.get().fields(slf.py())?)
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
        fields.set_item("allowed", self.allowed())?;
        fields.set_item("rule", self.rule())?;
        fields.set_item("limit", self.limit())?;
        fields.set_item("window", self.window())?;
        fields.set_item("remaining", self.remaining())?;
        fields.set_item("retry_after", self.retry_after())?;
        fields.set_item("reset_after", self.reset_after())?;
        fields.set_item("shadow_denied", self.shadow_denied())?;
        fields.set_item("shadow", self.shadow())?;
        fields.set_item("source", self.source())?;
        if !self.0.parts.is_empty() {
            fields.set_item("parts", self.parts(py)?)?;
        }
        Ok(fields)
    }
}

impl From<sluicegate::Decision> for Decision {
    fn from(decision: sluicegate::Decision) -> Self {
        Self(decision)
    }
}

impl Hash for Decision {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self(decision) = self;
        (decision.allowed, &decision.rule, decision.limit, decision.remaining).hash(state);
        (decision.retry_after, decision.reset_after).hash(state);
    }
}

fn units(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    whole(value, name, "must be a whole number, at least 0 and below 2^64")
}

/// One division, so that the result is the double nearest to the microseconds.
fn to_seconds(span: Duration) -> f64 {
    if span == Duration::MAX { f64::INFINITY } else { span.as_micros() as f64 / 1e6 }
}

fn from_seconds(py: Python<'_>, seconds: f64, name: &str) -> PyResult<Duration> {
    if seconds.is_infinite() && seconds > 0.0 {
        return Ok(Duration::MAX);
    }
    if seconds >= 0.0 {
        return Ok(Duration::from_micros((seconds * 1e6).round() as u64));
    }
    Err(invalid_argument(py, &format!("{name} must be 0 or more")))
}

fn known_source(py: Python<'_>, name: &str) -> PyResult<Source> {
    let known = [Source::Server, Source::Embedded].into_iter().find(|source| source.name() == name);
    known.ok_or_else(|| invalid_argument(py, "source must be \"server\" or \"embedded\""))
}
