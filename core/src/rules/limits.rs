//! The limits of a rule.

use super::algorithm::only_its_options;
use super::fields::{Checked, Fields};
use super::json::{Json, MAX_WHOLE};
use super::model::{Algorithm, Limit, Scope};
use super::{calendar, rate, table};
use crate::text::words::quote;

/// Up to this a double counts in ones, and so do the server's scripts.
pub(crate) const MAX_MICROS: u64 = 1 << 53;
const MIN_WINDOW_US: u64 = 1_000;
pub(crate) const MAX_WINDOW_US: u64 = 3650 * 24 * 3600 * 1_000_000;
pub(super) const WINDOW: &str = "a number of seconds from 0.001 to 315360000 (10 years)";
const RESOLUTION: &str = "a number of seconds from 0.000001 to 315360000 (10 years)";

/// Every limit is a state of its own, and the work of each check grows with their number.
const MAX_LIMITS: usize = 32;
/// `sliding_buckets` keeps one count per slot.
const MAX_SLOTS: u64 = 4_096;
const DEFAULT_SLOTS: u64 = 60;
/// A debt is a double: the more units it can hold, the fewer bits are left for each.
pub(crate) const MAX_BURST: u64 = 1 << 32;
/// `sliding_log` keeps one entry per unit of cost.
pub(crate) const MAX_LOG: i64 = 100_000;

/// A level that is nothing, and the largest there can be whatever the limit is changed to: between
/// them lie the slots after which any level has faded.
const FADED: f64 = 1e-9;
const MAX_LEVEL: f64 = MAX_MICROS as f64;

/// The one limit of a rule, or those of its `limits`.
pub(super) fn read(rule: &Fields<'_>, algorithm: Algorithm) -> Checked<Vec<Limit>> {
    let Some(entries) = rule.optional("limits", "an array of limits", Json::array)? else {
        return Ok(vec![read_one(rule, rule, algorithm)?]);
    };
    for single in ["limit", "window_size_seconds", "window", "rate"] {
        if rule.has(single) {
            let single = rule.named(single);
            return Err(format!("{single} and \"limits\" exclude each other; move it into \"limits\""));
        }
    }
    if entries.is_empty() {
        return Err(rule.wrong("limits", "an array of at least one limit"));
    }
    if entries.len() > MAX_LIMITS {
        let (limits, length) = (rule.named("limits"), entries.len());
        return Err(format!("{limits} has {length} limits; a rule has {MAX_LIMITS} at most"));
    }
    if entries.len() > 1 && rule.has("burst") {
        let burst = rule.named("burst");
        return Err(format!("{burst} is for a rule with one limit; this one has {}", entries.len()));
    }
    let mut limits: Vec<Limit> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let limit = read_entry(rule, at, entry, algorithm)?;
        if let Some(earlier) = limits.iter().position(|earlier| counts_the_same(earlier, &limit)) {
            let same = if algorithm == Algorithm::Concurrency { "scope" } else { "time and scope" };
            return Err(format!(
                "field \"limits[{at}]\" has the {same} of \"limits[{earlier}]\"; keep the lower one"
            ));
        }
        limits.push(limit);
    }
    calendar::only_used(rule, &limits)?;
    Ok(limits)
}

fn read_entry(rule: &Fields<'_>, at: usize, entry: &Json, algorithm: Algorithm) -> Checked<Limit> {
    let Some(fields) = entry.object() else {
        return Err(format!("field \"limits[{at}]\" is {}; it has to be an object", entry.shown()));
    };
    let fields = Fields::new(&format!("limits[{at}]."), fields, table::LIMIT)?;
    only_its_options(&fields, algorithm)?;
    let scope = fields.word("scope", &[("key", Scope::Key), ("resource", Scope::Resource)])?;
    Ok(Limit { scope: scope.unwrap_or_default(), ..read_one(rule, &fields, algorithm)? })
}

/// What of a limit decides the name under which its state is kept.
fn counts_the_same(one: &Limit, other: &Limit) -> bool {
    let time = |limit: &Limit| (limit.scope, limit.window_us, limit.resolution_us, limit.calendar);
    time(one) == time(other)
}

/// `fields` are those of the rule itself, or of an entry of its `limits`.
fn read_one(rule: &Fields<'_>, fields: &Fields<'_>, algorithm: Algorithm) -> Checked<Limit> {
    let rate = read_rate(fields, algorithm)?;
    let limit = rate.as_ref().map_or_else(|| read_limit(fields, algorithm), |rate| Ok(rate.limit))?;
    let calendar = calendar::read(rule, fields)?;
    let window = || match (&rate, calendar) {
        (_, Some(calendar)) => Ok(calendar.unit.length_us()),
        (Some(rate), None) => Ok(rate.window_us),
        (None, None) => read_window(fields),
    };
    // The rule's own resolution is the default of its limits.
    let owner = if fields.has("resolution_seconds") { fields } else { rule };
    let (window_us, resolution_us) = match algorithm {
        Algorithm::Decay { factor } => (0, read_decay_resolution(owner, factor)?),
        Algorithm::Concurrency => (0, 0),
        Algorithm::SlidingBuckets => {
            let window_us = window()?;
            (window_us, read_buckets_resolution(owner, window_us)?)
        }
        _ => (window()?, 0),
    };
    if let Algorithm::Gcra { burst, .. } = algorithm {
        check_burst(rule, fields, burst, limit, window_us)?;
    }
    Ok(Limit { limit, window_us, resolution_us, scope: Scope::Key, calendar })
}

/// The rate, which stands in place of limit and window.
fn read_rate(fields: &Fields<'_>, algorithm: Algorithm) -> Checked<Option<rate::Rate>> {
    let rate = rate::read(fields, most(algorithm))?;
    match ["limit", "window_size_seconds"].into_iter().find(|other| fields.has(other)) {
        Some(other) if rate.is_some() => {
            Err(format!("{} and {} exclude each other; leave one out", fields.named(other), quote("rate")))
        }
        _ => Ok(rate),
    }
}

fn most(algorithm: Algorithm) -> i64 {
    if matches!(algorithm, Algorithm::SlidingLog { .. }) { MAX_LOG } else { MAX_WHOLE }
}

fn read_limit(fields: &Fields<'_>, algorithm: Algorithm) -> Checked<f64> {
    if let Algorithm::Decay { .. } = algorithm {
        let right = format!("a number from 1 to {MAX_WHOLE}");
        let fits = |limit: &f64| (1.0..=MAX_WHOLE as f64).contains(limit);
        return fields.required("limit", &right, |value| value.number().filter(fits));
    }
    let most = most(algorithm);
    let right = format!("a whole number from 1 to {most}");
    Ok(fields.required("limit", &right, |value| value.whole(1, most))? as f64)
}

fn read_window(fields: &Fields<'_>) -> Checked<u64> {
    fields.required("window_size_seconds", WINDOW, window)
}

/// A window, or a lease, in microseconds.
pub(super) fn window(value: &Json) -> Option<u64> {
    micros(value, MIN_WINDOW_US)
}

fn read_buckets_resolution(owner: &Fields<'_>, window_us: u64) -> Checked<u64> {
    let Some(resolution_us) = owner.optional("resolution_seconds", RESOLUTION, |value| micros(value, 1))?
    else {
        return Ok(window_us.div_ceil(DEFAULT_SLOTS));
    };
    let least = window_us.div_ceil(MAX_SLOTS);
    if (least..=window_us).contains(&resolution_us) {
        return Ok(resolution_us);
    }
    let (least, most) = (seconds(least), seconds(window_us));
    let right = format!("from {least} (1/{MAX_SLOTS} of the window) to {most} seconds (the window)");
    Err(owner.wrong("resolution_seconds", &right))
}

fn read_decay_resolution(owner: &Fields<'_>, factor: f64) -> Checked<u64> {
    let resolution_us = owner.required("resolution_seconds", RESOLUTION, |value| micros(value, 1))?;
    let slots = ((MAX_LEVEL / FADED).ln() / factor.ln()).ceil().max(1.0) as u64;
    let most = MAX_MICROS / slots;
    if resolution_us <= most {
        return Ok(resolution_us);
    }
    let most = seconds(most);
    Err(owner.wrong("resolution_seconds", &format!("at most {most} seconds for such a \"decay_factor\"")))
}

/// A debt is kept in microseconds: a full burst must be one that a double holds exactly.
fn check_burst(
    rule: &Fields<'_>,
    fields: &Fields<'_>,
    burst: Option<u64>,
    limit: f64,
    window_us: u64,
) -> Checked<()> {
    let Some(burst) = burst else {
        if limit <= MAX_BURST as f64 {
            return Ok(());
        }
        let (stated, of) = if fields.has("rate") { ("rate", "a limit of ") } else { ("limit", "") };
        return Err(fields.wrong(stated, &format!("{of}at most {MAX_BURST} without a smaller \"burst\"")));
    };
    let most = (u128::from(MAX_MICROS) * limit as u128 / u128::from(window_us)).min(MAX_BURST.into());
    if u128::from(burst) <= most {
        return Ok(());
    }
    let right = format!("at most {most}: burst * window / limit must not exceed 2^53 microseconds");
    Err(rule.wrong("burst", &right))
}

/// Seconds as whole microseconds, rounded to the nearest.
fn micros(value: &Json, least_us: u64) -> Option<u64> {
    let micros = value.number()? * 1e6;
    let fits = micros >= least_us as f64 && micros <= MAX_WINDOW_US as f64;
    fits.then_some(micros.round() as u64)
}

pub(super) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
