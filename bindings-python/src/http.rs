//! What middleware does about HTTP.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyString;
use sluicegate::bridge;

use crate::arguments::{Given, amount, text};
use crate::decision::{Decision, style};
use crate::errors::exception;

/// The address of the client behind so many trusted proxies: of these lines of `X-Forwarded-For`, or the peer's.
#[pyfunction]
pub(crate) fn client_address(
    peer: Option<&Bound<'_, PyString>>,
    forwarded_for: Vec<PyBackedStr>,
    trusted_proxies: &Bound<'_, PyAny>,
) -> PyResult<Option<String>> {
    let peer = peer.and_then(|peer| peer.to_str().ok()).unwrap_or_default();
    let trusted_proxies = usize::try_from(amount(trusted_proxies, "trusted_proxies")?).unwrap_or(usize::MAX);
    let lines = forwarded_for.iter().map(|line| line.as_bytes());
    Ok(bridge::client_address(lines, peer, trusted_proxies).map(|address| address.to_string()))
}

/// The key of the client with an address.
#[pyfunction]
#[pyo3(signature = (ip, prefix_length = Given(None)), text_signature = "(ip, prefix_length=64)")]
pub(crate) fn address_key(ip: &Bound<'_, PyAny>, prefix_length: Given<'_>) -> PyResult<String> {
    let prefix_length = prefix_length.or(64, "prefix_length", amount)?;
    // Core refuses 0 as what is too large.
    let prefix_length = u8::try_from(prefix_length).unwrap_or(0);
    sluicegate::address_key(text(ip, "ip")?, prefix_length).map_err(|error| exception(ip.py(), &error))
}

/// Whether a text can be the name of an HTTP header.
#[pyfunction]
pub(crate) fn is_header_name(name: &str) -> bool {
    bridge::is_header_name(name)
}

/// A complete HTTP response of middleware: problem details (RFC 9457).
#[pyclass(module = "sluicegate._native", frozen)]
pub(crate) struct Problem(bridge::Problem);

#[pymethods]
impl Problem {
    /// To a denied request: 429.
    #[staticmethod]
    fn denied(decision: &Bound<'_, Decision>, headers: &Bound<'_, PyAny>) -> PyResult<Self> {
        let style = style(headers, "headers")?;
        Ok(Self(bridge::Problem::denied(decision.get().inner(), style)))
    }

    /// To an invalid request: 400.
    #[staticmethod]
    fn invalid(message: &str) -> Self {
        Self(bridge::Problem::invalid(message))
    }

    /// When the limiter could not decide and middleware fails closed: 503.
    #[staticmethod]
    fn undecided() -> Self {
        Self(bridge::Problem::undecided())
    }

    #[getter]
    fn status(&self) -> u16 {
        self.0.status
    }

    /// The reason phrase of the status.
    #[getter]
    fn title(&self) -> &'static str {
        self.0.title
    }

    #[getter]
    fn headers(&self) -> Vec<(&'static str, String)> {
        self.0.headers.clone()
    }

    #[getter]
    fn body(&self) -> &[u8] {
        self.0.body.as_bytes()
    }
}
