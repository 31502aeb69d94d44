//! Usage that is known late: what is reserved, and how it is ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};
use sluicegate::bridge::{self, End, Used};

use crate::arguments::{text, whole, wrong_type};
use crate::decision::Decision;
use crate::errors::of_wrong_type;
use crate::representation::representation;

/// What both kinds of reservations have.
#[pyclass(module = "sluicegate._native", extends = Decision, subclass, frozen)]
pub(crate) struct Reserved {
    id: Option<String>,
    token: Option<u64>,
    lease: Option<Duration>,
    /// Whether the program has tried to end it by this object.
    ended: AtomicBool,
}

#[pymethods]
impl Reserved {
    /// A copy, for a class of Python.
    #[new]
    fn new(reserved: &Bound<'_, Self>) -> PyClassInitializer<Self> {
        let Self { id, token, lease, .. } = reserved.get();
        let decision = reserved.as_super().get().clone();
        PyClassInitializer::from(decision).add_subclass(Self {
            id: id.clone(),
            token: *token,
            lease: *lease,
            ended: AtomicBool::new(false),
        })
    }

    /// What a limiter of any process and language needs to end the reservation; `None` when it was denied.
    #[getter]
    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// A fencing token: larger than that of every earlier reservation of the same key; `None` when denied.
    #[getter]
    fn token(&self) -> Option<u64> {
        self.token
    }

    /// After how many seconds it ends unless it is renewed.
    #[getter]
    fn _lease(&self) -> Option<f64> {
        self.lease.map(|lease| lease.as_secs_f64())
    }

    #[getter(_is_over)]
    pub(crate) fn is_over(&self) -> bool {
        self.id.is_none() || self.ended.load(Ordering::Relaxed)
    }

    /// Nothing equals it but itself.
    fn __eq__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> bool {
        slf.is(other)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> isize {
        // Objects are aligned: the lowest bits tell nothing.
        slf.as_ptr() as isize >> 4
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let fields = slf.as_super().get().fields(slf.py())?;
        fields.set_item("token", slf.get().token)?;
        representation(&slf.get_type().name()?.to_string(), &fields)
    }

    /// It belongs to its limiter.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a reservation cannot be pickled or copied; pass its id on"))
    }
}

impl Reserved {
    pub(crate) fn initializer(reserved: bridge::Reserved) -> PyClassInitializer<Self> {
        let bridge::Reserved { decision, id, token, lease } = reserved;
        PyClassInitializer::from(Decision::from(decision)).add_subclass(Self {
            id,
            token,
            lease,
            ended: AtomicBool::new(false),
        })
    }
}

/// A reservation as it is passed to a limiter: the object, or its id.
pub(crate) struct Reference<'a, 'py> {
    object: Option<&'a Bound<'py, Reserved>>,
    id: Option<&'a str>,
}

impl<'a, 'py> Reference<'a, 'py> {
    pub(crate) fn of(value: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        match value.cast::<Reserved>() {
            Ok(object) => Ok(Self::of_reserved(object)),
            Err(_) if value.is_instance_of::<PyString>() => {
                Ok(Self { object: None, id: Some(text(value, "reservation")?) })
            }
            Err(_) => Err(wrong_type("reservation", "a str or a Reservation", value)),
        }
    }

    pub(crate) fn of_reserved(object: &'a Bound<'py, Reserved>) -> Self {
        Self { object: Some(object), id: object.get().id() }
    }

    /// The id, of which the caller is about to make this use.
    pub(crate) fn id_to(&self, end: End) -> Option<&'a str> {
        if let (Some(object), End::Commit | End::Release) = (self.object, end) {
            object.get().ended.store(true, Ordering::Relaxed);
        }
        self.id
    }
}

/// What was used: nothing said, a cost, or a mapping of costs by rules or by places.
pub(crate) fn used(cost: Option<&Bound<'_, PyAny>>) -> PyResult<Used> {
    let Some(cost) = cost else { return Ok(Used::AsReserved) };
    let Ok(costs) = cost.cast::<PyMapping>() else { return units(cost, "cost").map(Used::Cost) };
    let pairs = costs.items()?;
    let pairs: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = pairs.extract()?;
    let is_by_rule = pairs.iter().filter(|(key, _)| key.is_instance_of::<PyString>()).count();
    if is_by_rule == pairs.len() {
        let costs = pairs.iter().map(|(rule, cost)| {
            let rule = text(rule, "a rule of cost")?;
            Ok((rule.to_owned(), units(cost, &format!("cost[\"{rule}\"]"))?))
        });
        return costs.collect::<PyResult<_>>().map(Used::Rules);
    }
    if is_by_rule > 0 {
        let what = "cost must have either rules or places of items for its keys, not both";
        return Err(of_wrong_type(cost.py(), what));
    }
    let costs = pairs.iter().map(|(place, cost)| {
        let at: u64 = whole(place, "a place of cost", "must be a whole number, at least 0")?;
        let place = usize::try_from(at).unwrap_or(usize::MAX);
        Ok((place, units(cost, &format!("cost[{at}]"))?))
    });
    costs.collect::<PyResult<_>>().map(Used::Items)
}

fn units(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    whole(value, name, "must be a whole number, at least 0 and below 2^53")
}
