//! The options of a limiter, the same for both.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyString;
use sluicegate::Builder;

use crate::arguments::{Amount, text, timeout};
use crate::clock::ManualClock;
use crate::errors::invalid_argument;
use crate::rules;

/// Where a limiter keeps its counts, and by which rules it decides.
#[pyclass(module = "sluicegate._native", frozen)]
pub(crate) struct Options(pub(crate) Builder);

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (
        url, *, rules, prefix, clock, connect_timeout, response_timeout, pool_size, tls_ca, tls_cert, tls_key
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    pub(crate) fn new(
        url: &Bound<'_, PyString>,
        rules: &Bound<'_, PyAny>,
        prefix: &Bound<'_, PyString>,
        clock: Option<&Bound<'_, ManualClock>>,
        connect_timeout: f64,
        response_timeout: f64,
        pool_size: Amount,
        tls_ca: Option<PathBuf>,
        tls_cert: Option<PathBuf>,
        tls_key: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut builder = sluicegate::RateLimiter::builder(text(url, "url")?)
            .rules(rules::read(rules)?)
            .prefix(text(prefix, "prefix")?)
            .connect_timeout(timeout(connect_timeout))
            .response_timeout(timeout(response_timeout))
            .pool_size(usize::try_from(pool_size.0).unwrap_or(usize::MAX));
        if let Some(clock) = clock {
            builder = builder.clock(clock.get().0.clone());
        }
        if let Some(authorities) = tls_ca {
            builder = builder.tls_ca(authorities);
        }
        match (tls_cert, tls_key) {
            (Some(cert), Some(key)) => builder = builder.tls_client(cert, key),
            (None, None) => (),
            _ => return Err(invalid_argument(url.py(), "tls_cert and tls_key must be given together")),
        }
        Ok(Self(builder))
    }
}
