//! What one rule asks of a request.

use std::sync::Arc;

use super::facts::{Facts, HeaderNames};
use super::failure::Failure;
use super::pattern::Pattern;
use super::source::Source;
use super::subnet::Subnet;
use crate::rules::{Match, Rule, Scope};

/// The value of a required header that any value satisfies.
const ANY_VALUE: &str = "*";

/// The conditions of a rule's `match`, and where its key and its resource are found.
#[derive(Debug)]
pub(super) struct Conditions {
    pub(super) rule: Arc<Rule>,
    pub(super) pattern: Option<Pattern>,
    pub(super) headers: Vec<RequiredHeader>,
    pub(super) subnets: Vec<Subnet>,
    key: Option<Source>,
    resource: Option<Source>,
    needs_resource: bool,
}

#[derive(Debug)]
pub(super) struct RequiredHeader {
    pub(super) place: usize,
    /// `None`: any.
    pub(super) value: Option<String>,
}

/// Who is counted, and on what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) key: String,
    pub(super) resource: Option<String>,
}

impl Conditions {
    pub(super) fn new(rule: &Arc<Rule>, names: &mut HeaderNames) -> Self {
        let stated = rule.matches.as_ref();
        let source = |identifier: &Option<_>, names: &mut HeaderNames| {
            identifier.as_ref().map(|identifier| Source::new(identifier, rule.ipv6_prefix_length, names))
        };
        Self {
            pattern: stated.and_then(|stated| stated.path_pattern.as_deref()).map(Pattern::new),
            headers: stated.map(|stated| required_headers(stated, names)).unwrap_or_default(),
            subnets: stated.map(subnets).unwrap_or_default(),
            key: source(&rule.identifier_type, names),
            resource: source(&rule.resource_identifier_type, names),
            needs_resource: rule.limits.iter().any(|limit| limit.scope == Scope::Resource),
            rule: rule.clone(),
        }
    }

    /// Whether some request could match at all; the others are reached by name only.
    pub(super) fn can_hold(&self) -> bool {
        self.rule.matches.is_some() && self.key.is_some() && (self.resource.is_some() || !self.needs_resource)
    }

    /// Who is counted if every condition holds, else the first that does not.
    pub(super) fn apply(&self, facts: &Facts<'_>) -> Result<Counted, Failure> {
        let stated = self.rule.matches.as_ref().ok_or(Failure::NoMatch)?;
        let key = self.key.as_ref().ok_or(Failure::NoIdentifier)?;
        if self.needs_resource && self.resource.is_none() {
            return Err(Failure::NoResourceIdentifier);
        }
        let path = self.path(facts).ok_or(Failure::Path)?;
        self.hold(stated, facts)?;
        let find = |source: &Source| source.find(facts, self.pattern.as_ref(), path);
        let key = find(key).ok_or(Failure::Identifier)?;
        let resource = match &self.resource {
            Some(source) => Some(find(source).ok_or(Failure::ResourceIdentifier)?.into_owned()),
            None => None,
        };
        Ok(Counted { key: key.into_owned(), resource })
    }

    /// The first reading of the path that the pattern matches.
    fn path<'f>(&self, facts: &'f Facts<'_>) -> Option<&'f str> {
        let matches = |path: &&str| self.pattern.as_ref().is_none_or(|pattern| pattern.matches(path));
        facts.paths.iter().map(AsRef::as_ref).find(matches)
    }

    /// The conditions other than the path.
    fn hold(&self, stated: &Match, facts: &Facts<'_>) -> Result<(), Failure> {
        let is_method = |method: &String| method.eq_ignore_ascii_case(facts.method);
        if !stated.methods.is_empty() && !stated.methods.iter().any(is_method) {
            return Err(Failure::Method);
        }
        if stated.requires_authentication && facts.user_id.is_none() {
            return Err(Failure::Authentication);
        }
        if let Some(at) = self.headers.iter().position(|header| !header.is_in(facts)) {
            return Err(Failure::Header(at));
        }
        let is_inside = |address| self.subnets.iter().any(|subnet| subnet.contains(address));
        if !stated.ip_subnet.is_empty() && !facts.ip.is_some_and(is_inside) {
            return Err(Failure::Subnet);
        }
        Ok(())
    }
}

impl RequiredHeader {
    fn is_in(&self, facts: &Facts<'_>) -> bool {
        let value = facts.headers[self.place].as_deref();
        value.is_some_and(|value| self.value.as_deref().is_none_or(|required| required == value))
    }
}

fn required_headers(stated: &Match, names: &mut HeaderNames) -> Vec<RequiredHeader> {
    let mut required = |(name, value): (&String, &String)| RequiredHeader {
        place: names.place(name),
        // Values of headers have no white space around them.
        value: (value != ANY_VALUE).then(|| value.trim_matches([' ', '\t']).to_owned()),
    };
    stated.required_headers.iter().map(&mut required).collect()
}

fn subnets(stated: &Match) -> Vec<Subnet> {
    stated.ip_subnet.iter().filter_map(|subnet| Subnet::parse(subnet)).collect()
}
