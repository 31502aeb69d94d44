//! What one rule asks of a request.

use std::sync::Arc;

use super::exemption::{Exempting, Exemption};
use super::header::HeaderNames;
use super::mismatch::Mismatch;
use super::pattern::Pattern;
use super::reading::Reading;
use super::required::{RequiredHeader, required_headers, subnets};
use super::source::{KeySource, MAX_KEYS, PartSource};
use super::view::RequestView;
use crate::net::subnet::Subnet;
use crate::rules::{Match, Rule};

/// The conditions of a rule's `match`, and where its key and its resource are found.
#[derive(Debug)]
pub(super) struct Conditions {
    pub(super) rule: Arc<Rule>,
    pub(super) pattern: Option<Patterns>,
    pub(super) headers: Vec<RequiredHeader>,
    pub(super) subnets: Vec<Subnet>,
    pub(super) unless: Vec<Exemption>,
    key: Option<KeySource>,
    resource: Option<PartSource>,
}

/// A path pattern for applications that route with, and without regard to capitals.
#[derive(Debug)]
pub(super) struct Patterns {
    exact: Pattern,
    pub(super) folded: Pattern,
}

/// Who is counted, and on what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MatchedKey {
    pub(super) key: String,
    pub(super) resource: Option<String>,
}

impl Conditions {
    pub(super) fn new(rule: &Arc<Rule>, names: &mut HeaderNames) -> Self {
        let stated = rule.matches.as_ref();
        let bits = rule.ipv6_prefix_length;
        Self {
            pattern: stated.and_then(|stated| stated.path_pattern.as_deref()).map(Patterns::new),
            headers: stated.map(|stated| required_headers(stated, names)).unwrap_or_default(),
            subnets: stated.map(subnets).unwrap_or_default(),
            unless: rule.unless.iter().map(|stated| Exemption::new(stated, names)).collect(),
            key: rule.identifier_type.as_ref().map(|it| KeySource::new(it, bits, names)),
            resource: rule.resource_identifier_type.as_ref().map(|it| PartSource::new(it, bits, names)),
            rule: rule.clone(),
        }
    }

    /// Whether some request could match at all; the others are reached by name only.
    pub(super) fn can_hold(&self) -> bool {
        self.rule.matches.is_some() && self.key.is_some()
    }

    /// Whether the rule does not apply only because the request has no address.
    pub(super) fn lacks_address(&self, mismatch: Mismatch) -> bool {
        match mismatch {
            Mismatch::Identifier(at) => self.key.as_ref().is_some_and(|key| key.is_address_at(at)),
            Mismatch::ResourceIdentifier => self.resource.as_ref().is_some_and(PartSource::is_address),
            _ => false,
        }
    }

    /// Who is counted if every condition holds, else the first that does not. A request that may be read in
    /// several ways may count several, each of them once.
    #[inline]
    pub(super) fn apply(&self, view: &RequestView<'_>) -> Result<Vec<MatchedKey>, Mismatch> {
        // A rule with a match has an identifier.
        let (Some(stated), Some(key)) = (&self.rule.matches, &self.key) else {
            return Err(Mismatch::NoMatch);
        };
        let mut paths = self.paths(view).peekable();
        paths.peek().ok_or(Mismatch::Path)?;
        self.hold(stated, view)?;
        let is_of_path = key.is_of_path() || self.resource.as_ref().is_some_and(PartSource::is_of_path);
        let exempting = Exempting::new(&self.unless, view);
        let (mut found, mut exempted) = (FoundKeys::new(key), None);
        for (reading, path) in paths {
            if let Some(at) = exempting.find(reading.spelled(path)) {
                exempted = exempted.or(Some(at));
                continue;
            }
            found.is_sought = true;
            self.count(view, reading, path, &mut found)?;
            if !is_of_path {
                break;
            }
        }
        match exempted {
            Some(at) if !found.is_sought => Err(Mismatch::Unless(at)),
            _ => found.counted(),
        }
    }

    /// Adds those who are counted if the path is read as this one.
    #[inline]
    fn count(
        &self,
        view: &RequestView<'_>,
        reading: &Reading<'_>,
        path: &str,
        found: &mut FoundKeys<'_>,
    ) -> Result<(), Mismatch> {
        let pattern = self.pattern.as_ref().map(|patterns| patterns.of(view));
        let keys = match found.key.find(view, pattern, reading, path) {
            Err(Mismatch::Identifier(at)) => {
                found.lacks_part = Some(at);
                return Ok(());
            }
            keys => keys?,
        };
        for key in keys {
            let Some(source) = &self.resource else {
                found.add(MatchedKey { key: key.into_owned(), resource: None })?;
                continue;
            };
            found.lacks_resource = true;
            for resource in source.find(view, pattern, reading, path) {
                found.add(MatchedKey { key: key.to_string(), resource: Some(resource.into_owned()) })?;
            }
        }
        Ok(())
    }

    /// The readings of the path that the pattern matches.
    #[inline]
    fn paths<'v>(&self, view: &'v RequestView<'_>) -> impl Iterator<Item = (&'v Reading<'v>, &'v str)> {
        let pattern = self.pattern.as_ref().map(|patterns| patterns.of(view));
        let compared =
            view.readings.iter().flat_map(|reading| reading.compared().map(move |path| (reading, path)));
        compared.filter(move |(_, path)| pattern.is_none_or(|pattern| pattern.matches(path)))
    }

    /// The conditions other than the path.
    #[inline]
    fn hold(&self, stated: &Match, view: &RequestView<'_>) -> Result<(), Mismatch> {
        // What serves GET serves HEAD too.
        let is_head = view.method.eq_ignore_ascii_case("HEAD");
        let is_method =
            |method: &String| method.eq_ignore_ascii_case(view.method) || (is_head && method == "GET");
        if !stated.methods.is_empty() && !stated.methods.iter().any(is_method) {
            return Err(Mismatch::Method);
        }
        if stated.requires_authentication && view.user_id.is_none() {
            return Err(Mismatch::Authentication);
        }
        if let Some(at) = self.headers.iter().position(|header| !header.is_in(view)) {
            return Err(Mismatch::Header(at));
        }
        let is_inside = |address| self.subnets.iter().any(|subnet| subnet.contains(address));
        if !stated.ip_subnet.is_empty() && !view.ip.is_some_and(is_inside) {
            return Err(Mismatch::Subnet);
        }
        Ok(())
    }
}

impl Patterns {
    fn new(text: &str) -> Self {
        Self { exact: Pattern::new(text), folded: Pattern::folded(text) }
    }

    #[inline]
    fn of(&self, view: &RequestView<'_>) -> &Pattern {
        if view.ignore_case { &self.folded } else { &self.exact }
    }
}

/// Those who are counted, as far as they are found.
struct FoundKeys<'a> {
    key: &'a KeySource,
    counted: Vec<MatchedKey>,
    /// Whether some reading of the path is not exempt.
    is_sought: bool,
    /// The part of a key that some reading lacks.
    lacks_part: Option<usize>,
    /// Whether there was a key for which a resource was looked for.
    lacks_resource: bool,
}

impl<'a> FoundKeys<'a> {
    fn new(key: &'a KeySource) -> Self {
        Self { key, counted: Vec::new(), is_sought: false, lacks_part: None, lacks_resource: false }
    }

    #[inline]
    fn add(&mut self, counted: MatchedKey) -> Result<(), Mismatch> {
        if self.counted.contains(&counted) {
            return Ok(());
        }
        if self.counted.len() == MAX_KEYS {
            return Err(Mismatch::TooManyKeys(self.key.argument()));
        }
        self.counted.push(counted);
        Ok(())
    }

    #[inline]
    fn counted(self) -> Result<Vec<MatchedKey>, Mismatch> {
        match self.counted.is_empty() {
            true if self.lacks_resource => Err(Mismatch::ResourceIdentifier),
            true => Err(Mismatch::Identifier(self.lacks_part.unwrap_or_default())),
            false => Ok(self.counted),
        }
    }
}
