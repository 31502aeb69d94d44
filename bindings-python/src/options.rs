//! The options of a limiter, the same for both.

use pyo3::prelude::*;
use sluicegate::Builder;

use crate::arguments::{Given, amount, path, text, timeout, wrong_type};
use crate::clock::ManualClock;
use crate::rules;

/// Where a limiter keeps its counts, and by which rules it decides.
///
/// Its name is that of the class whose arguments these are: messages about missing and misspelt ones tell it.
#[pyclass(module = "sluicegate._native", name = "RateLimiter", frozen)]
pub(crate) struct Options(pub(crate) Builder);

#[pymethods]
impl Options {
    #[new]
    #[pyo3(
        signature = (
            url, *, rules, prefix=Given(None), clock=None, connect_timeout=Given(None),
            response_timeout=Given(None), pool_size=Given(None), tls_ca=None, tls_cert=None, tls_key=None,
            rules_cache=None
        ),
        text_signature = "(url, *, rules, prefix='sluicegate', clock=None, connect_timeout=1.0, \
            response_timeout=0.5, pool_size=16, tls_ca=None, tls_cert=None, tls_key=None, rules_cache=None)"
    )]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn new(
        url: &Bound<'_, PyAny>,
        rules: &Bound<'_, PyAny>,
        prefix: Given<'_>,
        clock: Option<&Bound<'_, PyAny>>,
        connect_timeout: Given<'_>,
        response_timeout: Given<'_>,
        pool_size: Given<'_>,
        tls_ca: Option<&Bound<'_, PyAny>>,
        tls_cert: Option<&Bound<'_, PyAny>>,
        tls_key: Option<&Bound<'_, PyAny>>,
        rules_cache: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut builder = sluicegate::RateLimiter::builder(text(url, "url")?).rules(rules::source(rules)?);
        if let Some(prefix) = &prefix.0 {
            builder = builder.prefix(text(prefix, "prefix")?);
        }
        if let Some(clock) = clock {
            let manual = clock.cast::<ManualClock>();
            let manual = manual.map_err(|_| wrong_type("clock", "a ManualClock", clock))?;
            builder = builder.clock(manual.get().0.clone());
        }
        if let Some(limit) = &connect_timeout.0 {
            builder = builder.connect_timeout(timeout(limit, "connect_timeout")?);
        }
        if let Some(limit) = &response_timeout.0 {
            builder = builder.response_timeout(timeout(limit, "response_timeout")?);
        }
        if let Some(size) = &pool_size.0 {
            builder = builder.pool_size(usize::try_from(amount(size, "pool_size")?).unwrap_or(usize::MAX));
        }
        if let Some(authorities) = tls_ca {
            builder = builder.tls_ca(path(authorities, "tls_ca")?);
        }
        if let Some(certificate) = tls_cert {
            builder = builder.tls_cert(path(certificate, "tls_cert")?);
        }
        if let Some(key) = tls_key {
            builder = builder.tls_key(path(key, "tls_key")?);
        }
        if let Some(cache) = rules_cache {
            builder = builder.rules_cache(path(cache, "rules_cache")?);
        }
        Ok(Self(builder))
    }
}
