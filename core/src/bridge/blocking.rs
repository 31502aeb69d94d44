//! What bindings need of the blocking limiter and Rust does not.

use std::time::Duration;

use super::message::{End, KeyRecordChange, Reserved, Used};
use crate::decision::Decision;
use crate::error::Result;
use crate::limiter::RateLimiter;
use crate::plan::Form;
use crate::request::Check;

/// [`RateLimiter::commit`], [`release`](RateLimiter::release) or [`renew`](RateLimiter::renew); without an id, of a
/// reservation that was denied.
///
/// # Errors
/// As [`RateLimiter::commit`].
pub fn end(limiter: &RateLimiter, end: End, id: Option<&str>, used: &Used) -> Result<bool> {
    limiter.ensure_open()?;
    let Some(id) = id else { return Ok(false) };
    limiter.end(id.into(), end, used.usage(&used.rules()))
}

/// A change of a block or of a stored limit, as by [`RateLimiter::block`]: whether it took effect.
///
/// # Errors
/// As [`RateLimiter::block`].
pub fn change_key_record(limiter: &RateLimiter, check: &Check<'_>, change: KeyRecordChange) -> Result<bool> {
    limiter.change_key_record(check, change)
}

/// [`RateLimiter::wait_with`], or [`RateLimiter::wait_all`], by a sleep that may be cut short, by a signal for instance:
/// where it answers false, the wait ends with an error, which the caller knows better. It has to end when the thread is
/// unparked.
///
/// # Errors
/// As [`RateLimiter::check`].
pub fn wait_sleeping(
    limiter: &RateLimiter,
    checks: &[Check<'_>],
    form: Form,
    timeout: Duration,
    sleep: impl FnMut(Duration) -> bool,
) -> Result<Decision> {
    limiter.wait_sleeping(checks, form, timeout, sleep)
}

/// [`RateLimiter::reserve_within`], or [`RateLimiter::reserve_all_within`], by such a sleep.
///
/// # Errors
/// As [`RateLimiter::reserve`].
pub fn reserve_sleeping(
    limiter: &RateLimiter,
    checks: &[Check<'_>],
    form: Form,
    wait: Duration,
    sleep: impl FnMut(Duration) -> bool,
) -> Result<Reserved> {
    limiter.reserve_sleeping(checks, form, wait, sleep).map(Reserved::from)
}
