//! The requests that a rule exempts: its `unless`.
//!
//! An exemption is a way around a limit, and clients choose how they spell a request. So a condition holds here
//! only if it holds for every reading of what the client sent, where in `match` one reading is enough.

use super::header::HeaderNames;
use super::mismatch::NAMED;
use super::pattern::Pattern;
use super::reading;
use super::required::{RequiredHeader, required_headers, subnets};
use super::view::RequestView;
use crate::net::subnet::Subnet;
use crate::rules::Match;
use crate::text::words::first_of;

/// How an escaped percent sign is spelled in a reading.
const ESCAPED_PERCENT: &str = "%25";

/// The conditions of one object of `unless`, all of which have to hold.
#[derive(Debug)]
pub(super) struct Exemption {
    stated: Match,
    pattern: Option<Pattern>,
    /// Whether the pattern ends with a slash, as the path then may.
    ends_with_slash: bool,
    headers: Vec<RequiredHeader>,
    subnets: Vec<Subnet>,
}

impl Exemption {
    pub(super) fn new(stated: &Match, names: &mut HeaderNames) -> Self {
        let pattern = stated.path_pattern.as_deref();
        Self {
            pattern: pattern.map(Pattern::new),
            ends_with_slash: pattern.is_some_and(|pattern| pattern.ends_with('/')),
            headers: required_headers(stated, names),
            subnets: subnets(stated),
            stated: stated.clone(),
        }
    }

    /// Whether the conditions other than the path hold.
    pub(super) fn holds(&self, view: &RequestView<'_>) -> bool {
        // Servers may take `get` for another method than GET, and answer HEAD by other code.
        let is_method = |method: &String| method == view.method;
        let is_inside = |address| self.subnets.iter().any(|subnet| subnet.contains(address));
        (self.stated.methods.is_empty() || self.stated.methods.iter().any(is_method))
            && (!self.stated.requires_authentication || view.user_id.is_some())
            && self.headers.iter().all(|header| header.is_all_of(view))
            && (self.subnets.is_empty() || view.ip.is_some_and(is_inside))
    }

    /// Whether a path is exempt, as the client spelled it: capitals count even where the router ignores them, since
    /// what stands behind the router may not. So does a slash at the end of the path, behind which a router may have
    /// another handler: only a pattern that ends with one exempts both.
    pub(super) fn has_path(&self, path: &str) -> bool {
        let Some(pattern) = &self.pattern else { return true };
        let slashless = path.strip_suffix('/').filter(|_| self.ends_with_slash);
        let is_matched =
            [Some(path), slashless].into_iter().flatten().any(|it| pattern.matches_without_empty(it));
        // A server that decodes twice would read another path than the one that is compared.
        is_matched && !path.contains(ESCAPED_PERCENT)
    }

    /// The conditions, as a reason states them. Values of headers may be secrets and are left out.
    pub(super) fn described(&self) -> String {
        let stated = &self.stated;
        let listed = |name: &str, words: &[String]| match words {
            [] => None,
            words => Some(format!("{name} {}", first_of(words.iter().map(String::as_str), NAMED))),
        };
        let headers: Vec<_> = stated.required_headers.keys().cloned().collect();
        let conditions = [
            listed("path_pattern", stated.path_pattern.as_slice()),
            listed("methods", &stated.methods),
            stated.requires_authentication.then(|| "requires_authentication".to_owned()),
            listed("required_headers", &headers),
            listed("ip_subnet", &stated.ip_subnet),
        ];
        conditions.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// The exemptions of a rule that a request has but for its path.
#[derive(Debug)]
pub(super) struct Exempting<'a>(Vec<(usize, &'a Exemption)>);

impl<'a> Exempting<'a> {
    pub(super) fn new(unless: &'a [Exemption], view: &RequestView<'_>) -> Self {
        let exempting = Self(unless.iter().enumerate().filter(|(_, it)| it.holds(view)).collect());
        let mut undecoded = view.targets.iter().flat_map(|target| reading::undecoded(target));
        let is_exempt = exempting.0.is_empty() || undecoded.all(|path| exempting.find(&path).is_some());
        if is_exempt { exempting } else { Self(Vec::new()) }
    }

    /// Which of them exempts a path.
    pub(super) fn find(&self, path: &str) -> Option<usize> {
        self.0.iter().find(|(_, exemption)| exemption.has_path(path)).map(|(at, _)| *at)
    }
}
