//! How those who wait for room sleep.

use super::backend::Limiter;
use super::driver::Driver;
use super::queue::{Moment, Retryable, Waiter};
use crate::error::Result;

/// How a waiter sleeps.
pub(super) trait Rest {
    /// Sleeps until the waiter is called, or until then; an error when the limiter is closed meanwhile.
    fn rest<T: Retryable, D: Driver>(
        &mut self,
        limiter: &Limiter<D>,
        waiter: &Waiter<'_, T>,
        until: Moment,
    ) -> impl Future<Output = Result<()>> + Send;
}
