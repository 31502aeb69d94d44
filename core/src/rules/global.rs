//! Limits that hold over several regions.

use super::fields::{Checked, Fields};
use super::json::Json;
use super::lease::longest_age;
use super::model::{Limit, Scope};
use super::table;

/// How long what is lent may be used, unless the rule says so or its window is shorter.
const DEFAULT_MAX_AGE_US: u64 = 2_000_000;

/// How long another region may use what the region in charge of a key lends it, in microseconds; `None`: each region
/// counts by itself.
pub(super) fn global(rule: &Fields<'_>, limits: &[Limit]) -> Checked<Option<u64>> {
    let right = "an object: {} or {\"max_age_ms\": 2000}";
    let Some(fields) = rule.optional("global", right, Json::object)? else { return Ok(None) };
    let [limit] = limits else {
        return Err(format!("field \"global\" is for a rule with one limit; this one has {}", limits.len()));
    };
    if limit.scope == Scope::Resource {
        return Err(
            "field \"global\" is for a rule whose limit has \"scope\": \"key\"; leave it out".to_owned()
        );
    }
    for other in ["count_denied", "block"] {
        if rule.has(other) {
            return Err(format!("field \"global\" and {other:?} exclude each other; leave one out"));
        }
    }
    let fields = Fields::new("global.", fields, table::GLOBAL)?;
    let (most, why) = longest_age(limit);
    let is_age = |age: &f64| *age >= 1.0 && *age * 1e3 <= most as f64;
    let right = format!("a number of milliseconds from 1 to {}, {why}", most as f64 / 1e3);
    let age = fields.optional("max_age_ms", &right, |value| value.number().filter(is_age))?;
    Ok(Some(age.map_or(DEFAULT_MAX_AGE_US.min(limit.window_us), |age| (age * 1e3).round() as u64)))
}
