//! A request, as Python hands it over.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyString, PyTuple};
use sluicegate::bridge::OwnedRequest;

use crate::arguments::{Given, Name, Object, Optional, flag, named, optional, text, wrong_type};

const PATHS: &str = "an iterable of str";
const HEADERS: &str = "a mapping or an iterable of pairs";

/// A request of these arguments. What makes no sense is left to the limiter.
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn request(
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
