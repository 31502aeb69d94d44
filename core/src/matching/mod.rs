//! Which rules a request chooses, and for whom.
//!
//! A rule applies when its `match` holds for some single reading of the request: see `reading`.

mod conditions;
mod coverage;
mod exemption;
mod header;
mod index;
mod mismatch;
mod pattern;
mod reading;
mod reason;
mod request;
mod required;
mod source;
#[cfg(test)]
mod tests;
mod view;

use conditions::{Conditions, MatchedKey};
use header::HeaderNames;
use index::Index;
use mismatch::Mismatch;
use view::RequestView;

pub(crate) use coverage::uncovered;
pub use request::Request;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::request::{Check, CheckOptions};
use crate::rules::{RuleId, Rules};
use crate::text::words::quote;

/// A rule that applies to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestMatch {
    /// The rule's name.
    pub rule_id: RuleId,
    /// Who is counted.
    pub key: String,
    /// The resource that is used, for a rule that limits one.
    pub resource: Option<String>,
    /// What the request costs.
    pub(crate) cost: u64,
}

impl RequestMatch {
    pub(crate) fn check(&self, timeout: Option<Duration>) -> Check<'_> {
        let mut options = CheckOptions::new().cost(self.cost);
        options.resource = self.resource.as_deref();
        options.timeout = timeout;
        Check::new(&self.rule_id, &self.key).with(options)
    }
}

/// Whether a rule applies to a request, and why not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The rule's name.
    pub rule_id: RuleId,
    /// Whether the rule applies.
    pub matched: bool,
    /// Who is counted, when it applies.
    pub key: Option<String>,
    /// The resource that is used, when it applies and limits one.
    pub resource: Option<String>,
    /// The first condition that does not hold, beginning with the field that states it; or
    /// `every condition holds`.
    pub reason: String,
}

/// All rules of a set, made ready for requests.
#[derive(Debug)]
pub(crate) struct Matcher {
    /// In order of priority, then of the file.
    rules: Vec<Conditions>,
    names: HeaderNames,
    index: Index,
    /// Whether it was said that a request without an address is not limited.
    said_unaddressed: Arc<AtomicBool>,
}

impl Matcher {
    pub(crate) fn new(rules: &Rules) -> Self {
        let mut names = HeaderNames::default();
        let mut rules: Vec<_> = rules.iter().map(|rule| Conditions::new(rule, &mut names)).collect();
        rules.sort_by_key(|conditions| conditions.rule.priority);
        Self { index: Index::new(&rules), rules, names, said_unaddressed: Arc::default() }
    }

    /// What an earlier one has warned of is not said again.
    pub(crate) fn after(self, earlier: &Self) -> Self {
        Self { said_unaddressed: Arc::clone(&earlier.said_unaddressed), ..self }
    }

    /// The rules that apply, in order of priority, then of their file; one that counts several keys, several
    /// times.
    #[inline]
    pub(crate) fn matches(&self, request: &Request<'_>) -> Result<Vec<RequestMatch>> {
        let view = RequestView::new(request, &self.names)?;
        let mut matches = Vec::new();
        for number in self.index.candidates(&view) {
            let conditions = &self.rules[number as usize];
            let counted = match applied(conditions, &view)? {
                Ok(counted) => counted,
                Err(mismatch) => {
                    if conditions.lacks_address(mismatch) {
                        self.warn_unaddressed(conditions);
                    }
                    continue;
                }
            };
            matches.extend(counted.into_iter().map(|MatchedKey { key, resource }| RequestMatch {
                rule_id: conditions.rule.id.clone(),
                key,
                resource,
                cost: conditions.rule.cost,
            }));
        }
        Ok(matches)
    }

    /// Says once that a request goes unlimited for want of an address.
    #[cold]
    fn warn_unaddressed(&self, conditions: &Conditions) {
        if !self.said_unaddressed.swap(true, Ordering::Relaxed) {
            log::warn!(
                "rule {}: a request without the client's address is not limited: the rule counts by ip_address (a Unix socket \
                 and a test client have no address: pass ip, or count proxies in trusted_proxies); this is said once",
                quote(&conditions.rule.id)
            );
        }
    }

    /// What every rule has to do with the request, in the same order.
    pub(crate) fn explain(&self, request: &Request<'_>) -> Result<Vec<Explanation>> {
        let view = RequestView::new(request, &self.names)?;
        let explained: Result<Vec<_>> =
            self.rules.iter().map(|conditions| explain(conditions, &view)).collect();
        Ok(explained?.into_iter().flatten().collect())
    }
}

/// Who is counted by a rule, or why nobody is; a request that might be too many is an error.
#[inline]
fn applied(conditions: &Conditions, view: &RequestView<'_>) -> Result<Result<Vec<MatchedKey>, Mismatch>> {
    match conditions.apply(view) {
        Err(mismatch @ Mismatch::TooManyKeys(_)) => {
            Err(Error::new(ErrorKind::InvalidArgument, mismatch.reason(conditions, view)))
        }
        applied => Ok(applied),
    }
}

fn explain(conditions: &Conditions, view: &RequestView<'_>) -> Result<Vec<Explanation>> {
    let explanation = |matched, counted: Option<MatchedKey>, reason| {
        let (key, resource) = counted.map_or((None, None), |counted| (Some(counted.key), counted.resource));
        Explanation { rule_id: conditions.rule.id.clone(), matched, key, resource, reason }
    };
    Ok(match applied(conditions, view)? {
        Ok(counted) => {
            let matched = |counted| explanation(true, Some(counted), reason::APPLIES.to_owned());
            counted.into_iter().map(matched).collect()
        }
        Err(mismatch) => vec![explanation(false, None, mismatch.reason(conditions, view))],
    })
}
