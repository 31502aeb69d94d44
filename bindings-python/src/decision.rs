//! The answer to a check.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sluicegate::bridge::RawDecision;
use sluicegate::{HeaderStyle, Source};

use crate::arguments::{Given, flag, instances, span, text, whole};
use crate::errors::{exception, invalid_argument};
use crate::representation::representation;

/// So many of them cannot be distinguished from never.
const MICROSECONDS: f64 = u64::MAX as f64;

/// The result of a check: whether the cost is admitted, what is left, and when to retry.
///
/// True or false like `allowed`. A denial is a decision too, never an exception.
#[pyclass(module = "sluicegate", subclass, frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Decision(sluicegate::Decision);

#[pymethods]
impl Decision {
    #[new]
    #[pyo3(
        signature = (
            *, allowed, rule, limit, remaining, retry_after=Given(None), reset_after=Given(None),
            shadow_denied=Given(None), source=Given(None), parts=Given(None), window=Given(None),
            shadow=Given(None), blocked=Given(None), replicated=Given(None)
        ),
        text_signature = "(*, allowed, rule, limit, remaining, retry_after=0.0, reset_after=0.0, \
            shadow_denied=False, source='memory', parts=(), window=0.0, shadow=False, blocked=False, \
            replicated=False)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        allowed: &Bound<'_, PyAny>,
        rule: &Bound<'_, PyAny>,
        limit: &Bound<'_, PyAny>,
        remaining: &Bound<'_, PyAny>,
        retry_after: Given<'_>,
        reset_after: Given<'_>,
        shadow_denied: Given<'_>,
        source: Given<'_>,
        parts: Given<'_>,
        window: Given<'_>,
        shadow: Given<'_>,
        blocked: Given<'_>,
        replicated: Given<'_>,
    ) -> PyResult<Self> {
        let mut decision = sluicegate::Decision::blank();
        decision.allowed = flag(allowed, "allowed")?;
        decision.rule = text(rule, "rule")?.into();
        decision.limit = units(limit, "limit")?;
        decision.window = window.or(Duration::ZERO, "window", whole_microseconds)?;
        decision.remaining = units(remaining, "remaining")?;
        decision.retry_after = retry_after.or(Duration::ZERO, "retry_after", whole_microseconds)?;
        decision.reset_after = reset_after.or(Duration::ZERO, "reset_after", whole_microseconds)?;
        decision.shadow_denied = shadow_denied.or(false, "shadow_denied", flag)?;
        decision.blocked = blocked.or(false, "blocked", flag)?;
        decision.replicated = replicated.or(false, "replicated", flag)?;
        decision.shadow = shadow.or(false, "shadow", flag)?;
        decision.source = source.or(Source::Memory, "source", known_source)?;
        decision.parts = parts.or(Vec::new(), "parts", decisions)?;
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

    /// Whether the key is blocked: by an earlier denial, by this one, or by hand.
    #[getter]
    fn blocked(&self) -> bool {
        self.0.blocked
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

    /// Whether as many replicas as the limiter's `replicas` asks for have what was charged: where these are all, no failover
    /// loses it. Always false where none are asked for.
    #[getter]
    fn replicated(&self) -> bool {
        self.0.replicated
    }

    /// Who decided: `"server"`, or `"memory"` for the in-memory engine.
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
    /// `RateLimit`, with all rules that were applied), `"x-ratelimit"` (`X-RateLimit-Limit`, `-Remaining`
    /// and `-Reset` of the one that decided, `-Reset` as a Unix time) or `"x-ratelimit-seconds"` (the same, `-Reset` in
    /// seconds from now); `"ietf-draft-6"`, `"ietf-draft-7"` and `"ietf-draft-8"` are for clients of earlier drafts; with `"none"`
    /// there are none. A denial adds `Retry-After`, unless the cost never fits.
    #[pyo3(signature = (style=Given(None)), text_signature = "($self, style='ietf')")]
    fn headers(&self, style: Given<'_>) -> PyResult<Vec<(&'static str, String)>> {
        let style = style.or(HeaderStyle::Ietf, "style", self::style)?;
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
    pub(crate) fn inner(&self) -> &sluicegate::Decision {
        &self.0
    }

    /// The keyword arguments that make the same decision.
    pub(crate) fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
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
        if self.0.blocked {
            fields.set_item("blocked", true)?;
        }
        if self.0.replicated {
            fields.set_item("replicated", true)?;
        }
        fields.set_item("source", self.source())?;
        if !self.0.parts.is_empty() {
            fields.set_item("parts", self.parts(py)?)?;
        }
        Ok(fields)
    }
}

impl Decision {
    /// The error is a pointer, so that the result is short, as that of the limiter is.
    pub(crate) fn of<'py>(py: Python<'py>, raw: RawDecision<'_>) -> Result<Bound<'py, Self>, Box<PyErr>> {
        Bound::new(py, Self(raw.into())).map_err(Box::new)
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

/// Seconds, to the nearest microsecond; what is too long for them is infinite.
fn whole_microseconds(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Duration> {
    let micros = (span(value, name)?.as_secs_f64() * 1e6).round();
    Ok(if micros < MICROSECONDS { Duration::from_micros(micros as u64) } else { Duration::MAX })
}

/// A style of headers.
pub(crate) fn style(style: &Bound<'_, PyAny>, name: &str) -> PyResult<HeaderStyle> {
    text(style, name)?.parse().map_err(|error| exception(style.py(), &error))
}

fn known_source(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Source> {
    let source = text(value, name)?;
    let known = [
        Source::Server,
        Source::Memory,
        Source::Fallback,
        Source::Cache,
        Source::Lease,
        Source::Allotment,
        Source::Share,
    ]
    .into_iter()
    .find(|known| known.name() == source);
    known.ok_or_else(|| invalid_argument(value.py(), "source must be \"server\", \"memory\" or \"fallback\""))
}

fn decisions(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<sluicegate::Decision>> {
    let parts = instances::<Decision>(value, name, "Decision")?;
    Ok(parts.iter().map(|part| part.get().0.clone()).collect())
}
