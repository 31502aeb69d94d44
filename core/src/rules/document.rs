//! From the text of a file to its rules.

use super::comments::blank_comments;
use super::fields::{Checked, Fields};
use super::json::Json;

/// Parses the text and hands the array of rules, as values, to `read`.
pub(super) fn read<T>(text: &str, read: impl FnOnce(&[Json]) -> Checked<T>) -> Checked<T> {
    // Some editors begin every file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = blank_comments(text).map_err(|at| unclosed_comment(text, at))?;
    let value: Json = serde_json::from_str(&text).map_err(|error| format!("not valid JSON: {error}"))?;
    read(rules_of(&value)?)
}

fn unclosed_comment(text: &str, at: usize) -> String {
    let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    format!("not valid JSON: the comment that begins with /* in line {line} has no */")
}

/// A file is an array of rules, or an object that has it as `rules`.
fn rules_of(value: &Json) -> Checked<&[Json]> {
    if let Some(rules) = value.array() {
        return Ok(rules);
    }
    let Some(fields) = value.object() else {
        let shown = value.shown();
        return Err(format!("it is {shown}; it has to be an array of rules, or an object with \"rules\""));
    };
    Fields::new("", fields, &["rules"])?.required("rules", "an array of rules", Json::array)
}
