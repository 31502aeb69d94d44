//! Where a key or a resource is taken from, as a rule states it.

use super::fields::{Checked, Fields};
use super::json::Json;
use super::model::{Identifier, Match};
use crate::text::words::{nearest, one_of, quote};

const FORMS: [&str; 6] = ["user_id", "ip_address", "api_key", "header:<name>", "path:<name>", "global"];

/// Parts of a composite key.
pub(super) const MAX_PARTS: usize = 8;

/// A field, or an entry of one, that states an identifier.
struct Stated<'a> {
    fields: &'a Fields<'a>,
    name: &'a str,
    value: &'a Json,
}

/// The identifier that a field states, if the rule has that field.
pub(super) fn read(fields: &Fields<'_>, name: &str, matches: Option<&Match>) -> Checked<Option<Identifier>> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    Stated { fields, name, value }.read(matches).map(Some)
}

/// The key of a rule: an identifier, or an array of them.
pub(super) fn read_key(fields: &Fields<'_>, matches: Option<&Match>) -> Checked<Option<Identifier>> {
    const NAME: &str = "identifier_type";
    let Some(values) = fields.get(NAME).and_then(Json::array) else { return read(fields, NAME, matches) };
    if values.is_empty() {
        return Err(fields.wrong(NAME, &format!("{}, or an array of at least one of them", one_of(&FORMS))));
    }
    if values.len() > MAX_PARTS {
        let (field, count) = (fields.named(NAME), values.len());
        return Err(format!("{field} has {count} parts; a key has {MAX_PARTS} at most"));
    }
    let mut parts = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let name = format!("{NAME}[{at}]");
        let part = Stated { fields, name: &name, value }.read(matches)?;
        if parts.contains(&part) {
            return Err(format!("{} states {} again; state it once", fields.named(&name), value.shown()));
        }
        parts.push(part);
    }
    Ok(Some(Identifier::Composite(parts)))
}

/// The message for such a rule, which has to state an identifier and does not.
pub(super) fn missing(fields: &Fields<'_>, name: &str, such: &str) -> String {
    fields.wrong(name, &format!("{} in {such}", one_of(&FORMS)))
}

impl Stated<'_> {
    fn read(&self, matches: Option<&Match>) -> Checked<Identifier> {
        let text = self.value.text().ok_or_else(|| self.wrong(&one_of(&FORMS)))?;
        match text.split_once(':') {
            Some(("header", header)) if is_token(header) => {
                Ok(Identifier::Header(header.to_ascii_lowercase()))
            }
            Some(("header", _)) => Err(self.wrong("\"header:\" and the name of an HTTP header")),
            Some(("path", segment)) => self.path(segment, matches),
            _ => plain(text).ok_or_else(|| self.not_an_identifier(text)),
        }
    }

    fn path(&self, segment: &str, matches: Option<&Match>) -> Checked<Identifier> {
        let pattern = matches.and_then(|matches| matches.path_pattern.as_deref()).unwrap_or_default();
        if is_name(segment) && pattern.contains(&format!("{{{segment}}}")) {
            return Ok(Identifier::Path(segment.to_owned()));
        }
        let right = "\"path:\" and a name that \"match.path_pattern\" has in braces, as in \"/orders/{id}\"";
        Err(self.wrong(right))
    }

    fn not_an_identifier(&self, text: &str) -> String {
        match nearest(text, FORMS.into_iter()) {
            Some(form) => {
                format!("{} is {}; did you mean {}?", self.fields.named(self.name), quote(text), quote(form))
            }
            None => self.wrong(&one_of(&FORMS)),
        }
    }

    fn wrong(&self, right: &str) -> String {
        format!("{} is {}; it has to be {right}", self.fields.named(self.name), self.value.shown())
    }
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
