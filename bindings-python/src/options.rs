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
            rules_cache=None, identifier_secret=None, max_keys=None, breaker_failures=Given(None),
            breaker_probe=Given(None), request_id_seconds=Given(None)
        ),
        text_signature = "(url, *, rules, prefix='sluicegate', clock=None, connect_timeout=1.0, \
            response_timeout=0.5, pool_size=16, tls_ca=None, tls_cert=None, tls_key=None, rules_cache=None, \
            identifier_secret=None, max_keys=None, breaker_failures=5, breaker_probe=0.1, \
            request_id_seconds=60)"
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
        identifier_secret: Option<&Bound<'_, PyAny>>,
        max_keys: Option<&Bound<'_, PyAny>>,
        breaker_failures: Given<'_>,
        breaker_probe: Given<'_>,
        request_id_seconds: Given<'_>,
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
        if let Some(secret) = identifier_secret {
            builder = builder.identifier_secret(text(secret, "identifier_secret")?);
        }
        if let Some(keys) = max_keys {
            builder = builder.max_keys(usize::try_from(amount(keys, "max_keys")?).unwrap_or(usize::MAX));
        }
        if let Some(calls) = &breaker_failures.0 {
            let calls = u32::try_from(amount(calls, "breaker_failures")?).unwrap_or(u32::MAX);
            builder = builder.breaker_failures(calls);
        }
        if let Some(interval) = &breaker_probe.0 {
            builder = builder.breaker_probe(timeout(interval, "breaker_probe")?);
        }
        if let Some(seconds) = &request_id_seconds.0 {
            builder = builder.request_id_seconds(amount(seconds, "request_id_seconds")?);
        }
        Ok(Self(builder))
    }
}
