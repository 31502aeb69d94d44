//! A limit and its window in one text, such as `5/minute` or `20/30s`.

use std::io;
use std::path::Path;

use super::fields::{Checked, Fields};
use super::json::Json;
use crate::text::words::{nearest, quote};

/// A limit, and its window in microseconds.
pub(super) struct Rate {
    pub(super) limit: f64,
    pub(super) window_us: u64,
}

const SECOND: u64 = 1_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const MOST_DAYS: u64 = 3650;

/// The units of time, with their lengths in microseconds.
pub(super) const UNITS: [(&str, u64); 14] = [
    ("ms", 1_000),
    ("s", SECOND),
    ("second", SECOND),
    ("seconds", SECOND),
    ("m", MINUTE),
    ("min", MINUTE),
    ("minute", MINUTE),
    ("minutes", MINUTE),
    ("h", HOUR),
    ("hour", HOUR),
    ("hours", HOUR),
    ("d", DAY),
    ("day", DAY),
    ("days", DAY),
];

/// The rate of a rule, or of an entry of its `limits`; a limit is from 1 to `most`.
pub(super) fn read(fields: &Fields<'_>, most: i64) -> Checked<Option<Rate>> {
    const RIGHT: &str = "a limit and its window, such as \"5/minute\", \"100/s\" or \"20/30s\"";
    let Some(text) = fields.optional("rate", RIGHT, Json::text)? else { return Ok(None) };
    parse(text, most).map(Some).map_err(|RateError { at, right }| {
        let rest = text.get(at..).unwrap_or_default();
        let found = if rest.is_empty() { "the end".to_owned() } else { quote(rest) };
        let character = text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        format!(
            "{} is {}; found {found} at character {character}, expected {right}",
            fields.named("rate"),
            quote(text)
        )
    })
}

/// Why a file of rules cannot be read. For a rate in place of a path, the error says where rates belong.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> String {
    let rate = path.to_str().filter(|text| parse(text, i64::MAX).is_ok());
    let hint = rate.map(|text| {
        format!(" (a rate belongs to a rule: [{{\"rule_id\": \"all\", \"rate\": {}}}])", quote(text))
    });
    format!("cannot be read: {error}{}", hint.unwrap_or_default())
}

/// What is expected at a byte of a rate, where something else is found.
struct RateError {
    at: usize,
    right: String,
}

/// `<limit>/[<n>]<unit>`
fn parse(text: &str, most: i64) -> Result<Rate, RateError> {
    let fault = |at, right: &str| RateError { at, right: right.to_owned() };
    let (limit, rest) = digits(text);
    let whole = format!("a whole number from 1 to {most}");
    let limit =
        limit.parse().ok().filter(|limit| (1..=most).contains(limit)).ok_or_else(|| fault(0, &whole))?;
    let slash = text.len() - rest.len();
    let window =
        rest.strip_prefix('/').ok_or_else(|| fault(slash, "\"/\" and a window, as in \"5/minute\""))?;
    let (count, unit) = digits(window);
    let (count_at, unit_at) = (slash + 1, text.len() - unit.len());
    let Some((_, length)) = UNITS.into_iter().find(|known| known.0 == unit) else {
        return Err(fault(unit_at, &right_unit(unit)));
    };
    let count = if count.is_empty() { Some(1) } else { count.parse::<u64>().ok().filter(|count| *count > 0) };
    let window_us = count.and_then(|count| count.checked_mul(length)).filter(|us| *us <= MOST_DAYS * DAY);
    let window_us =
        window_us.ok_or_else(|| fault(count_at, &format!("a window from 1 ms to {MOST_DAYS} days")))?;
    Ok(Rate { limit: limit as f64, window_us })
}

fn right_unit(found: &str) -> String {
    match nearest(found, UNITS.into_iter().map(|unit| unit.0).filter(|unit| unit.len() > 2)) {
        Some(unit) if found.len() > 2 => format!("a unit of time; did you mean {}?", quote(unit)),
        _ => "a unit of time: ms, s, m, h or d, or second, minute, hour or day".to_owned(),
    }
}

/// The digits that a text begins with, and what follows them.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}
