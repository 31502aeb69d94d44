//! Requests, as Python hands them over, and what both limiters do about one.

#![expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]

use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyString, PyTuple};
use sluicegate::bridge::{self, OwnedCall, OwnedRequest};

use crate::arguments::{
    Given, Name, Object, Optional, flag, named, optional, optional_timeout, text, wrong_type,
};
use crate::asynchronous::Bridge;
use crate::blocking::RateLimiter;
use crate::decision::Decision;
use crate::matching::{RequestMatch, listed};
use crate::reservation::Reservation;

const PATHS: &str = "an iterable of str";
const HEADERS: &str = "a mapping or an iterable of pairs";

/// A request of these arguments. What makes no sense is left to the limiter.
fn request(
    method: &Object<'_>,
    path: &Object<'_>,
    user_id: Optional<'_>,
    ip: Optional<'_>,
    api_key: Optional<'_>,
    given: Optional<'_>,
    api_key_header: Optional<'_>,
    paths: Optional<'_>,
    ignore_case: &Given<'_>,
) -> PyResult<OwnedRequest> {
    Ok(OwnedRequest {
        method: owned(method, "method")?,
        path: owned(path, "path")?,
        user_id: optional(user_id, "user_id", id)?,
        ip: optional(ip, "ip", owned)?,
        api_key: optional(api_key, "api_key", owned)?,
        headers: given.map_or(Ok(Vec::new()), headers)?,
        api_key_header: optional(api_key_header, "api_key_header", owned)?,
        other_paths: paths.map_or(Ok(Vec::new()), other_paths)?,
        ignore_case: ignore_case.or(false, "ignore_case", flag)?,
        timeout: None,
    })
}

fn owned(value: &Object<'_>, name: &str) -> PyResult<String> {
    text(value, name).map(str::to_owned)
}

fn id(value: &Object<'_>, name: &str) -> PyResult<String> {
    Name::of(value, name)?.text(name).map(str::to_owned)
}

fn other_paths(given: &Object<'_>) -> PyResult<Vec<String>> {
    // A str is an iterable of str, too.
    if given.is_instance_of::<PyString>() {
        return Err(wrong_type("other_paths", PATHS, given));
    }
    let iterator = given.try_iter().map_err(|error| named(error, "other_paths", PATHS, given))?;
    iterator.map(|item| owned(&item?, "an item of other_paths")).collect()
}

fn headers(given: &Object<'_>) -> PyResult<Vec<(String, String)>> {
    let pairs = match given.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) => given.clone(),
    };
    let iterator = pairs.try_iter().map_err(|error| named(error, "headers", HEADERS, given))?;
    iterator.map(|item| header(&item?)).collect()
}

fn header(item: &Object<'_>) -> PyResult<(String, String)> {
    let pair = match item.cast::<PyList>() {
        Ok(list) => list.to_tuple(),
        Err(_) => item
            .cast::<PyTuple>()
            .map_err(|_| wrong_type("an item of headers", "a name and a value", item))?
            .clone(),
    };
    let (name, value): (Object<'_>, Object<'_>) =
        pair.extract().map_err(|_| wrong_type("an item of headers", "a name and a value", item))?;
    Ok((owned(&name, "a name in headers")?, owned(&value, "a value in headers")?))
}

#[pymethods]
impl RateLimiter {
    /// Decides a request by all the rules that match it, together. The `parts` of the decision hold one per
    /// rule; if there is none, the request is admitted and `rule_applied` is false.
    #[pyo3(
        signature = (
            method, path, *, user_id=None, ip=None, api_key=None, headers=None, api_key_header=None,
            other_paths=None, ignore_case=Given(None), timeout=None
        ),
        text_signature = "($self, method, path, *, user_id=None, ip=None, api_key=None, headers=None, \
            api_key_header=None, other_paths=None, ignore_case=False, timeout=None)"
    )]
    fn check_request(
        &self,
        method: &Object<'_>,
        path: &Object<'_>,
        user_id: Optional<'_>,
        ip: Optional<'_>,
        api_key: Optional<'_>,
        headers: Optional<'_>,
        api_key_header: Optional<'_>,
        other_paths: Optional<'_>,
        ignore_case: Given<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Decision> {
        let mut request =
            request(method, path, user_id, ip, api_key, headers, api_key_header, other_paths, &ignore_case)?;
        request.timeout = optional_timeout(timeout)?;
        self.shared.decide(method.py(), |limiter| limiter.check_request(&request.request()))
    }

    /// Reserves for a request under all the rules that match it and have reservations, and charges the others at once.
    /// Where there are none, nothing is held, and `id` is None.
    #[pyo3(
        signature = (
            method, path, *, user_id=None, ip=None, api_key=None, headers=None, api_key_header=None,
            other_paths=None, ignore_case=Given(None), timeout=None
        ),
        text_signature = "($self, method, path, *, user_id=None, ip=None, api_key=None, headers=None, \
            api_key_header=None, other_paths=None, ignore_case=False, timeout=None)"
    )]
    fn reserve_request<'py>(
        &self,
        method: &Object<'py>,
        path: &Object<'_>,
        user_id: Optional<'_>,
        ip: Optional<'_>,
        api_key: Optional<'_>,
        headers: Optional<'_>,
        api_key_header: Optional<'_>,
        other_paths: Optional<'_>,
        ignore_case: Given<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Bound<'py, Reservation>> {
        let mut request =
            request(method, path, user_id, ip, api_key, headers, api_key_header, other_paths, &ignore_case)?;
        request.timeout = optional_timeout(timeout)?;
        Reservation::make(method.py(), &self.shared, |limiter, _| {
            limiter.reserve_request(&request.request()).map(bridge::Reserved::from)
        })
    }

    /// The rules that `check_request` would apply, in order of priority; with `explain` all rules, and why
    /// each applies or not. Nothing is counted.
    #[pyo3(
        signature = (
            method, path, *, user_id=None, ip=None, api_key=None, headers=None, api_key_header=None,
            other_paths=None, ignore_case=Given(None), explain=Given(None)
        ),
        text_signature = "($self, method, path, *, user_id=None, ip=None, api_key=None, headers=None, \
            api_key_header=None, other_paths=None, ignore_case=False, explain=False)"
    )]
    fn match_request(
        &self,
        method: &Object<'_>,
        path: &Object<'_>,
        user_id: Optional<'_>,
        ip: Optional<'_>,
        api_key: Optional<'_>,
        headers: Optional<'_>,
        api_key_header: Optional<'_>,
        other_paths: Optional<'_>,
        ignore_case: Given<'_>,
        explain: Given<'_>,
    ) -> PyResult<Vec<RequestMatch>> {
        let request =
            request(method, path, user_id, ip, api_key, headers, api_key_header, other_paths, &ignore_case)?;
        if explain.or(false, "explain", flag)? {
            listed(method.py(), self.shared.limiter.explain_request(&request.request()))
        } else {
            listed(method.py(), self.shared.limiter.match_request(&request.request()))
        }
    }
}

#[pymethods]
impl Bridge {
    fn check_request<'py>(
        &self,
        method: &Object<'py>,
        path: &Object<'_>,
        user_id: Optional<'_>,
        ip: Optional<'_>,
        api_key: Optional<'_>,
        headers: Optional<'_>,
        api_key_header: Optional<'_>,
        other_paths: Optional<'_>,
        ignore_case: Given<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        let mut request =
            request(method, path, user_id, ip, api_key, headers, api_key_header, other_paths, &ignore_case)?;
        request.timeout = optional_timeout(timeout)?;
        self.calls.call(method.py(), OwnedCall::Request(Box::new(request)))
    }

    fn reserve_request<'py>(
        &self,
        method: &Object<'py>,
        path: &Object<'_>,
        user_id: Optional<'_>,
        ip: Optional<'_>,
        api_key: Optional<'_>,
        headers: Optional<'_>,
        api_key_header: Optional<'_>,
        other_paths: Optional<'_>,
        ignore_case: Given<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        let mut request =
            request(method, path, user_id, ip, api_key, headers, api_key_header, other_paths, &ignore_case)?;
        request.timeout = optional_timeout(timeout)?;
        self.calls.call(method.py(), OwnedCall::ReserveRequest(Box::new(request)))
    }

    fn match_request(
        &self,
        method: &Object<'_>,
        path: &Object<'_>,
        user_id: Optional<'_>,
        ip: Optional<'_>,
        api_key: Optional<'_>,
        headers: Optional<'_>,
        api_key_header: Optional<'_>,
        other_paths: Optional<'_>,
        ignore_case: Given<'_>,
        explain: &Object<'_>,
    ) -> PyResult<Vec<RequestMatch>> {
        let py = method.py();
        let request =
            request(method, path, user_id, ip, api_key, headers, api_key_header, other_paths, &ignore_case)?;
        let limiter = self.calls.limiter(py)?;
        if flag(explain, "explain")? {
            listed(py, limiter.explain_request(&request.request()))
        } else {
            listed(py, limiter.match_request(&request.request()))
        }
    }
}
