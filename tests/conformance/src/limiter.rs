//! One way to drive both limiters, so that every test runs on both.

use sluicegate::{AsyncRateLimiter, Builder, Check, CheckOptions, Decision, RateLimiter, Result};
use tokio::runtime::{self, Runtime};

/// Which limiter a test drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// `RateLimiter`
    Blocking,
    /// `AsyncRateLimiter`
    Async,
}

/// A limiter of either kind.
#[derive(Debug)]
pub enum Limiter {
    /// Blocks by itself.
    Blocking(RateLimiter),
    /// Blocked on by a runtime of its own.
    Async(AsyncRateLimiter, Runtime),
}

/// The same call on either limiter.
macro_rules! forward {
    ($self:expr, $limiter:ident => $call:expr) => {
        match $self {
            Limiter::Blocking($limiter) => $call,
            Limiter::Async($limiter, runtime) => runtime.block_on($call),
        }
    };
}

impl Limiter {
    /// Builds, or connects, a limiter.
    pub fn new(driver: Driver, builder: Builder) -> Result<Self> {
        match driver {
            Driver::Blocking => builder.build().map(Self::Blocking),
            Driver::Async => {
                let runtime =
                    runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
                let limiter = runtime.block_on(builder.connect())?;
                Ok(Self::Async(limiter, runtime))
            }
        }
    }

    /// `check_with`
    pub fn check(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        forward!(self, limiter => limiter.check_with(rule, key, options))
    }

    /// `peek_with`
    pub fn peek(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        forward!(self, limiter => limiter.peek_with(rule, key, options))
    }

    /// `refund_with`
    pub fn refund(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        forward!(self, limiter => limiter.refund_with(rule, key, options))
    }

    /// `reset_with`
    pub fn reset(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<()> {
        forward!(self, limiter => limiter.reset_with(rule, key, options))
    }

    /// `check_all`
    pub fn check_all(&self, checks: &[Check<'_>]) -> Result<Decision> {
        forward!(self, limiter => limiter.check_all(checks))
    }
}
