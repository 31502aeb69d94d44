//! A reservation of the limiter for threads.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use sluicegate::bridge::{self, End, Used};
use sluicegate::{RateLimiter, Result};

use crate::arguments::Optional;
use crate::reserved::{Reference, Reserved, used};
use crate::shared::{Shared, Sleep};

/// The answer to `reserve`: a decision and, when it was granted, what is held.
///
/// Used in a `with` statement it is committed as it was reserved at a normal end of the block, and released by an
/// exception, unless the block has tried to end it itself; a block that has outlived the lease is logged as a warning.
/// Without either it is held until its lease ends, and charged in full then.
#[pyclass(module = "sluicegate", extends = Reserved, frozen, weakref)]
pub(crate) struct Reservation {
    limiter: Arc<Shared>,
}

#[pymethods]
impl Reservation {
    /// Ends the reservation and charges what was really used, also beyond the limit: `cost`, or as much as was
    /// reserved. Of several items the cost of each by its rule, or by its place. Whether it took effect.
    #[pyo3(signature = (cost=None))]
    fn commit(slf: &Bound<'_, Self>, cost: Optional<'_>) -> PyResult<bool> {
        Self::end(slf, End::Commit, &used(cost)?)
    }

    /// Ends the reservation, of which nothing was used. Whether it took effect.
    fn release(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Self::end(slf, End::Release, &Used::AsReserved)
    }

    /// Renews the lease. Answers whether it took effect.
    fn renew(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Self::end(slf, End::Renew, &Used::AsReserved)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(slf: &Bound<'_, Self>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        if slf.as_super().get().is_over() {
            return Ok(());
        }
        if exception.get_item(0).is_ok_and(|kind| !kind.is_none()) {
            // What the caller is to hear of is the exception. The lease ends what this could not.
            return if let Ok(false) = Self::release(slf) { Self::warn_lost(slf) } else { Ok(()) };
        }
        if Self::commit(slf, None)? { Ok(()) } else { Self::warn_lost(slf) }
    }
}

impl Reservation {
    /// What `reserve` makes by the limiter, which may sleep meanwhile.
    pub(crate) fn make<'py>(
        py: Python<'py>,
        limiter: &Arc<Shared>,
        reserve: impl FnOnce(&RateLimiter, Sleep<'_>) -> Result<bridge::Reserved> + Send,
    ) -> PyResult<Bound<'py, Self>> {
        let reserved = limiter.wait_interruptible(py, reserve)?;
        Bound::new(py, Reserved::initializer(reserved).add_subclass(Self { limiter: Arc::clone(limiter) }))
    }

    /// Has Python's threads renew what is held, if it is to be renewed.
    pub(crate) fn kept<'py>(held: Bound<'py, Self>, renewed: bool) -> PyResult<Bound<'py, Self>> {
        if renewed && !held.as_super().get().is_over() {
            held.py().import("sluicegate._inflight")?.call_method1("keep", (&held,))?;
        }
        Ok(held)
    }

    /// Says that the block has outlived its lease.
    #[cold]
    fn warn_lost(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.py().import("sluicegate._reservations")?.call_method1("warn_lost", (slf,)).map(drop)
    }

    fn end(slf: &Bound<'_, Self>, end: End, used: &Used) -> PyResult<bool> {
        slf.get().limiter.end(slf.py(), end, &Reference::of_reserved(slf.as_super()), used)
    }
}
