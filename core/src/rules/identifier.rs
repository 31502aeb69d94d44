//! Where a key or a resource is taken from, as a rule states it.

use super::fields::{Checked, Fields};
use super::json::Json;
use super::model::{Identifier, Match};
use super::words::{nearest, one_of, quote};

const FORMS: [&str; 6] = ["user_id", "ip_address", "api_key", "header:<name>", "path:<name>", "global"];

/// The identifier that a field states, if the rule has that field.
pub(super) fn read(fields: &Fields<'_>, name: &str, matches: Option<&Match>) -> Checked<Option<Identifier>> {
    let right = one_of(&FORMS);
    let Some(text) = fields.optional(name, &right, Json::text)? else { return Ok(None) };
    let identifier = match text.split_once(':') {
        Some(("header", header)) if is_token(header) => Identifier::Header(header.to_ascii_lowercase()),
        Some(("header", _)) => return Err(fields.wrong(name, "\"header:\" and the name of an HTTP header")),
        Some(("path", segment)) => path(fields, name, segment, matches)?,
        _ => plain(text).ok_or_else(|| not_an_identifier(fields, name, text))?,
    };
    Ok(Some(identifier))
}

/// A token of HTTP (RFC 9110, 5.6.2): the form of header names and methods.
pub(crate) fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// The form of a name in the braces of a path pattern.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn plain(text: &str) -> Option<Identifier> {
    Some(match text {
        "user_id" => Identifier::UserId,
        "ip_address" => Identifier::IpAddress,
        "api_key" => Identifier::ApiKey,
        "global" => Identifier::Global,
        _ => return None,
    })
}

fn path(fields: &Fields<'_>, name: &str, segment: &str, matches: Option<&Match>) -> Checked<Identifier> {
    let pattern = matches.and_then(|matches| matches.path_pattern.as_deref()).unwrap_or_default();
    if is_name(segment) && pattern.contains(&format!("{{{segment}}}")) {
        return Ok(Identifier::Path(segment.to_owned()));
    }
    let right = "\"path:\" and a name that \"match.path_pattern\" has in braces, as in \"/orders/{id}\"";
    Err(fields.wrong(name, right))
}

fn not_an_identifier(fields: &Fields<'_>, name: &str, text: &str) -> String {
    match nearest(text, FORMS.into_iter()) {
        Some(form) => format!("{} is {}; did you mean {}?", fields.named(name), quote(text), quote(form)),
        None => fields.wrong(name, &one_of(&FORMS)),
    }
}
