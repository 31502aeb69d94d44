//! What Python passes, made into what the limiter accepts. A wrong type is a `WrongTypeError` that names the
//! argument; what is out of range becomes something that the limiter itself refuses, so that the message
//! is the same in every language.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::PyClass;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyString, PyTuple};
use sluicegate::bridge::{KeyRecordChange, Span};
use sluicegate::{Check, CompositeKey};

use crate::errors::{exception, invalid_argument, of_wrong_type};

/// An object of any type.
pub(crate) type Object<'py> = Bound<'py, PyAny>;

/// An argument of any type that is left out when it is None.
pub(crate) type Optional<'a> = Option<&'a Object<'a>>;

/// An argument of any type that may be left out, and then is not None.
pub(crate) struct Given<'py>(pub(crate) Option<Object<'py>>);

impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = Infallible;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> Result<Self, Infallible> {
        Ok(Self(Some(value.to_owned())))
    }
}

impl<'py> Given<'py> {
    /// The argument by one of the functions below, or what it is when left out.
    pub(crate) fn or<'a, T>(
        &'a self,
        default: T,
        name: &str,
        read: impl FnOnce(&'a Object<'py>, &str) -> PyResult<T>,
    ) -> PyResult<T> {
        Ok(self.read(name, read)?.unwrap_or(default))
    }

    /// The argument by one of the functions below, if it is given.
    pub(crate) fn read<'a, T>(
        &'a self,
        name: &str,
        read: impl FnOnce(&'a Object<'py>, &str) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        optional(self.0.as_ref(), name, read)
    }
}

/// An argument by one of the functions below, if it is given.
#[inline(always)]
pub(crate) fn optional<'a, 'py, T>(
    value: Option<&'a Object<'py>>,
    name: &str,
    read: impl FnOnce(&'a Object<'py>, &str) -> PyResult<T>,
) -> PyResult<Option<T>> {
    value.map(|value| read(value, name)).transpose()
}

/// A `str` that has a form in UTF-8, as one with a lone surrogate has not.
pub(crate) fn text<'a>(value: &'a Object<'_>, name: &str) -> PyResult<&'a str> {
    let text = value.cast::<PyString>().map_err(|_| wrong_type(name, "a str", value))?;
    text.to_str().map_err(|_| invalid_argument(value.py(), &format!("{name} is not well-formed Unicode")))
}

/// A cost or a limit. What cannot be held is refused here, and what makes no sense by the limiter.
fn units(value: &Object<'_>, name: &str) -> PyResult<u64> {
    whole(value, name, "must be a whole number, at least 1 and below 2^53")
}

/// A number of 64 bits; `right` says what is in range.
pub(crate) fn whole(value: &Object<'_>, name: &str, right: &str) -> PyResult<u64> {
    no_bool(value, name, "an int")?;
    value.extract().map_err(|error: PyErr| {
        let py = value.py();
        if error.is_instance_of::<PyOverflowError>(py) {
            return invalid_argument(py, &format!("{name} {value}: {right}"));
        }
        named(error, name, "an int", value)
    })
}

/// A size or a time. Negative numbers become 0 and those beyond 64 bits the largest there is; where it
/// matters, what takes them refuses both.
pub(crate) fn amount(value: &Object<'_>, name: &str) -> PyResult<u64> {
    number(value, name, "an int", 0..=u64::MAX)
}

/// A whole number; the limiter refuses one that is out of range.
pub(crate) fn count(value: &Object<'_>, name: &str) -> PyResult<f64> {
    Ok(number(value, name, "an int", i64::MIN..=i64::MAX)? as f64)
}

/// How many processes there are; the limiter refuses what is out of range.
pub(crate) fn processes(value: &Object<'_>, name: &str) -> PyResult<u32> {
    number(value, name, "an int", 0..=u32::MAX)
}

/// How long to open a connection, to wait for an answer or to make a call; the limiter refuses what makes no sense.
pub(crate) fn timeout(value: &Object<'_>, name: &str) -> PyResult<Duration> {
    let seconds = seconds(value, name)?;
    let refused = if seconds > 0.0 { Duration::MAX } else { Duration::ZERO };
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(refused))
}

/// The whole time of a call, if it is given.
#[inline(always)]
pub(crate) fn optional_timeout(value: Optional<'_>) -> PyResult<Option<Duration>> {
    optional(value, "timeout", timeout)
}

/// How long a block, or a stored limit, is to last; the limiter refuses what makes no sense.
fn stated(value: &Object<'_>, name: &str) -> PyResult<Span> {
    seconds(value, name).map(Span::from_seconds)
}

/// What `block` is to do.
pub(crate) fn block(seconds: &Object<'_>) -> PyResult<KeyRecordChange> {
    Ok(KeyRecordChange::Block(stated(seconds, "seconds")?))
}

/// What `set_limit` is to do.
pub(crate) fn stored_limit(limit: &Object<'_>, expires_in: Optional<'_>) -> PyResult<KeyRecordChange> {
    let expires_in = optional(expires_in, "expires_in", stated)?;
    Ok(KeyRecordChange::SetLimit(units(limit, "limit")?, expires_in))
}

/// A span that may be as long as one likes, infinity included.
pub(crate) fn span(value: &Object<'_>, name: &str) -> PyResult<Duration> {
    // Negative, or not a number.
    if seconds(value, name)? >= 0.0 {
        return timeout(value, name);
    }
    Err(invalid_argument(value.py(), &format!("{name} must be 0 or more")))
}

/// A span that is zero unless it is given.
pub(crate) fn optional_span(value: Optional<'_>, name: &str) -> PyResult<Duration> {
    Ok(optional(value, name, span)?.unwrap_or_default())
}

pub(crate) fn seconds(value: &Object<'_>, name: &str) -> PyResult<f64> {
    number(value, name, "a float", f64::NEG_INFINITY..=f64::INFINITY)
}

/// A number; one that is out of range becomes the least or the greatest of it.
fn number<'py, T: FromPyObjectOwned<'py, Error = PyErr> + Copy>(
    value: &Object<'py>,
    name: &str,
    expected: &str,
    range: RangeInclusive<T>,
) -> PyResult<T> {
    no_bool(value, name, expected)?;
    match value.extract::<T>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Ok(if value.lt(0)? { *range.start() } else { *range.end() })
        }
        number => number.map_err(|error| named(error, name, expected, value)),
    }
}

/// Refuses a `bool`, which Python takes for a number: who passes one has mixed up arguments.
fn no_bool(value: &Object<'_>, name: &str, expected: &str) -> PyResult<()> {
    if value.is_instance_of::<PyBool>() { Err(wrong_type(name, expected, value)) } else { Ok(()) }
}

/// True or false, and nothing that is merely taken for it.
pub(crate) fn flag(value: &Object<'_>, name: &str) -> PyResult<bool> {
    value.extract().map_err(|error| named(error, name, "a bool", value))
}

/// A path, as text or as an object of `pathlib`.
pub(crate) fn path(value: &Object<'_>, name: &str) -> PyResult<PathBuf> {
    value.extract().map_err(|error| named(error, name, "a path", value))
}

/// The elements of an iterable, all of one class.
pub(crate) fn instances<'py, T: PyClass>(
    values: &Object<'py>,
    name: &str,
    class: &str,
) -> PyResult<Vec<Bound<'py, T>>> {
    let expected = format!("an iterable of {class}");
    let iterator = values.try_iter().map_err(|error| named(error, name, &expected, values))?;
    let item = |(at, item): (usize, PyResult<Object<'py>>)| {
        item?
            .cast_into::<T>()
            .map_err(|error| wrong_type(&format!("{name}[{at}]"), class, &error.into_inner()))
    };
    iterator.enumerate().map(item).collect()
}

/// Who or what is counted: a `str`, or an `int` such as the primary key of a row, which is its decimal text.
pub(crate) struct Name<'py>(Object<'py>);

/// What a `Name` has to be.
const NAME: &str = "a str or an int";

/// The name of a resource, if it is given.
pub(crate) type Resource<'py> = Option<Name<'py>>;

impl<'py> Name<'py> {
    pub(crate) fn of(value: &Object<'py>, name: &str) -> PyResult<Self> {
        Self::extract(value.as_borrowed())
            .map_err(|_| invalid_argument(value.py(), &format!("{name} is an int of too many digits")))
    }

    pub(crate) fn text(&self, name: &str) -> PyResult<&str> {
        if !self.0.is_instance_of::<PyString>() {
            return Err(wrong_type(name, NAME, &self.0));
        }
        text(&self.0, name)
    }
}

impl<'py> FromPyObject<'_, 'py> for Name<'py> {
    type Error = PyErr;

    #[inline(always)]
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyString>() || !is_int(&value) {
            return Ok(Self(value.to_owned()));
        }
        // Not `str`, which classes of their own, such as enums, change.
        let int = value.py().get_type::<PyInt>();
        int.call_method1(intern!(value.py(), "__repr__"), (value,)).map(Self)
    }
}

/// Whether it is an `int`, and no `bool`.
fn is_int(value: &Object<'_>) -> bool {
    value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>()
}

/// A key; the parts of a list or tuple are joined.
pub(crate) struct Key<'py>(Name<'py>);

impl<'py> Key<'py> {
    pub(crate) fn py(&self) -> Python<'py> {
        self.0.0.py()
    }
}

impl<'py> FromPyObject<'_, 'py> for Key<'py> {
    type Error = PyErr;

    #[inline(always)]
    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            return joined(&value).map(Self);
        }
        Name::of(&value, "key").map(Self)
    }
}

fn joined<'py>(parts: &Object<'py>) -> PyResult<Name<'py>> {
    let py = parts.py();
    let named = |at: usize| format!("key[{at}]");
    let part = |(at, part): (usize, PyResult<Object<'py>>)| Name::of(&part?, &named(at));
    let parts = parts.try_iter()?.enumerate().map(part).collect::<PyResult<Vec<_>>>()?;
    let texts = parts.iter().enumerate().map(|(at, part)| part.text(&named(at)));
    let key = CompositeKey::new(texts.collect::<PyResult<Vec<_>>>()?);
    let key = key.map_err(|error| exception(py, &error))?;
    Ok(Name(PyString::new(py, &key).into_any()))
}

/// A check, borrowed from its arguments. Inlined, it need not be copied, which takes longer than making it.
#[inline(always)]
pub(crate) fn requested<'a>(
    rule: &'a Object<'_>,
    key: &'a Key<'_>,
    cost: &Given<'_>,
    resource: Option<&'a Name<'_>>,
    limit: Optional<'_>,
    timeout: Optional<'_>,
    request_id: Optional<'a>,
) -> PyResult<Check<'a>> {
    let mut check = Check::new(text(rule, "rule")?, key.0.text("key")?);
    check.options.cost = cost.or(1, "cost", units)?;
    check.options.resource = resource.map(|resource| resource.text("resource")).transpose()?;
    check.options.limit = optional(limit, "limit", units)?;
    check.options.timeout = optional_timeout(timeout)?;
    check.options.request_id = optional_id(request_id)?;
    Ok(check)
}

/// The id of a call that may be repeated, if it is given.
#[inline(always)]
pub(crate) fn optional_id<'a>(request_id: Optional<'a>) -> PyResult<Option<&'a str>> {
    optional(request_id, "request_id", text)
}

/// What is asked about a key under every rule: as a check of a rule without a name.
pub(crate) fn about_key<'a>(
    key: &'a Key<'_>,
    resource: Option<&'a Name<'_>>,
    timeout: Optional<'_>,
) -> PyResult<Check<'a>> {
    let mut check = Check::new("", key.0.text("key")?);
    check.options.resource = resource.map(|resource| resource.text("resource")).transpose()?;
    check.options.timeout = optional_timeout(timeout)?;
    Ok(check)
}

/// An error that names the argument, what it has to be and what it is.
pub(crate) fn wrong_type(name: &str, expected: &str, value: &Object<'_>) -> PyErr {
    let class = value.get_type();
    let got = class.name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    of_wrong_type(value.py(), &format!("{name} must be {expected}, not {got}"))
}

/// The error of a conversion; if it is about the type, it names the argument.
pub(crate) fn named(error: PyErr, name: &str, expected: &str, value: &Object<'_>) -> PyErr {
    let py = value.py();
    if error.is_instance_of::<PyTypeError>(py) { wrong_type(name, expected, value) } else { error }
}
