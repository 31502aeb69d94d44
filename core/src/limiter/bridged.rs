//! What bindings to other languages need of the limiter, and Rust does not.

use std::sync::Arc;

use super::asynchronous::Backend;
use super::{AsyncRateLimiter, RateLimiter, blocking};
use crate::error::Result;
use crate::plan::{Op, Verdict};
use crate::redis::Hub;
use crate::request::Check;

impl AsyncRateLimiter {
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.backend, Backend::Memory(_))
    }

    /// The connections, if there are any.
    pub(crate) fn hub(&self) -> Option<&Arc<Hub>> {
        match &self.backend {
            Backend::Server(redis) => Some(&redis.hub),
            Backend::Memory(_) => None,
        }
    }

    /// Decides a single check in memory, and returns what `make` builds of the verdict; `None` on a server, which takes I/O.
    #[inline]
    pub(crate) fn at_once<T>(
        &self,
        op: Op,
        check: &Check<'_>,
        make: impl FnOnce(Verdict<'_>) -> T,
    ) -> Option<Result<T>> {
        match &self.backend {
            Backend::Memory(memory) => Some(memory.decide(&self.centre.rules.snapshot(), check, op, make)),
            Backend::Server(_) => None,
        }
    }
}

impl RateLimiter {
    /// Decides a single check, and returns what `make` builds of the verdict.
    #[inline]
    pub(crate) fn decide<T>(
        &self,
        op: Op,
        check: &Check<'_>,
        make: impl FnOnce(Verdict<'_>) -> T,
    ) -> Result<T> {
        match &self.backend {
            blocking::Backend::Memory(memory) => {
                memory.decide(&self.centre.rules.snapshot(), check, op, make)
            }
            blocking::Backend::Server(redis) => {
                self.single_on(redis, check, op).map(|decision| make(Verdict::from(&decision)))
            }
        }
    }
}
