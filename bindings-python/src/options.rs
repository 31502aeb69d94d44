//! The options of a limiter, the same for both.

use pyo3::prelude::*;
use sluicegate::Builder;
use sluicegate::bridge::Settings;

use crate::arguments::{Given, Object, amount, optional, path, text, timeout, wrong_type};
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
        let builder = sluicegate::RateLimiter::builder(text(url, "url")?).rules(rules::source(rules)?);
        let settings = Settings {
            prefix: prefix.read("prefix", text)?.map(str::to_owned),
            clock: optional(clock, "clock", manual)?,
            connect_timeout: connect_timeout.read("connect_timeout", timeout)?,
            response_timeout: response_timeout.read("response_timeout", timeout)?,
            pool_size: pool_size.read("pool_size", amount)?.map(size),
            tls_ca: optional(tls_ca, "tls_ca", path)?,
            tls_cert: optional(tls_cert, "tls_cert", path)?,
            tls_key: optional(tls_key, "tls_key", path)?,
            rules_cache: optional(rules_cache, "rules_cache", path)?,
            identifier_secret: optional(identifier_secret, "identifier_secret", text)?.map(str::to_owned),
            max_keys: optional(max_keys, "max_keys", amount)?.map(size),
            breaker_failures: breaker_failures
                .read("breaker_failures", amount)?
                .map(|calls| u32::try_from(calls).unwrap_or(u32::MAX)),
            breaker_probe: breaker_probe.read("breaker_probe", timeout)?,
            request_id_seconds: request_id_seconds.read("request_id_seconds", amount)?,
        };
        Ok(Self(settings.apply(builder)))
    }
}

fn manual(value: &Object<'_>, name: &str) -> PyResult<sluicegate::ManualClock> {
    let clock = value.cast::<ManualClock>().map_err(|_| wrong_type(name, "a ManualClock", value))?;
    Ok(clock.get().0.clone())
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
