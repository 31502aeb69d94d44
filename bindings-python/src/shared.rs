//! The limiter for threads, as it and its reservations share it.

use pyo3::prelude::*;
use sluicegate::bridge::{self, End, Used};
use sluicegate::{RateLimiter, Result};

use crate::errors::exception;
use crate::reserved::Reference;

pub(crate) struct Shared {
    pub(crate) limiter: RateLimiter,
    /// Then nothing is gained by letting other threads run meanwhile.
    is_in_memory: bool,
}

impl Shared {
    pub(crate) fn new(limiter: RateLimiter) -> Self {
        Self { is_in_memory: bridge::is_in_memory(&limiter), limiter }
    }

    pub(crate) fn end(
        &self,
        py: Python<'_>,
        end: End,
        reservation: &Reference<'_, '_>,
        used: &Used,
    ) -> PyResult<bool> {
        let id = reservation.id_to(end);
        self.call(py, |limiter| bridge::end(limiter, end, id, used))
    }

    /// Lets other threads run while the server answers.
    pub(crate) fn call<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&RateLimiter) -> Result<T> + Send,
    ) -> PyResult<T> {
        let limiter = &self.limiter;
        let result = if self.is_in_memory { call(limiter) } else { py.detach(|| call(limiter)) };
        result.map_err(|error| exception(py, &error))
    }
}
