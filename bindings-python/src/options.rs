//! The options of a limiter, the same for both.

use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use sluicegate::Builder;
use sluicegate::bridge::{OptionKind, OptionSpec, OptionValue};

use crate::arguments::{Object, count, flag, path, seconds, text, wrong_type};
use crate::clock::ManualClock;
use crate::credentials::provider;
use crate::errors::exception;
use crate::rules;

/// Where a limiter keeps its counts, and by which rules it decides.
///
/// Its name is that of the class whose arguments these are: messages about missing and misspelt ones tell it.
#[pyclass(module = "sluicegate._native", name = "RateLimiter", frozen)]
pub(crate) struct Options(pub(crate) Builder);

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (url, *, rules, **options), text_signature = "(url, *, rules, \
            connect_timeout=1.0, response_timeout=0.5, breaker_failures=5, breaker_probe=0.1, tls_ca=None, \
            tls_cert=None, tls_key=None, replicas=0, replica_timeout=0.005, credentials=None, prefix='sluicegate', \
            fallback='error', instances=1, clock=None, rules_cache=None, identifier_secret=None, max_keys=None, \
            request_id_seconds=60, regions=None, region=None, region_parts=None, share=1.0, lazy=False, \
            remember_denials=0.0, top_denied=0)"
    )]
    fn new(
        url: &Bound<'_, PyAny>,
        rules: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut builder = sluicegate::RateLimiter::builder(text(url, "url")?).rules(rules::source(rules)?);
        for (name, value) in options.into_iter().flat_map(|options| options.iter()) {
            builder = with_option(builder, text(&name, "name")?, &value)?;
        }
        Ok(Self(builder))
    }
}

/// What is below zero, or too long, becomes the longest time, which no option takes.
fn time(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn with_option(builder: Builder, name: &str, value: &Object<'_>) -> PyResult<Builder> {
    let Some(option) = OptionSpec::named(name) else {
        let what = format!("RateLimiter.__new__() got an unexpected keyword argument '{name}'");
        return Err(PyTypeError::new_err(what));
    };
    let given = match option.kind {
        // What has no default may be left out by None.
        OptionKind::OptionalText
        | OptionKind::Path
        | OptionKind::Clock
        | OptionKind::Credentials
        | OptionKind::OptionalCount(_)
        | OptionKind::Texts
        | OptionKind::Numbers
            if value.is_none() =>
        {
            return Ok(builder);
        }
        OptionKind::Text | OptionKind::OptionalText => OptionValue::Text(text(value, name)?.to_owned()),
        OptionKind::Path => OptionValue::Path(path(value, name)?),
        OptionKind::Credentials => OptionValue::Credentials(provider(value, name)?),
        OptionKind::Clock => OptionValue::Clock(manual(value, name)?),
        OptionKind::Texts => OptionValue::Object(object::<String>(value, name, "texts")?),
        OptionKind::Numbers => OptionValue::Object(object::<f64>(value, name, "numbers")?),
        OptionKind::Time(_) => OptionValue::Time(time(seconds(value, name)?)),
        OptionKind::Flag => OptionValue::Flag(flag(value, name)?),
        OptionKind::Part(_) => OptionValue::Part(seconds(value, name)?),
        OptionKind::Count(..) | OptionKind::OptionalCount(_) => OptionValue::Count(count(value, name)?),
    };
    builder.set(name, given).map_err(|error| exception(value.py(), &error))
}

/// A mapping of names as JSON text.
fn object<'py, T>(value: &Object<'py>, name: &str, right: &str) -> PyResult<String>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let wrong = || wrong_type(name, &format!("a mapping of names and {right}"), value);
    let mapping = value.cast::<PyMapping>().map_err(|_| wrong())?;
    let pairs = mapping.items()?;
    for pair in pairs.iter() {
        pair.extract::<(String, T)>().map_err(|_| wrong())?;
    }
    let json = value.py().import("json")?;
    json.call_method1("dumps", (PyDict::from_sequence(pairs.as_any())?,))?.extract()
}

fn manual(value: &Object<'_>, name: &str) -> PyResult<sluicegate::ManualClock> {
    let clock = value.cast::<ManualClock>().map_err(|_| wrong_type(name, "a ManualClock", value))?;
    Ok(clock.get().0.clone())
}
