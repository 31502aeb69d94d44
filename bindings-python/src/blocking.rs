//! The limiter for threads.

use std::path::PathBuf;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use sluicegate::{CheckOptions, Result};

use crate::arguments::{Amount, options, span, text};
use crate::check;
use crate::clock::ManualClock;
use crate::decision::Decision;
use crate::errors::exception;
use crate::options::Options;

/// Decides whether a cost is admitted; blocks the calling thread for one round trip.
///
/// Safe to share between threads, which run on while one waits for the server. Opens no connection before
/// the first call, and a forked child opens its own.
#[pyclass(module = "sluicegate", frozen)]
pub(crate) struct RateLimiter(sluicegate::RateLimiter);

#[pymethods]
impl RateLimiter {
    #[new]
    #[pyo3(
        signature = (
            url, *, rules, prefix=None, clock=None, connect_timeout=1.0, response_timeout=0.5,
            pool_size=Amount(16), tls_ca=None, tls_cert=None, tls_key=None
        ),
        text_signature = "(url, *, rules, prefix='sluicegate', clock=None, connect_timeout=1.0, \
            response_timeout=0.5, pool_size=16, tls_ca=None, tls_cert=None, tls_key=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        url: &Bound<'_, PyString>,
        rules: &Bound<'_, PyAny>,
        prefix: Option<&Bound<'_, PyString>>,
        clock: Option<&Bound<'_, ManualClock>>,
        connect_timeout: f64,
        response_timeout: f64,
        pool_size: Amount,
        tls_ca: Option<PathBuf>,
        tls_cert: Option<PathBuf>,
        tls_key: Option<PathBuf>,
    ) -> PyResult<Self> {
        let py = url.py();
        let prefix = prefix.unwrap_or(intern!(py, "sluicegate"));
        let options = Options::new(
            url,
            rules,
            prefix,
            clock,
            connect_timeout,
            response_timeout,
            pool_size,
            tls_ca,
            tls_cert,
            tls_key,
        )?;
        options.0.build().map(Self).map_err(|error| exception(py, &error))
    }

    /// Admits a cost for `key` under `rule`, or denies it.
    #[pyo3(
        signature = (rule, key, *, cost=Amount(1), resource=None, limit=None),
        text_signature = "($self, rule, key, *, cost=1, resource=None, limit=None)"
    )]
    fn check(
        &self,
        rule: &Bound<'_, PyString>,
        key: &Bound<'_, PyString>,
        cost: Amount,
        resource: Option<&Bound<'_, PyString>>,
        limit: Option<Amount>,
    ) -> PyResult<Decision> {
        let options = options(cost, resource, limit)?;
        self.single(rule, key, options, sluicegate::RateLimiter::check_with)
    }

    /// What `check` would answer now; changes nothing.
    #[pyo3(
        signature = (rule, key, *, cost=Amount(1), resource=None, limit=None),
        text_signature = "($self, rule, key, *, cost=1, resource=None, limit=None)"
    )]
    fn peek(
        &self,
        rule: &Bound<'_, PyString>,
        key: &Bound<'_, PyString>,
        cost: Amount,
        resource: Option<&Bound<'_, PyString>>,
        limit: Option<Amount>,
    ) -> PyResult<Decision> {
        let options = options(cost, resource, limit)?;
        self.single(rule, key, options, sluicegate::RateLimiter::peek_with)
    }

    /// Gives back a cost that turned out not to be used, the newest first, and answers as `peek` would then.
    #[pyo3(
        signature = (rule, key, *, cost=Amount(1), resource=None, limit=None),
        text_signature = "($self, rule, key, *, cost=1, resource=None, limit=None)"
    )]
    fn refund(
        &self,
        rule: &Bound<'_, PyString>,
        key: &Bound<'_, PyString>,
        cost: Amount,
        resource: Option<&Bound<'_, PyString>>,
        limit: Option<Amount>,
    ) -> PyResult<Decision> {
        let options = options(cost, resource, limit)?;
        self.single(rule, key, options, sluicegate::RateLimiter::refund_with)
    }

    /// Decides several checks together: all of them are charged, or none is. The decision is that of the
    /// deciding check; its `parts` hold one per item.
    fn check_all(&self, checks: &Bound<'_, PyAny>) -> PyResult<Decision> {
        let items = check::items(checks)?;
        let checks: Vec<_> = items.iter().map(|item| item.get().0.check()).collect();
        self.detached(items_py(&items, checks.len(), checks.as_slice()), || self.0.check_all(&checks))
    }
}
