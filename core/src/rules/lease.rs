//! Units that a process may borrow of its server ahead of its calls.

use super::fields::{Checked, Fields};
use super::json::Json;
use super::model::{LeaseTerms, Limit, Scope};
use super::table::{self, MAX_AGE_MS};

/// How long units may be used, unless the rule says so or its window is shorter.
const DEFAULT_MAX_AGE_US: u64 = 20_000;

/// How a process borrows units of its server; `None`: it does not.
pub(super) fn lease(rule: &Fields<'_>, limits: &[Limit]) -> Checked<Option<LeaseTerms>> {
    let right = "an object: {} or {\"max_age_ms\": 20, \"pace_ms\": 10}";
    let Some(fields) = rule.optional("lease", right, Json::object)? else { return Ok(None) };
    let [limit] = limits else {
        return Err(format!("field \"lease\" is for a rule with one limit; this one has {}", limits.len()));
    };
    if limit.scope == Scope::Resource {
        return Err(
            "field \"lease\" is for a rule whose limit has \"scope\": \"key\"; leave it out".to_owned()
        );
    }
    let others = ["count_denied", "block", "reservations", "overrides", "global"];
    if let Some(other) = others.into_iter().find(|other| rule.has(other)) {
        return Err(format!("field \"lease\" and {other:?} exclude each other; leave one out"));
    }
    if limit.calendar.is_some() {
        return Err("field \"lease\" and \"window\" exclude each other; leave one out".to_owned());
    }
    let fields = Fields::new("lease.", fields, table::LEASE)?;
    let (most, why) = longest_age(limit);
    let max_age_us = milliseconds(&fields, "max_age_ms", most, why)?
        .unwrap_or_else(|| DEFAULT_MAX_AGE_US.min(limit.window_us));
    let pace_us = milliseconds(&fields, "pace_ms", max_age_us, "which is \"lease.max_age_ms\"")?;
    Ok(Some(LeaseTerms { max_age_us, pace_us: pace_us.unwrap_or(max_age_us / 2) }))
}

/// The longest time for which borrowed units may be spent, and why it is not longer.
pub(super) fn longest_age(limit: &Limit) -> (u64, &'static str) {
    let most = (MAX_AGE_MS * 1e3) as u64;
    if limit.window_us <= most { (limit.window_us, "the window at most") } else { (most, "a minute at most") }
}

/// A time in microseconds, stated in milliseconds.
fn milliseconds(fields: &Fields<'_>, name: &str, most: u64, what: &str) -> Checked<Option<u64>> {
    let is_time = |ms: &f64| *ms >= 1.0 && *ms * 1e3 <= most as f64;
    let right = format!("a number of milliseconds from 1 to {}, {what}", most as f64 / 1e3);
    let time = fields.optional(name, &right, |value| value.number().filter(is_time))?;
    Ok(time.map(|ms| (ms * 1e3).round() as u64))
}
