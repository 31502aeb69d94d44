//! What rules let through, for `sluicegate.lab`.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sluicegate::RateLimiter;
use sluicegate_lab::plot::{Picture, page};
use sluicegate_lab::{Call, Observer, Options, Record, Report, Traffic, compare, simulate};

use crate::errors::{exception, invalid_argument};
use crate::rules;

/// Every decision of one strategy, in columns.
#[derive(Default)]
struct Columns {
    time: Vec<f64>,
    key: Vec<u32>,
    cost: Vec<u64>,
    admitted: Vec<u8>,
    remaining: Vec<u64>,
    retry_after: Vec<f64>,
}

/// What a run showed.
#[pyclass(module = "sluicegate._native", frozen)]
pub(crate) struct LabReport {
    report: Report,
    columns: Vec<Columns>,
    keys: Vec<String>,
}

/// Collects decisions, and ends the run when Python is interrupted.
#[derive(Default)]
struct Collector {
    start_us: u64,
    columns: Vec<Columns>,
    keys: std::collections::HashMap<String, u32>,
    interrupted: Option<PyErr>,
}

impl Observer for Collector {
    fn decided(&mut self, record: &Record<'_>) {
        let next = self.keys.len() as u32;
        let key = match self.keys.get(record.key) {
            Some(key) => *key,
            None => *self.keys.entry(record.key.to_owned()).or_insert(next),
        };
        if self.columns.len() <= record.strategy {
            self.columns.resize_with(record.strategy + 1, Columns::default);
        }
        let columns = &mut self.columns[record.strategy];
        columns.time.push((record.at_us - self.start_us) as f64 / 1e6);
        columns.key.push(key);
        columns.cost.push(record.cost);
        columns.admitted.push(u8::from(record.admitted));
        columns.remaining.push(record.remaining);
        columns.retry_after.push(match record.retry_after {
            Duration::MAX => f64::INFINITY,
            wait => wait.as_secs_f64(),
        });
    }

    fn go_on(&mut self, _done: f64) -> bool {
        self.interrupted = Python::attach(|py| py.check_signals()).err();
        self.interrupted.is_none()
    }
}

/// A call: microseconds, key, cost, and how long it is under way in microseconds.
type GivenCall = (u64, String, u64, Option<u64>);

/// Runs traffic, given as specs or as calls, through every rule.
#[expect(clippy::too_many_arguments, reason = "arguments of Python")]
#[pyfunction]
#[pyo3(signature = (rules, specs, calls, seed, bin_us, start_us, processes))]
pub(crate) fn lab_run(
    py: Python<'_>,
    rules: &Bound<'_, PyAny>,
    specs: Option<Vec<String>>,
    calls: Option<Vec<GivenCall>>,
    seed: u64,
    bin_us: Option<u64>,
    start_us: Option<u64>,
    processes: u64,
) -> PyResult<LabReport> {
    let source = rules::source(rules)?;
    let failed = |error: sluicegate::Error| exception(py, &error);
    let rules = RateLimiter::builder("memory://").rules(source).build().map_err(failed)?.rules();
    let traffic = match specs {
        Some(specs) => Traffic::parse(&specs, &rules).map_err(failed)?,
        None => {
            let call = |(at_us, key, cost, duration_us)| Call { at_us, key, cost, duration_us };
            Traffic::given(calls.unwrap_or_default().into_iter().map(call))
        }
    };
    let mut options = Options::default();
    (options.seed, options.bin_us, options.processes) = (seed, bin_us, processes);
    options.start_us = start_us.unwrap_or(options.start_us);
    let mut collector = Collector { start_us: options.start_us, ..Collector::default() };
    let report = py.detach(|| simulate(&rules, &traffic, options, &mut collector)).map_err(failed)?;
    if let Some(interrupted) = collector.interrupted {
        return Err(interrupted);
    }
    let mut keys = vec![String::new(); collector.keys.len()];
    collector.keys.into_iter().for_each(|(key, number)| keys[number as usize] = key);
    collector.columns.resize_with(report.strategies.len(), Columns::default);
    Ok(LabReport { report, columns: collector.columns, keys })
}

/// Rules that keep one limit by each of these algorithms, as JSON.
#[pyfunction]
pub(crate) fn lab_compare(
    py: Python<'_>,
    algorithms: Vec<String>,
    limit: u64,
    window_us: u64,
) -> PyResult<String> {
    let names: Vec<&str> = algorithms.iter().map(String::as_str).collect();
    compare(&names, limit, window_us, None).map_err(|error| exception(py, &error))
}

#[pymethods]
impl LabReport {
    /// The report as JSON.
    fn json(&self) -> String {
        self.report.json()
    }

    /// The page of HTML.
    fn html(&self) -> String {
        page(&self.report)
    }

    /// One of the pictures.
    fn svg(&self, py: Python<'_>, picture: &str) -> PyResult<String> {
        let Some(found) = Picture::ALL.into_iter().find(|it| it.name() == picture) else {
            let names = Picture::ALL.map(Picture::name).join(", ");
            return Err(invalid_argument(
                py,
                &format!("picture {picture:?} is not known; there are {names}"),
            ));
        };
        Ok(found.svg(&self.report))
    }

    /// The keys, which columns tell by number.
    #[getter]
    fn keys(&self) -> Vec<String> {
        self.keys.clone()
    }

    /// A column of a strategy, as the bytes of its numbers.
    fn column<'py>(&self, py: Python<'py>, strategy: usize, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let known = self.columns.get(strategy).and_then(|columns| columns.bytes(name));
        let bytes = known.ok_or_else(|| invalid_argument(py, &format!("column {name:?} is not known")))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

impl Columns {
    fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        Some(match name {
            "time" => self.time.iter().flat_map(|it| it.to_ne_bytes()).collect(),
            "key" => self.key.iter().flat_map(|it| it.to_ne_bytes()).collect(),
            "cost" => self.cost.iter().flat_map(|it| it.to_ne_bytes()).collect(),
            "admitted" => self.admitted.clone(),
            "remaining" => self.remaining.iter().flat_map(|it| it.to_ne_bytes()).collect(),
            "retry_after" => self.retry_after.iter().flat_map(|it| it.to_ne_bytes()).collect(),
            _ => return None,
        })
    }
}
