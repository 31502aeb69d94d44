//! What may stand beside the state of one key: blocks, and limits of its own.

use super::fields::{Checked, Fields};
use super::json::Json;
use super::limits;
use super::model::{Block, Limit, Scope};
use super::table::{self, MAX_FACTOR};

/// By default the longest block is so many times as long as the first one.
const DEFAULT_LONGEST: u64 = 10;

/// How keys of a rule are blocked; `None`: they are not.
pub(super) fn block(rule: &Fields<'_>, limits: &[Limit]) -> Checked<Option<Block>> {
    let right = "an object: {\"seconds\": 600}, or {} for blocks by hand alone";
    let Some(fields) = rule.optional("block", right, Json::object)? else { return Ok(None) };
    if limits.iter().any(|limit| limit.scope == Scope::Resource) {
        return Err(
            "field \"block\" is for a rule without a limit of \"scope\": \"resource\"; leave one of \
                    them out"
                .to_owned(),
        );
    }
    let fields = Fields::new("block.", fields, table::BLOCK)?;
    let length_us = fields.optional("seconds", limits::WINDOW, limits::window)?;
    let factor = format!("a number from 1 to {MAX_FACTOR}");
    let is_factor = |factor: &f64| (1.0..=MAX_FACTOR).contains(factor);
    let factor = fields.optional("factor", &factor, |value| value.number().filter(is_factor))?;
    let max_us = fields.optional("max_seconds", limits::WINDOW, limits::window)?;
    let Some(length_us) = length_us else {
        return match ["factor", "max_seconds"].into_iter().find(|name| fields.has(name)) {
            Some(name) => Err(format!(
                "{} is for a block that begins by itself; add {}, or leave it out",
                fields.named(name),
                "\"seconds\""
            )),
            None => Ok(Some(Block { length_us: None, factor: 1.0, max_us: 0 })),
        };
    };
    if max_us.is_some_and(|max_us| max_us < length_us) {
        let least = limits::seconds(length_us);
        return Err(fields.wrong("max_seconds", &format!("at least {least}, which is \"block.seconds\"")));
    }
    let max_us = max_us.unwrap_or_else(|| longest_by_default(length_us));
    Ok(Some(Block { length_us: Some(length_us), factor: factor.unwrap_or(1.0), max_us }))
}

/// The longest block of a rule that does not state one.
pub(super) fn longest_by_default(length_us: u64) -> u64 {
    length_us.saturating_mul(DEFAULT_LONGEST).min(limits::MAX_WINDOW_US).max(length_us)
}

/// Whether limits of single keys may be stored.
pub(super) fn overrides(rule: &Fields<'_>, limits: &[Limit]) -> Checked<bool> {
    let overrides = rule.flag("overrides")?;
    match limits {
        _ if !overrides => Ok(false),
        [limit] if limit.scope == Scope::Key => Ok(true),
        [_] => {
            Err("field \"overrides\" is for a rule whose limit has \"scope\": \"key\"; leave it out"
                .to_owned())
        }
        several => {
            Err(format!("field \"overrides\" is for a rule with one limit; this one has {}", several.len()))
        }
    }
}
