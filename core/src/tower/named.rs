//! Decisions by rules that the application names, or whose cost or limit it says.

use std::sync::Arc;

use super::refusal::Refusal;
use crate::rules::Rule;
use crate::{AsyncRateLimiter, Check, Error, ErrorKind, Reservation, Result};

/// Decides these checks, each by the rule at its place: all or nothing.
pub(super) async fn decide(
    limiter: &AsyncRateLimiter,
    rules: &[Arc<Rule>],
    checks: &[Check<'_>],
) -> Result<Reservation, Refusal> {
    call(limiter, rules, checks).await.map_err(|error| match error.kind() {
        // What a client chooses is looked at before: this is what the application states.
        ErrorKind::InvalidArgument | ErrorKind::InvalidRule | ErrorKind::UnknownRule => mistake(error),
        _ => Refusal::Undecided(error),
    })
}

/// An error that is the application's mistake.
pub(super) fn mistake(error: Error) -> Refusal {
    Refusal::Broken(error.message().to_owned())
}

async fn call(limiter: &AsyncRateLimiter, rules: &[Arc<Rule>], checks: &[Check<'_>]) -> Result<Reservation> {
    if rules.iter().any(|rule| rule.lease_us.is_some()) {
        return limiter.reserve_all(checks).await;
    }
    let decision = match checks {
        [check] => limiter.check_with(check.rule, check.key, check.options).await,
        several => limiter.check_all(several).await,
    };
    decision.map(Reservation::unheld)
}
