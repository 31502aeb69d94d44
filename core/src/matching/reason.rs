//! Why a rule does not apply, in words that stay the same.

use super::conditions::Conditions;
use super::mismatch::{Mismatch, NAMED};
use super::view::RequestView;
use crate::rules::Identifier;
use crate::text::words::{first_of, quote};

/// What is said of a rule that applies.
pub(super) const APPLIES: &str = "every condition holds";

impl Mismatch {
    /// The field of the rule, and what the request has instead. Values of headers and keys may be secrets
    /// of the client and are not repeated.
    pub(super) fn reason(self, conditions: &Conditions, view: &RequestView<'_>) -> String {
        let rule = &conditions.rule;
        let stated = rule.matches.clone().unwrap_or_default();
        match self {
            Self::NoMatch => "match: the rule has none, so it is applied by name only".to_owned(),
            Self::Path => {
                let pattern = stated.path_pattern.unwrap_or_default();
                format!("path_pattern: {} does not match {}", quote(&pattern), quote(view.readings[0].text()))
            }
            Self::Method => {
                let method = view.method.to_ascii_uppercase();
                format!("methods: {} is not among {}", quote(&method), listed(&stated.methods))
            }
            Self::Authentication => "requires_authentication: the request has no user_id".to_owned(),
            Self::Header(at) => match stated.required_headers.iter().nth(at) {
                Some((name, value)) if view.headers[conditions.headers[at].place].is_present() => {
                    format!("required_headers: {} is not {}", quote(name), quote(value))
                }
                Some((name, _)) => format!("required_headers: the request has no {}", quote(name)),
                None => String::new(),
            },
            Self::Subnet => match view.ip {
                Some(ip) => format!("ip_subnet: {ip} is not in {}", listed(&stated.ip_subnet)),
                None => "ip_subnet: the request has no ip".to_owned(),
            },
            Self::Unless(at) => {
                let place = if rule.unless.len() > 1 { format!("[{at}]") } else { String::new() };
                format!("unless{place}: the request is exempt: {}", conditions.unless[at].described())
            }
            Self::Identifier(at) => absent("identifier_type", part(rule.identifier_type.as_ref(), at)),
            Self::ResourceIdentifier => {
                absent("resource_identifier_type", rule.resource_identifier_type.as_ref())
            }
            Self::TooManyKeys(argument) => {
                format!("{argument} can be read as more than 8 keys of rule {}", quote(&rule.id))
            }
        }
    }
}

/// The part of an identifier that is absent.
fn part(identifier: Option<&Identifier>, at: usize) -> Option<&Identifier> {
    match identifier {
        Some(Identifier::Composite(parts)) => parts.get(at),
        identifier => identifier,
    }
}

fn absent(field: &str, identifier: Option<&Identifier>) -> String {
    let what = match identifier {
        Some(Identifier::UserId) => "user_id".to_owned(),
        Some(Identifier::IpAddress) => "ip".to_owned(),
        Some(Identifier::ApiKey) => "api_key".to_owned(),
        Some(Identifier::Header(name)) => format!("value of {}", quote(name)),
        Some(Identifier::Path(name)) => format!("segment for {}", quote(name)),
        Some(Identifier::Global | Identifier::Composite(_)) | None => "identifier".to_owned(),
    };
    format!("{field}: the request has no {what}")
}

fn listed(words: &[String]) -> String {
    first_of(words.iter().map(String::as_str), NAMED)
}
