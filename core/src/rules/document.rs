//! From a text to the values in it.

use super::comments::blank_comments;
use super::fields::{Checked, Fields};
use super::json::Json;
use super::table;

/// The value that is written in the text.
pub(super) fn parse(text: &str) -> Checked<Json> {
    // Some editors begin every file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = blank_comments(text).map_err(|at| unclosed_comment(text, at))?;
    serde_json::from_str(&text).map_err(|error| format!("not valid JSON: {error}"))
}

fn unclosed_comment(text: &str, at: usize) -> String {
    let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    format!("not valid JSON: the comment that begins with /* in line {line} has no */")
}

/// A file is an array of rules, or an object that has it as `rules`.
pub(super) fn rules_of(value: &Json) -> Checked<&[Json]> {
    if let Some(rules) = value.array() {
        return Ok(rules);
    }
    let Some(fields) = value.object() else {
        let shown = value.shown();
        return Err(format!("it is {shown}; it has to be an array of rules, or an object with \"rules\""));
    };
    if fields.iter().any(|(name, _)| name == "rule_id") {
        return Err(
            "it is a single rule; it has to be an array of rules (put the rule in brackets)".to_owned()
        );
    }
    let fields = Fields::new("", fields, table::FILE)?;
    fields.optional("$schema", "the URL or path of a schema", Json::text)?;
    fields.required("rules", "an array of rules", Json::array)
}
