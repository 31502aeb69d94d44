//! What middleware does about HTTP.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};
use sluicegate::bridge;

use crate::arguments::{Given, amount, text, whole, wrong_type};
use crate::decision::{Decision, style};
use crate::errors::{exception, invalid_argument};

/// The proxies in front of a service that are believed about the client.
#[pyclass(module = "sluicegate._native", frozen)]
pub(crate) struct TrustedProxies(bridge::TrustedProxies);

#[pymethods]
impl TrustedProxies {
    /// Their number, or their networks; and the header that they write.
    #[new]
    fn new(trusted_proxies: &Bound<'_, PyAny>, forwarded_header: &Bound<'_, PyAny>) -> PyResult<Self> {
        let refused = |error| exception(trusted_proxies.py(), &error);
        let header: bridge::ForwardedHeader =
            text(forwarded_header, "forwarded_header")?.parse().map_err(|error: sluicegate::Error| {
                let wrong = format!("forwarded_header: {}", error.message());
                invalid_argument(forwarded_header.py(), &wrong)
            })?;
        let is_list =
            trusted_proxies.is_instance_of::<PyList>() || trusted_proxies.is_instance_of::<PyTuple>();
        let proxies = if is_list {
            let networks: Vec<Bound<'_, PyAny>> = trusted_proxies.try_iter()?.collect::<PyResult<_>>()?;
            let named = |(at, network)| text(network, &format!("trusted_proxies[{at}]"));
            let networks = networks.iter().enumerate().map(named).collect::<PyResult<Vec<_>>>()?;
            bridge::TrustedProxies::networks(networks).map_err(refused)?
        } else {
            if !trusted_proxies.is_instance_of::<PyInt>() {
                return Err(wrong_type("trusted_proxies", "an int or a list of networks", trusted_proxies));
            }
            let count = whole(trusted_proxies, "trusted_proxies", "must be 0 or more")?;
            bridge::TrustedProxies::count(usize::try_from(count).unwrap_or(usize::MAX))
        };
        Ok(Self(proxies.with_header(header)))
    }

    /// The name of the header to be read, in small letters.
    #[getter]
    fn header(&self) -> &'static str {
        self.0.header().name()
    }

    /// The address of the client, by these lines of the header, or else the peer's.
    fn client(&self, peer: Option<&Bound<'_, PyString>>, lines: Vec<PyBackedStr>) -> Option<String> {
        let peer = peer.and_then(|peer| peer.to_str().ok()).unwrap_or_default();
        let lines = lines.iter().map(|line| line.as_bytes());
        bridge::client_address(lines, peer, &self.0).map(|address| address.to_string())
    }
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

/// A complete HTTP response of middleware: problem details (RFC 9457), or a status of gRPC.
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

    /// The same for a request with this `Content-Type`: to gRPC a status of its own, with 200.
    fn for_content_type(&self, content_type: Option<&str>) -> Self {
        Self(self.0.clone().for_content_type(content_type))
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
